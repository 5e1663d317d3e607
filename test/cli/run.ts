import { execFile } from "node:child_process";
import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";

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
    [Symbol.asyncDispose]: () => rm(directory, { recursive: true, force: true }),
  };
}

/** The text of a `.env` file. */
export function dotEnv(variables: Record<string, string>): string {
  return Object.entries(variables)
    .map(([name, value]) => `${name}=${value}\n`)
    .join("");
}
