import { spawnSync } from "node:child_process";

/** Prometheus' own checker, which Debian has in the package `prometheus`. */
export const hasPromtool = spawnSync("promtool", ["--version"]).error === undefined;

/** @returns the exit code and everything that it said */
export function promtool(args: readonly string[], input = ""): { code: number | null; said: string } {
  const { status, stdout, stderr } = spawnSync("promtool", args, { input, encoding: "utf8" });
  return { code: status, said: stdout + stderr };
}
