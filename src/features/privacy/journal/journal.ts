import { mkdir, open, readFile, truncate, type FileHandle } from "node:fs/promises";
import { dirname, resolve } from "node:path";
import { z } from "zod";
import type { Erasure } from "../../../generated/sqlite/client.ts";
import { syncToDisk } from "../../../kernel/files.ts";
import { fileError, OperatorError } from "../../../kernel/operator-errors.ts";

/**
 * What a line says: access was taken back; what a person shared was deleted; all of a person was redacted; they are not to be
 * asked again; they may be asked again.
 */
export const erasureKinds = ["revocation", "deletion", "redaction", "suppression", "release"] as const;
export type ErasureKind = (typeof erasureKinds)[number];

/** One deletion. The person is known by a keyed hash alone. */
export interface JournalLine extends Omit<Erasure, "appliedAt"> {
  kind: ErasureKind;
}

export interface Journal {
  /** Add lines and wait until they are on the disk. @throws Error when the file cannot be written: then nothing is added */
  append(lines: readonly JournalLine[]): Promise<void>;
  /**
   * Every line, oldest first; the beginning of a last one that was cut off is taken away.
   * @throws Error in plain words when the file cannot be read or is not a journal
   */
  read(): Promise<JournalContent>;
}

const Line = z.object({ v: z.literal(1), id: z.string(), kind: z.enum(erasureKinds), subject: z.string(), at: z.coerce.date() });
const newline = 0x0a;

export interface JournalContent {
  /** Every whole line, oldest first. */
  lines: JournalLine[];
  /** Whether there is the beginning of another one behind them. */
  isCut: boolean;
}

/**
 * Read a journal that somebody else may be writing: it is left as it is.
 * @returns its content, and how many bytes its whole lines have
 * @throws Error in plain words when the file cannot be read or is not a journal
 */
export async function readJournal(path: string): Promise<JournalContent & { bytes: number }> {
  const bytes = await contentOf(path);
  const whole = bytes.subarray(0, bytes.lastIndexOf(newline) + 1);
  const texts = whole.toString("utf8").split("\n").slice(0, -1);
  return { lines: texts.map((text, index) => lineOf(text, index, path)), isCut: whole.length < bytes.length, bytes: whole.length };
}

/**
 * The file of deletions beside the database: it outlives every backup of it.
 * @param path the file; it is made, readable by its owner alone, with the first line
 */
export function createJournal(path: string): Journal {
  let turn: Promise<void> = Promise.resolve();

  async function add(text: string): Promise<void> {
    const file = await openFile(path);
    const { size } = await file.stat();
    try {
      await file.appendFile(text);
      await file.sync();
    } catch (error) {
      await file.truncate(size).catch(() => undefined);
      throw error;
    } finally {
      await file.close();
    }
    if (size === 0) await syncToDisk(dirname(resolve(path)));
  }

  return {
    append(lines: readonly JournalLine[]): Promise<void> {
      if (lines.length === 0) return Promise.resolve();
      const mine = turn.then(() => add(lines.map(textOf).join("")));
      turn = mine.catch(() => undefined);
      return mine;
    },

    async read(): Promise<JournalContent> {
      const { bytes, ...content } = await readJournal(path);
      if (content.isCut) await truncate(path, bytes);
      return content;
    },
  };
}

async function openFile(path: string): Promise<FileHandle> {
  await mkdir(dirname(resolve(path)), { recursive: true, mode: 0o700 });
  return await open(path, "a", 0o600);
}

async function contentOf(path: string): Promise<Buffer> {
  try {
    return await readFile(path);
  } catch (error) {
    if (error instanceof Error && "code" in error && error.code === "ENOENT") return Buffer.alloc(0);
    throw fileError(error, { path, variable: "ERASURE_JOURNAL" });
  }
}

function textOf({ id, kind, subjectHash, at }: JournalLine): string {
  return `${JSON.stringify({ v: 1, id, kind, subject: subjectHash, at: at.toISOString() })}\n`;
}

function lineOf(text: string, index: number, path: string): JournalLine {
  try {
    const { id, kind, subject, at } = Line.parse(JSON.parse(text));
    return { id, kind, subjectHash: subject, at };
  } catch (error) {
    const where = `line ${(index + 1).toString()} of ${path}`;
    throw new OperatorError(
      `The journal of deletions is damaged (ERASURE_JOURNAL): ${where} is none of ours. Bring back the file from a copy.`,
      {
        cause: error,
      },
    );
  }
}
