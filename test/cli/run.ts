import { execFile } from "node:child_process";
import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { vi } from "vitest";
import { runCli } from "../../src/cli/program.ts";
import { judgeWords } from "../support/unworded.ts";
import { installation, openProgram } from "./installation.ts";

export interface Outcome {
  code: number;
  stdout: string;
  stderr: string;
}

/** A table has no control characters, and shows what is not worded as `?["key"]?`. */
const unworded = /\?\["[a-z-]+[. ][^"]*"/g;

/** What an operator reads is worded. */
function judged(outcome: Outcome): Outcome {
  const text = `${outcome.stdout}${outcome.stderr}`;
  judgeWords("the command line", text.replaceAll(unworded, "\ufdd0$&"));
  return outcome;
}

type Variables = Record<string, string>;

interface ProcessOptions {
  /** The script to run; that of a built installation by default. */
  program?: string | undefined;
  /** The account it runs as, where the tests are root. */
  uid?: number;
  gid?: number;
}

/** What a process of an operator sees of the environment. */
export const operatorEnv = (env: Variables = {}): Variables => ({ PATH: process.env["PATH"] ?? "", ...env });

/** A working directory of its own, optionally with a `.env`; removed at the end of `await using`. */
export async function createWorkplace(dotEnv?: string) {
  const directory = await mkdtemp(join(tmpdir(), "provost-cli-"));
  if (dotEnv !== undefined) await writeFile(join(directory, ".env"), dotEnv);
  return {
    directory,
    /** Run the command line as an operator does: a real process that sees nothing but the given environment. */
    async provost(argv: readonly string[], env: Variables = {}, { program, ...account }: ProcessOptions = {}): Promise<Outcome> {
      const script = program ?? (account.uid === undefined ? (await installation()).program : await openProgram());
      const options = { cwd: directory, env: operatorEnv(env), timeout: 120_000, maxBuffer: 1 << 26, ...account };
      return await new Promise((resolve) => {
        execFile(process.execPath, [script, ...argv], options, (error, stdout, stderr) => {
          resolve(judged({ code: error === null ? 0 : typeof error.code === "number" ? error.code : -1, stdout, stderr }));
        });
      });
    },
    /**
     * The same in this process, which spares loading the program again: for what does not depend on how a process starts and ends,
     * and not for what is written to the standard output in a stream.
     */
    async here(argv: readonly string[], env: Variables = {}): Promise<Outcome> {
      const before = { directory: process.cwd(), env: process.env };
      process.chdir(directory);
      process.env = operatorEnv(env);
      try {
        return await runHere(argv);
      } finally {
        process.env = before.env;
        process.chdir(before.directory);
      }
    },
    [Symbol.asyncDispose]: () => rm(directory, { recursive: true, force: true }),
  };
}

/** Stands for the end of the process: nothing after it is done or written. */
class Exit extends Error {}

/** Run the verbs in this process, where only the writes and the end of the process are caught. */
export async function runHere(argv: readonly string[]): Promise<Outcome> {
  const written = { stdout: "", stderr: "" };
  let exitCode: number | undefined;
  const spies = [
    ...(["stdout", "stderr"] as const).map((stream) =>
      vi.spyOn(process[stream], "write").mockImplementation((text) => {
        if (exitCode === undefined) written[stream] += text.toString();
        return true;
      }),
    ),
    vi.spyOn(process, "exit").mockImplementation((code) => {
      exitCode ??= Number(code ?? 0);
      throw new Exit(`the process ends with ${exitCode.toString()}`);
    }),
  ];
  try {
    const code = await runCli(argv);
    return judged({ code: exitCode ?? code, ...written });
  } finally {
    for (const spy of spies) spy.mockRestore();
  }
}

/** The text of a `.env` file. */
export function dotEnv(variables: Record<string, string>): string {
  return Object.entries(variables)
    .map(([name, value]) => `${name}=${value}\n`)
    .join("");
}
