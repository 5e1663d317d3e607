import { inJson, worded } from "../kit/say.ts";
import { extname } from "node:path";
import { Command, Option } from "commander";
import type { ImportedLine } from "../features/blacklist/import/import.schema.ts";
import type { ImportSummary } from "../features/blacklist/import/import.ts";
import { ProblemError } from "../kernel/errors.ts";
import { encodingOf } from "../kernel/parsing.ts";
import { TextDecoder } from "node:util";
import { fileError } from "../kernel/operator-errors.ts";
import { print, printError } from "./output.ts";
import { withServices } from "./services.ts";
import { open, stat, type FileHandle } from "node:fs/promises";
import { createWriteStream } from "node:fs";
import { pipeline } from "node:stream/promises";

/** Wrong lines that are named on the terminal; the report names all of them. */
const namedLines = 20;
const plainEveryMs = 3000;
const rewrittenEveryMs = 100;

type ImportProgress = ReturnType<typeof createProgress>;

/**
 * Shows how far an import is: in a line that rewrites itself on a terminal, in a line every few seconds elsewhere.
 * @param share how much was read, from 0 to 1
 */
export function createProgress(stream: NodeJS.WriteStream, share: () => number | undefined) {
  const began = performance.now();
  const everyMs = stream.isTTY ? rewrittenEveryMs : plainEveryMs;
  let shownAt = Number.NEGATIVE_INFINITY;
  let [lines, bad] = [0, 0];
  let isShown = false;
  let shownLines = 0;

  function show(): void {
    shownAt = performance.now();
    isShown = true;
    shownLines = lines;
    const rate = Math.round(lines / Math.max(0.001, (shownAt - began) / 1000));
    const part = share();
    const facts = [countLines(lines), `${rate.toString()} per second`, `${bad.toString()} wrong`];
    if (part !== undefined) facts.push(`${Math.floor(part * 100).toString()} % read`);
    stream.write(stream.isTTY ? `\r${facts.join(", ")}\u001b[K` : `${facts.join(", ")}\n`);
  }

  /** The line that rewrites itself is left as it is. */
  function leave(): void {
    if (stream.isTTY && isShown) stream.write("\n");
    isShown = false;
  }

  /** A line of its own; what rewrites itself goes on below it. */
  function t(text: string): void {
    isShown = false;
    stream.write(stream.isTTY ? `\r${text}\u001b[K\n` : `${text}\n`);
  }

  function name({ line, errors = [] }: ImportedLine): void {
    bad += 1;
    if (bad > namedLines) return;
    for (const { pointer, detail } of errors)
      t(`line ${line.toString()}: ${pointer === "" ? "" : `${pointer.slice(1)}: `}${worded(detail)}`.replaceAll(/\p{C}/gu, "?"));
    if (bad === namedLines) t("Further wrong lines are in the report alone (--report <file>).");
  }

  return {
    t,
    note(results: readonly ImportedLine[]): void {
      lines += results.length;
      for (const result of results) if (result.outcome === "refused" || result.outcome === "failed") name(result);
      if (performance.now() - shownAt >= everyMs) show();
    },
    /** Show how far it came, in a line that stays: what is printed next begins one of its own. */
    end(): void {
      if (!isShown || shownLines !== lines) show();
      leave();
    },
    [Symbol.dispose]: leave,
  };
}

function countLines(lines: number): string {
  return lines === 1 ? "1 line" : `${lines.toString()} lines`;
}

/** Such as `5000 lines: 4990 created, 10 refused`. */
function sumLine({ lines, counts }: ImportSummary): string {
  const told = Object.entries(counts).flatMap(([outcome, count]) => (count > 0 ? [`${count.toString()} ${outcome}`] : []));
  return [countLines(lines), told.join(", ")].filter((part) => part !== "").join(": ");
}

const formats = ["csv", "json", "ndjson"] as const;
type Format = (typeof formats)[number];

interface Options {
  format?: Format;
  mode: "skip" | "merge" | "replace";
  dryRun?: true;
  report?: string;
}

/** `provost blacklist import`: 0 every line is in, 1 some are not, 2 nothing could be read. */
export function importCommand(setExitCode: (code: number) => void): Command {
  return new Command("import")
    .description("Import blacklist records from a file; exits with 0 (every line is in), 1 (some are not) or 2 (the file cannot be read)")
    .argument("<file>", "CSV, JSON or NDJSON in UTF-8; - reads standard input")
    .addOption(new Option("--format <format>", "what the file is; told from its name unless given").choices(formats))
    .addOption(
      new Option("--mode <mode>", "what becomes of a line whose subject is listed already")
        .choices(["skip", "merge", "replace"] as const)
        .default("skip" as const),
    )
    .option("--dry-run", "tell what would happen and write nothing")
    .option("--report <file>", "write what became of each line to this file, one JSON object per line")
    .action(async (file: string, options: Options) => {
      try {
        const { counts, isStopped } = await importFile(file, options);
        setExitCode(counts.refused + counts.failed > 0 || isStopped ? 1 : 0);
      } catch (error) {
        const isUnreadable = error instanceof UnreadableFile || (error instanceof ProblemError && error.code === "validation_failed");
        if (!isUnreadable) throw error;
        const details = error instanceof ProblemError ? (error.errors ?? []).map(({ detail }) => detail) : [error.message];
        for (const detail of details) printError(detail);
        setExitCode(2);
      }
    });
}

async function importFile(file: string, options: Options): Promise<ImportSummary> {
  const format = options.format ?? formatOf(file);
  await using text = await openText(file);
  await using report = await openReport(options.report, file);
  using progress = createProgress(process.stderr, text.share);
  using interruption = createInterruption(progress);
  const summary = await withServices(async ({ guildState, access, blacklist, blacklistTransfer }, call) => {
    await guildState.load();
    await access.load();
    // A new database has nothing to catch up with: the next server need not look for it.
    await blacklist.prepare();
    return await blacklistTransfer.importLines(call, blacklistTransfer.readers[format](text.pieces()), {
      mode: options.mode,
      dryRun: options.dryRun === true,
      signal: interruption.signal,
      async onResults(results: readonly ImportedLine[]) {
        progress.note(results);
        await report.write(results);
      },
    });
  });
  progress.end();
  if (summary.isStopped) printError("Stopped. Run the same command again to go on: what is in stays as it is.");
  if (options.dryRun === true) printError("Nothing was written.");
  print(sumLine(summary));
  return summary;
}

function formatOf(file: string): Format {
  const format = formats.find((known) => extname(file).toLowerCase() === `.${known}`);
  if (format === undefined)
    throw new UnreadableFile(
      `The name of ${file} does not say what it holds. Add \`--format csv\`, \`--format json\` or \`--format ndjson\`.`,
    );
  return format;
}

/** The first Ctrl-C ends the import after the running batch, the second one at once. */
function createInterruption(progress: ImportProgress) {
  const controller = new AbortController();
  const onInterrupt = (): void => {
    progress.t("Stopping after the lines that are being written.");
    controller.abort();
  };
  process.once("SIGINT", onInterrupt);
  return { signal: controller.signal, [Symbol.dispose]: () => void process.off("SIGINT", onInterrupt) };
}

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
    let decoder: TextDecoder | undefined;
    const source: AsyncIterable<Buffer> = handle === undefined ? process.stdin : handle.createReadStream({ autoClose: false });
    try {
      for await (const piece of source) {
        seen += piece.length;
        decoder ??= new TextDecoder(encodingOf(piece), { fatal: true, ignoreBOM: true });
        yield decoder.decode(piece, { stream: true });
      }
      if (decoder !== undefined) yield decoder.decode();
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
      try {
        await handle?.appendFile(results.map((result) => `${inJson(result)}\n`).join(""));
      } catch (error) {
        throw unreadable(path ?? "", error);
      }
    },
    [Symbol.asyncDispose]: async () => await handle?.close(),
  };
}

async function openedForReport(path: string, source: string): Promise<FileHandle> {
  const [report, read] = await Promise.all([path, source].map((one) => stat(one).catch(() => undefined)));
  if (report !== undefined && report.ino === read?.ino && report.dev === read.dev)
    throw new UnreadableFile(`${path} is the file that is imported. Give the report another name.`);
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
  const shown = fileError(error, { path });
  return new UnreadableFile(shown instanceof Error ? shown.message : String(shown), { cause: error });
}

/** `provost blacklist …`: records in bulk, beside a running server or without one. */
export function blacklistCommand(setExitCode: (code: number) => void): Command {
  return new Command("blacklist")
    .description("Import and export blacklist records")
    .addCommand(importCommand(setExitCode))
    .addCommand(exportCommand());
}

function exportCommand(): Command {
  return new Command("export")
    .description("Print every blacklist record, in the form in which an import reads it again")
    .addOption(new Option("--format <format>", "csv or ndjson").choices(["csv", "ndjson"] as const).default("csv" as const))
    .option("--out <file>", "write it to this file instead, readable by you alone; it must not exist yet")
    .action(async ({ format, out }: { format: "csv" | "ndjson"; out?: string }) => {
      await withServices(async ({ blacklistTransfer }, call) => {
        const { body } = await blacklistTransfer.export(call, { format });
        if (out === undefined) await pipeline(body, process.stdout, { end: false });
        else {
          await pipeline(body, createWriteStream(out, { mode: 0o600, flags: "wx" }));
          printError(`Written to ${out}.`);
        }
      });
    });
}
