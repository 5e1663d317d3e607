import { Command } from "commander";
import { wholeNumber } from "./arguments.ts";

interface Options {
  once?: true;
  keep?: true;
  members?: number;
}

interface Demo {
  run(argv: string[]): Promise<number | void>;
}

/** `provost demo`: the service against a local Discord. The sandbox is loaded only here. */
export function demoCommand(setExitCode: (code: number) => void): Command {
  return new Command("demo")
    .description("Play the main job against a local sandbox of Discord; needs no environment and no account")
    .option("--once", "run unattended, print the transcript and exit, non-zero on any mismatch")
    .option("--keep", "keep running afterwards")
    .option("--members <n>", "members of the seeded community", wholeNumber(1, 1_000_000))
    .action(async ({ once, keep, members }: Options) => {
      const demo: Demo = await import("../../sandbox/demo/index.ts");
      const argv = [once && "--once", keep && "--keep", ...(members === undefined ? [] : ["--members", members.toString()])];
      setExitCode((await demo.run(argv.filter((argument) => argument !== undefined))) ?? 0);
    });
}
