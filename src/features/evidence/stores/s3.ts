import { createHash, randomBytes } from "node:crypto";
import { createReadStream } from "node:fs";
import { rm } from "node:fs/promises";
import type { Readable } from "node:stream";
import { text } from "node:stream/consumers";
import { setTimeout as delay } from "node:timers/promises";
import type * as Sdk from "./s3-sdk.ts";
import type { Config } from "../../../config/config.ts";
import { presetForPackage } from "../../../config/env.ts";
import type { S3Keys } from "../../../config/secrets.ts";
import { OperatorError, operatorText, systemReason } from "../../../kernel/operator-errors.ts";
import type { EvidenceStore } from "./store.ts";
import { ProblemError } from "../../../kernel/errors.ts";

/** What the client reports: an answer of the server with its code as name, or an error of the connection. */
interface S3Error extends Error {
  $metadata?: { httpStatusCode?: number };
  Code?: string;
}

/** Whether it may work in a moment: the server is away, slow, or has too much to do. */
function isPassing(error: unknown): boolean {
  const { name, $metadata } = error as S3Error;
  const status = $metadata?.httpStatusCode;
  if (["SlowDown", "RequestTimeout", "TimeoutError", "AbortError", "InternalError", "ServiceUnavailable"].includes(name)) return true;
  return status === undefined ? !(error instanceof TypeError) : status === 429 || status >= 500;
}

/** What a caller is told; what the server said goes into the log, without what was signed. */
function s3Problem(store: string, error: unknown): unknown {
  if (error instanceof ProblemError) return error;
  const cause = new Error(`${store}: ${saidBy(error)}`);
  if (isPassing(error)) return new ProblemError("storage_busy", { retryAfter: 5, cause });
  return new ProblemError("storage_readonly", { retryAfter: 60, cause });
}

function saidBy(error: unknown): string {
  const { name, message, $metadata } = error as S3Error;
  const status = $metadata?.httpStatusCode;
  return status === undefined ? systemReason(error) : `${name} (status ${status.toString()}) ${message}`;
}

/** What the codes of servers mean for the operator. */
const mends: Readonly<Record<string, string>> = {
  NoSuchBucket: "There is no such bucket. Make it, or name another one in `EVIDENCE_STORE`.",
  InvalidAccessKeyId:
    "The server does not know the access key. Check `EVIDENCE_S3_ACCESS_KEY`, and that `EVIDENCE_S3_ENDPOINT` names the right server.",
  SignatureDoesNotMatch: "The secret key is not that of the access key. Check `EVIDENCE_S3_SECRET_KEY`.",
  AccessDenied:
    "The keys may not do this. They need to list the bucket and its versions, and to read, write and delete its objects and their versions.",
  AuthorizationHeaderMalformed: "The bucket is in another region. Check `EVIDENCE_S3_REGION`.",
  PermanentRedirect: "The bucket is in another region. Check `EVIDENCE_S3_REGION` and `EVIDENCE_S3_ENDPOINT`.",
  RequestTimeTooSkewed: "The clock of this machine is wrong. Set it.",
};

/** Why a bucket cannot be used, and what mends it. */
function explained({ name, endpoint, region }: Config["evidenceS3"] & { name: string }, error: unknown): string {
  const at = endpoint ?? `AWS (${region})`;
  const code = (error as S3Error).name;
  const mend =
    mends[code] ??
    (isPassing(error) ? "See that the server runs, and that this machine reaches it." : "Check `EVIDENCE_S3_ENDPOINT` and the bucket.");
  return `\`EVIDENCE_STORE\`: ${name} at ${at} cannot be used: ${saidBy(error)}. ${mend}`;
}

type Place = Config["evidenceS3"] & {
  /** As `EVIDENCE_STORE` names it. */
  name: string;
  bucket: string;
  prefix: string;
  keys: S3Keys;
  instanceId: string;
  /** For tests: how long an answer, or the next piece of one, is waited for. */
  answerMs?: number;
};

/** How long a connection is waited for. */
const connectMs = 3000;
/** How often something is tried that fails for now, and how long the first pause is. */
const [tries, pauseMs] = [3, 200];
/** Says whose files are below the prefix. */
const ownerName = "instance_id";

/** Objects of a bucket. The client is loaded when it is first used. */
export function createS3Store(place: Place): EvidenceStore {
  const { name, bucket: Bucket, prefix, instanceId, answerMs = 10_000 } = place;
  const keyOf = (file: string): string => (prefix === "" ? file : `${prefix}/${file}`);
  const objectOf = (sha256: string): string => keyOf(`${sha256.slice(0, 2)}/${sha256}`);
  let opened: Promise<{ sdk: typeof Sdk; client: Sdk.S3Client }> | undefined;

  const open = () =>
    (opened ??= loadSdk().then((sdk) => {
      const client = new sdk.S3Client({
        region: place.region,
        ...(place.endpoint !== null && { endpoint: place.endpoint }),
        forcePathStyle: place.pathStyle,
        credentials: { ...place.keys },
        maxAttempts: tries,
        requestHandler: { connectionTimeout: connectMs, requestTimeout: answerMs, throwOnRequestTimeout: true, socketTimeout: answerMs },
        // Without one it writes to the console what it also throws.
        logger: { debug: nothing, info: nothing, warn: nothing, error: nothing },
        // Hashes are sent and compared here; other servers than that of AWS do not know its checksums.
        requestChecksumCalculation: "WHEN_REQUIRED",
        responseChecksumValidation: "WHEN_REQUIRED",
      });
      return { sdk, client };
    }));

  /** The server compares the bytes with their hash, which is signed, before it stores them. */
  async function put(key: string, sha256: string, bytes: number, body: () => Readable | Buffer): Promise<void> {
    const { sdk, client } = await open();
    for (let left = tries - 1; ; left -= 1)
      try {
        const put = new sdk.PutObjectCommand({
          Bucket,
          Key: key,
          Body: body(),
          ContentLength: bytes,
          ContentType: "application/octet-stream",
        });
        put.middlewareStack.add(
          (next) => (args) => {
            (args.request as { headers: Record<string, string> }).headers["x-amz-content-sha256"] = sha256;
            return next(args);
          },
          { step: "build" },
        );
        await client.send(put);
        return;
      } catch (error) {
        // What is read from a disk is not tried again by the client.
        if (left === 0 || !isPassing(error)) throw error;
        await delay(pauseMs * (tries - left));
      }
  }

  async function get(key: string) {
    const { sdk, client } = await open();
    try {
      const { Body, ContentLength } = await client.send(new sdk.GetObjectCommand({ Bucket, Key: key }));
      return { body: Body as Readable, bytes: ContentLength };
    } catch (error) {
      if (isMissing(error)) return undefined;
      throw error;
    }
  }

  /** The versions of an object, page by page and the newest first; none where the server has no versions. */
  async function* versionsOf(key: string): AsyncGenerator<Sdk.ObjectVersion[]> {
    const { sdk, client } = await open();
    let next: { KeyMarker?: string; VersionIdMarker?: string } | undefined = {};
    while (next !== undefined) {
      let page: Sdk.ListObjectVersionsCommandOutput;
      try {
        page = await client.send(new sdk.ListObjectVersionsCommand({ Bucket, Prefix: key, ...next }));
      } catch (error) {
        if (hasNoVersions(error)) return;
        throw error;
      }
      const { Versions = [], DeleteMarkers = [], IsTruncated, NextKeyMarker: KeyMarker, NextVersionIdMarker: VersionIdMarker } = page;
      yield [...DeleteMarkers, ...Versions].filter(({ Key, VersionId }) => Key === key && VersionId !== undefined);
      // Keys follow each other: behind another one there is none of this.
      const isMore = IsTruncated === true && KeyMarker === key;
      next = isMore ? { KeyMarker, ...(VersionIdMarker !== undefined && { VersionIdMarker }) } : undefined;
    }
  }

  /** With its versions: a bucket that keeps them would keep what is deleted. The newest goes last, so that until then the sweep finds it. */
  async function remove(key: string): Promise<void> {
    const { sdk, client } = await open();
    const removeOne = (version: Partial<Sdk.ObjectVersion>) =>
      client.send(new sdk.DeleteObjectCommand({ Bucket, Key: key, VersionId: version.VersionId }));
    let latest: Partial<Sdk.ObjectVersion> = {};
    for await (const page of versionsOf(key))
      for (const version of page)
        if (version.IsLatest === true) latest = version;
        else await removeOne(version);
    await removeOne(latest);
  }

  async function* list(): AsyncGenerator<{ key: string; at: Date }[]> {
    const { sdk, client } = await open();
    let token: string | undefined;
    do {
      const page = await client.send(
        new sdk.ListObjectsV2Command({ Bucket, Prefix: keyOf(""), ...(token !== undefined && { ContinuationToken: token }) }),
      );
      yield (page.Contents ?? []).flatMap(({ Key: key, LastModified: at }) => (key === undefined || at === undefined ? [] : [{ key, at }]));
      token = page.NextContinuationToken;
    } while (token !== undefined);
  }

  /** Two installations below one prefix would delete each other's files, which no row of theirs refers to. */
  async function claim(): Promise<void> {
    const key = keyOf(ownerName);
    const found = await get(key);
    const owner = found === undefined ? undefined : (await text(found.body)).trim();
    if (owner === undefined) {
      const mine = Buffer.from(`${instanceId}\n`);
      await put(key, sha256Of(mine), mine.length, () => mine);
    } else if (owner !== instanceId)
      throw new OperatorError(
        `\`EVIDENCE_STORE\`: ${name} has the files of another installation (${owner}), and this one would delete them. Name another prefix.`,
      );
  }

  async function tryOut(): Promise<void> {
    const bytes = randomBytes(32);
    const key = objectOf(sha256Of(bytes));
    await put(key, sha256Of(bytes), bytes.length, () => bytes);
    const found = await get(key);
    const back = found === undefined ? Buffer.alloc(0) : Buffer.concat((await found.body.toArray()) as Buffer[]);
    await remove(key);
    if (!back.equals(bytes)) throw new OperatorError(`\`EVIDENCE_STORE\`: ${name} does not give back what was stored. Use another server.`);
  }

  async function reach(): Promise<void> {
    for await (const _page of list()) return;
  }

  /** @throws OperatorError for what does not mend itself @returns why it cannot be done now */
  async function tried(work: () => Promise<void>): Promise<string | undefined> {
    try {
      await work();
      return undefined;
    } catch (error) {
      if (error instanceof OperatorError) throw error;
      if (isPassing(error)) return explained(place, error);
      throw new OperatorError(explained(place, error), { cause: s3Problem(name, error) });
    }
  }

  const asProblem = async <T>(work: () => Promise<T>): Promise<T> => {
    try {
      return await work();
    } catch (error) {
      throw s3Problem(name, error);
    }
  };

  return {
    name,

    async prepare() {
      return (await tried(reach)) ?? (await tried(claim)) ?? (await tried(tryOut));
    },
    tryOut: async () => (await tried(reach)) ?? (await tried(tryOut)),
    trouble: () => tried(reach).catch(operatorText),

    keep: ({ path, bytes, sha256 }) =>
      asProblem(async () => {
        await put(objectOf(sha256), sha256, bytes, () => createReadStream(path));
        await rm(path, { force: true });
      }),

    has: (sha256, bytes) =>
      asProblem(async () => {
        const { sdk, client } = await open();
        try {
          return (await client.send(new sdk.HeadObjectCommand({ Bucket, Key: objectOf(sha256) }))).ContentLength === bytes;
        } catch (error) {
          if (isMissing(error)) return false;
          throw error;
        }
      }),

    read: (sha256, bytes) =>
      asProblem(async () => {
        const found = await get(objectOf(sha256));
        if (found === undefined || found.bytes === bytes) return found?.body;
        found.body.destroy();
        return undefined;
      }),

    remove: (sha256) =>
      asProblem(async () => {
        await remove(objectOf(sha256));
        return true;
      }),

    async *olderThan(time) {
      const start = keyOf("").length;
      try {
        for await (const page of list())
          yield page.flatMap(({ key, at }) =>
            at < time && /^[0-9a-f]{2}\/[0-9a-f]{64}$/.test(key.slice(start)) ? [key.slice(start + 3)] : [],
          );
      } catch (error) {
        throw s3Problem(name, error);
      }
    },

    proveShared: () => Promise.resolve(),
  };
}

async function loadSdk(): Promise<typeof Sdk> {
  // On Node 20 it says that its later versions will not run there; this version does.
  presetForPackage("AWS_SDK_JS_NODE_VERSION_SUPPORT_WARNING_DISABLED", "true");
  return import("./s3-sdk.ts");
}

const nothing = (): void => undefined;

const sha256Of = (bytes: Buffer): string => createHash("sha256").update(bytes).digest("hex");

const isMissing = (error: unknown): boolean => ["NoSuchKey", "NotFound"].includes((error as Error).name);

const hasNoVersions = (error: unknown): boolean => [405, 501].includes((error as Sdk.S3ServiceException).$metadata?.httpStatusCode ?? 0);
