import { open, type FileHandle } from "node:fs/promises";
import { dirname, resolve } from "node:path";
import { ensureFolder } from "../../database/folder.ts";
import { ifMissing } from "../../kernel/files.ts";
import { CheckpointLine } from "./sign.ts";

/** One line of the file: what it says, or that it cannot be read. A last line without an end was cut off while it was written. */
export type ReadLine = CheckpointLine | "unreadable";

const newline = 0x0a;
const tailBytes = 16 * 1024;

/** The file of signed positions. Several processes may add lines to it; nothing is ever taken away. */
export function createCheckpointFile(path: string) {
  return {
    /** Add a line and wait until it is on the disk. @throws Error of the file system */
    async append(line: CheckpointLine): Promise<void> {
      await ensureFolder(dirname(resolve(path)));
      const file = await open(path, "a+", 0o600);
      try {
        // A line that was cut off keeps to itself.
        const start = (await endsOpen(file)) ? "\n" : "";
        await file.appendFile(`${start}${JSON.stringify(line)}\n`);
        await file.sync();
      } finally {
        await file.close();
      }
    },

    /** Every line, oldest first; none when there is no file. @throws Error of the file system */
    async *read(): AsyncGenerator<ReadLine, void, void> {
      const file = await openThere(path);
      if (file === undefined) return;
      for await (const text of file.readLines()) if (text !== "") yield lineOf(text);
    },

    /** The youngest lines, youngest first. @throws Error of the file system */
    async tail(): Promise<ReadLine[]> {
      const file = await openThere(path);
      if (file === undefined) return [];
      try {
        const { size } = await file.stat();
        const from = Math.max(0, size - tailBytes);
        const { buffer, bytesRead } = await file.read(Buffer.alloc(size - from), 0, size - from, from);
        const texts = buffer.subarray(0, bytesRead).toString("utf8").split("\n");
        const whole = from === 0 ? texts : texts.slice(1);
        return whole
          .filter((text) => text !== "")
          .map(lineOf)
          .toReversed();
      } finally {
        await file.close();
      }
    },
  };
}

async function endsOpen(file: FileHandle): Promise<boolean> {
  const { size } = await file.stat();
  if (size === 0) return false;
  const { buffer } = await file.read(Buffer.alloc(1), 0, 1, size - 1);
  return buffer[0] !== newline;
}

function openThere(path: string): Promise<FileHandle | undefined> {
  return open(path, "r").catch(ifMissing(undefined));
}

function lineOf(text: string): ReadLine {
  try {
    return CheckpointLine.parse(JSON.parse(text));
  } catch {
    return "unreadable";
  }
}
