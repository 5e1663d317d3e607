import { createReadStream } from "node:fs";
import { open } from "node:fs/promises";
import { fileTypeFromBuffer } from "file-type";

/** Enough of the beginning for every known signature; no more, so that nothing packed is unpacked. */
const beginning = 4100;

/** What the bytes of a file look like: a known type, text in UTF-8, or unknown bytes. What its sender says does not count. */
export async function sniffType(path: string): Promise<string> {
  const known = await fileTypeFromBuffer(await readBeginning(path)).catch(() => undefined);
  if (known !== undefined) return known.mime;
  return (await isText(path)) ? "text/plain" : "application/octet-stream";
}

async function readBeginning(path: string): Promise<Buffer> {
  const file = await open(path, "r");
  try {
    const { buffer, bytesRead } = await file.read(Buffer.alloc(beginning), 0, beginning, 0);
    return buffer.subarray(0, bytesRead);
  } finally {
    await file.close();
  }
}

async function isText(path: string): Promise<boolean> {
  const decoder = new TextDecoder("utf-8", { fatal: true });
  try {
    for await (const chunk of createReadStream(path, { highWaterMark: 1024 * 1024 }) as AsyncIterable<Buffer>) {
      if (chunk.includes(0)) return false;
      decoder.decode(chunk, { stream: true });
    }
    decoder.decode();
    return true;
  } catch (error) {
    if (error instanceof TypeError) return false;
    throw error;
  }
}
