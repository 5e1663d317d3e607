import { Command } from "commander";

/** `provost serve`: the server, the same as `npm start`. */
export function serveCommand(): Command {
  return new Command("serve")
    .description("Run the server until it is stopped (SIGTERM or SIGINT)")
    .option("--accept-empty-database", "start with a database that does not belong to DATA_DIR")
    .action(async ({ acceptEmptyDatabase }: { acceptEmptyDatabase?: true }) => {
      const [{ serve }, { acceptFlag }] = await Promise.all([import("../server.ts"), import("../installation.ts")]);
      await serve(acceptEmptyDatabase === true ? [acceptFlag] : []);
    });
}
