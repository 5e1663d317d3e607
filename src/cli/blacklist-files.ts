import { open, stat, type FileHandle } from "node:fs/promises";

/** The file cannot be read at all. */
export class UnreadableFile extends Error {
  override name = "UnreadableFile";
}

/** The text of a file, or of standard input as `-`. @throws UnreadableFile */
export async function openText(path: string) {
  const handle = path === "-" ? undefined : await opened(path, "r");
  const size = (await handle?.stat())?.size;
  let seen = 0;

  async function* pieces(): AsyncGenerator<string> {
    const decoder = new TextDecoder("utf-8", { fatal: true, ignoreBOM: true });
    const source: AsyncIterable<Buffer> = handle === undefined ? process.stdin : handle.createReadStream({ autoClose: false });
    try {
      for await (const piece of source) {
        seen += piece.length;
        yield decoder.decode(piece, { stream: true });
      }
      yield decoder.decode();
    } catch (error) {
      if (error instanceof TypeError) throw new UnreadableFile(`${path} is not UTF-8. Save it as "CSV UTF-8" first.`, { cause: error });
      throw unreadable(path, error);
    }
  }

  return {
    pieces,
    /** How much of it was read, from 0 to 1; undefined when its size is not known. */
    share: () => (size === undefined || size === 0 ? undefined : seen / size),
    [Symbol.asyncDispose]: async () => await handle?.close(),
  };
}

/**
 * Takes results as lines of JSON; without a path it takes them nowhere. An earlier report gives way, the file that is read never.
 * @throws UnreadableFile
 */
export async function openReport(path: string | undefined, source: string) {
  const handle = path === undefined ? undefined : await openedForReport(path, source);
  return {
    async write(results: readonly object[]): Promise<void> {
      await handle?.appendFile(results.map((result) => `${JSON.stringify(result)}\n`).join(""));
    },
    [Symbol.asyncDispose]: async () => await handle?.close(),
  };
}

async function openedForReport(path: string, source: string): Promise<FileHandle> {
  const [report, read] = await Promise.all([path, source].map((one) => stat(one).catch(() => undefined)));
  if (report !== undefined && report.ino === read?.ino && report.dev === read.dev)
    throw new UnreadableFile(`${path} is the file that is to be imported. Give the report another name.`);
  return opened(path, "w");
}

async function opened(path: string, flags: "r" | "w"): Promise<FileHandle> {
  try {
    return await open(path, flags, 0o600);
  } catch (error) {
    throw unreadable(path, error);
  }
}

function unreadable(path: string, error: unknown): UnreadableFile {
  return new UnreadableFile(`${path}: ${error instanceof Error ? error.message : String(error)}`, { cause: error });
}
