import { once } from "node:events";
import { rmSync } from "node:fs";
import { mkdtemp, rm } from "node:fs/promises";
import { createServer, type IncomingMessage, type RequestListener, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import { join } from "node:path";
import { inject } from "vitest";
import { requireOnDemand } from "../../scripts/on-demand.ts";

/** What is used of a package that has no types. */
type S3rver = new (options: object) => { callback(): RequestListener; configureBuckets(): Promise<unknown> };
interface Signing {
  getStringToSign: (canonical: { uri: string }, signature: unknown) => string;
}

const require = await requireOnDemand("s3rver");
const S3rver = require("@20minutes/s3rver") as S3rver;
const signing = require("@20minutes/s3rver/lib/signature/v4.js") as Signing;
const { getStringToSign } = signing;
// Clients sign the slash after a bucket, and it leaves it out.
signing.getStringToSign = (canonical, signature) =>
  getStringToSign({ ...canonical, uri: /^\/[^/]+$/.test(canonical.uri) ? `${canonical.uri}/` : canonical.uri }, signature);

export const bucket = "moderation";
/** Of the one account that there is. */
const keys = { EVIDENCE_S3_ACCESS_KEY: "S3RVER00", EVIDENCE_S3_SECRET_KEY: "S3RVER-secret" };
const { DUMMY_ACCOUNT } = require("@20minutes/s3rver/lib/models/account.js") as {
  DUMMY_ACCOUNT: { createKeyPair(access: string, secret: string): void };
};
DUMMY_ACCOUNT.createKeyPair(keys.EVIDENCE_S3_ACCESS_KEY, keys.EVIDENCE_S3_SECRET_KEY);

/** What goes wrong instead of an answer, or with it. @returns whether the request is not passed on */
export type Fault = (request: IncomingMessage, response: ServerResponse) => boolean;

export type S3Server = Awaited<ReturnType<typeof startS3Server>>;

/** A version of an object, or the mark that it was deleted. */
interface Version {
  key: string;
  id: string;
  isMark: boolean;
}

const numberOf = (id: string): number => Number(id.replace("version-", ""));

/**
 * What a bucket does that keeps versions, in front of one that does not: each object that is stored or deleted is one more, and they are told
 * a few at a time, by key and the newest first.
 * @param remove an object that has no version left that can be read
 */
function createVersions(atOnce: number, remove: (key: string) => void) {
  let count = 0;
  let all: Version[] = [];
  const pages: string[] = [];

  function add(key: string, isMark: boolean): void {
    all.unshift({ key, id: `version-${(count += 1).toString()}`, isMark });
    all = all.toSorted((one, other) => (one.key === other.key ? 0 : one.key < other.key ? -1 : 1));
  }

  function list(query: URLSearchParams): string {
    const [keyMarker, idMarker] = [query.get("key-marker"), query.get("version-id-marker")];
    pages.push(`${keyMarker ?? ""} ${idMarker ?? ""}`.trim());
    // What the marks name may be deleted by now: what comes behind it counts.
    const isBehind = ({ key, id }: Version): boolean =>
      keyMarker === null || key > keyMarker || (key === keyMarker && idMarker !== null && numberOf(id) < numberOf(idMarker));
    const found = all.filter((one) => one.key.startsWith(query.get("prefix") ?? "") && isBehind(one));
    const page = found.slice(0, atOnce);
    const last = page.at(-1);
    const isTruncated = atOnce < found.length;
    const told = page.map(({ key, id, isMark }) => {
      const name = isMark ? "DeleteMarker" : "Version";
      const isLatest = all.find((one) => one.key === key)?.id === id;
      return `<${name}><Key>${key}</Key><VersionId>${id}</VersionId><IsLatest>${String(isLatest)}</IsLatest></${name}>`;
    });
    const next = isTruncated ? `<NextKeyMarker>${last!.key}</NextKeyMarker><NextVersionIdMarker>${last!.id}</NextVersionIdMarker>` : "";
    return `<ListVersionsResult><IsTruncated>${String(isTruncated)}</IsTruncated>${next}${told.join("")}</ListVersionsResult>`;
  }

  const answer: Fault = (request, response) => {
    const { pathname, searchParams } = new URL(request.url ?? "/", "http://bucket");
    const key = pathname.split("/").slice(2).join("/");
    if (request.method === "PUT") add(key, false);
    const isList = request.method === "GET" && searchParams.has("versions");
    if (isList) response.writeHead(200, { "content-type": "application/xml" }).end(list(searchParams));
    if (isList || request.method !== "DELETE") return isList;
    const id = searchParams.get("versionId");
    if (id === null) add(key, true);
    all = all.filter((one) => one.id !== id);
    if (all.find((one) => one.key === key)?.isMark !== false) remove(key);
    response.writeHead(204).end();
    return true;
  };
  return { answer, add, of: (key: string) => all.filter((one) => one.key === key), pages };
}

/** An S3 server that checks signatures, with one bucket on the disk. The caller stops it. */
export async function startS3Server() {
  const directory = await mkdtemp(join(inject("directory"), "s3-"));
  const store = new S3rver({ directory, silent: true, vhostBuckets: false, configureBuckets: [{ name: bucket, configs: [] }] });
  await store.configureBuckets();
  const answer = store.callback();
  let fault: Fault = () => false;
  const open = async (port: number) => {
    const server = createServer((request, response) => {
      if (!fault(request, response)) answer(request, response);
    });
    server.listen(port, "127.0.0.1");
    await once(server, "listening");
    return server;
  };
  let server = await open(0);
  const { port } = server.address() as AddressInfo;
  const close = async (): Promise<void> => {
    server.closeAllConnections();
    if (server.listening) await new Promise((resolve) => server.close(resolve));
  };
  const fileOf = (key: string): string => join(directory, bucket, `${key}._S3rver_object`);
  return {
    endpoint: `http://127.0.0.1:${port.toString()}`,
    /** The environment of an installation that keeps its files of evidence here. */
    env: (prefix = "evidence") => ({
      ...keys,
      EVIDENCE_STORE: `s3://${bucket}/${prefix}`,
      EVIDENCE_S3_ENDPOINT: `http://127.0.0.1:${port.toString()}`,
    }),
    /** The file of an object on the disk. */
    fileOf,
    /** From now on the bucket keeps versions, and tells so many of them at once. */
    keepVersions(atOnce: number) {
      const versions = createVersions(atOnce, (key) => rmSync(fileOf(key), { force: true }));
      fault = versions.answer;
      return versions;
    },
    /** From now on. */
    breakWith: (given: Fault): void => void (fault = given),
    mend: (): void => void (fault = () => false),
    goAway: close,
    comeBack: async (): Promise<void> => void (server = await open(port)),
    async stop(): Promise<void> {
      await close();
      await rm(directory, { recursive: true, force: true });
    },
  };
}

/** What a server says that has too much to do. */
export const slowDown: Fault = (_request, response) => {
  response.writeHead(503, { "content-type": "application/xml" });
  response.end("<Error><Code>SlowDown</Code><Message>Please reduce your request rate.</Message></Error>");
  return true;
};
