import { say } from "../kit/say.ts";
import type { GivenFile, VerbsDeps } from "./verbs.ts";
import { createHash, randomUUID, type Hash } from "node:crypto";
import { createWriteStream } from "node:fs";
import { rm } from "node:fs/promises";
import { join } from "node:path";
import { Transform, type Readable } from "node:stream";
import { pipeline } from "node:stream/promises";
import { bodyLimit, type UploadedFile } from "../operations/route.ts";
import type { AttachmentSource } from "../kernel/discord-port.ts";
import { ProblemError } from "../kernel/errors.ts";
import { fileProblem } from "../kernel/files.ts";
import { parseFile } from "../kernel/parsing.ts";
import { sizeOf } from "./gallery.ts";

const downloadMs = 60_000;

/** Brings files that were given in Discord to where a route wants them. */
export function createFiles(source: AttachmentSource): Pick<VerbsDeps, "withFile" | "textOf"> {
  async function open({ url, bytes }: GivenFile, maxBytes: number, signal: AbortSignal): Promise<Readable> {
    if (bytes > maxBytes) throw tooLarge(maxBytes);
    const stream = await source.open(url, signal);
    if (stream === undefined)
      throw new ProblemError("discord_unavailable", { detail: say("commands.discord-did-not-give-the-file"), retryAfter: 30 });
    return stream;
  }

  async function fetchTo(path: string, file: GivenFile, maxBytes: number): Promise<Pick<UploadedFile, "bytes" | "sha256">> {
    const signal = AbortSignal.timeout(downloadMs);
    const stream = await open(file, maxBytes, signal);
    const sha256 = createHash("sha256");
    const written = await write(stream, path, sha256, maxBytes, signal);
    return { bytes: written, sha256: sha256.digest("hex") };
  }

  return {
    async withFile({ request }, file, use) {
      const upload = request?.upload;
      if (upload === undefined) return await use(undefined);
      const path = join(upload.folder(), `upload-${randomUUID()}`);
      try {
        return await use({ path, name: file.name, ...(await fetchTo(path, file, upload.maxBytes())) });
      } finally {
        await rm(path, { force: true });
      }
    },
    async textOf({ request }, file) {
      const stream = await open(file, request?.bodyLimit ?? bodyLimit, AbortSignal.timeout(downloadMs));
      return parseFile(await gathered(stream, request?.bodyLimit ?? bodyLimit));
    },
  };
}

async function gathered(stream: Readable, maxBytes: number): Promise<Buffer> {
  const parts: Buffer[] = [];
  let bytes = 0;
  for await (const part of stream) {
    const piece = Buffer.from(part as Uint8Array);
    bytes += piece.length;
    if (bytes > maxBytes) throw tooLarge(maxBytes);
    parts.push(piece);
  }
  return Buffer.concat(parts);
}

/** @returns how many bytes came, whatever was announced */
async function write(stream: Readable, path: string, sha256: Hash, maxBytes: number, signal: AbortSignal): Promise<number> {
  let bytes = 0;
  const measure = new Transform({
    transform(part: Buffer, _encoding, done) {
      bytes += part.length;
      sha256.update(part);
      if (bytes > maxBytes) done(tooLarge(maxBytes));
      else done(null, part);
    },
  });
  try {
    await pipeline(stream, measure, createWriteStream(path, { flags: "wx", mode: 0o600 }), { signal });
  } catch (error) {
    throw error instanceof ProblemError ? error : fileProblem(error);
  }
  return bytes;
}

function tooLarge(maxBytes: number): ProblemError {
  return new ProblemError("body_too_large", { detail: say("commands.a-file-holds-at-most", { size: sizeOf(maxBytes) }) });
}
