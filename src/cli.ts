import "./umask.ts";
import { runCli } from "./cli/program.ts";

// A reader that has seen enough, such as `head`, is no fault.
process.stdout.on("error", (error: NodeJS.ErrnoException) => {
  if (error.code !== "EPIPE") throw error;
});

process.exitCode = await runCli(process.argv.slice(2));
