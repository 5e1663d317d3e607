import { Command } from "commander";

/** `provost serve`: the server, the same as `npm start`. */
export function serveCommand(): Command {
  return new Command("serve").description("Run the server until it is told to stop (SIGTERM or SIGINT)").action(async () => {
    await import("../main.ts");
  });
}
