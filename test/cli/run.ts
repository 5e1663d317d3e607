import { execFile } from "node:child_process";
import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { vi } from "vitest";
import { runCli } from "../../src/cli/program.ts";

const program = fileURLToPath(new URL("../../bin/provost.js", import.meta.url));

export interface Outcome {
  code: number;
  stdout: string;
  stderr: string;
}

/** A working directory of its own, optionally with a `.env`; removed at the end of `await using`. */
export async function createWorkplace(dotEnv?: string) {
  const directory = await mkdtemp(join(tmpdir(), "provost-cli-"));
  if (dotEnv !== undefined) await writeFile(join(directory, ".env"), dotEnv);
  return {
    directory,
    /** Run the command line as an operator does: a real process that sees nothing but the given environment. */
    provost: (argv: readonly string[], env: Record<string, string> = {}): Promise<Outcome> =>
      new Promise((resolve) => {
        const options = { cwd: directory, env: { PATH: process.env["PATH"] ?? "", ...env }, timeout: 25_000, maxBuffer: 1 << 26 };
        execFile(process.execPath, [program, ...argv], options, (error, stdout, stderr) => {
          resolve({ code: error === null ? 0 : typeof error.code === "number" ? error.code : -1, stdout, stderr });
        });
      }),
    /** The same in this process, which spares loading the program again; not for what is written to the standard output in a stream. */
    async here(argv: readonly string[]): Promise<Outcome> {
      const before = process.cwd();
      process.chdir(directory);
      try {
        return await runHere(argv);
      } finally {
        process.chdir(before);
      }
    },
    [Symbol.asyncDispose]: () => rm(directory, { recursive: true, force: true }),
  };
}

/** Run the verbs in this process, where only the writes are caught. */
export async function runHere(argv: readonly string[]): Promise<Outcome> {
  const written = { stdout: "", stderr: "" };
  const spies = (["stdout", "stderr"] as const).map((stream) =>
    vi.spyOn(process[stream], "write").mockImplementation((text) => {
      written[stream] += text.toString();
      return true;
    }),
  );
  try {
    return { code: await runCli(argv), ...written };
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
