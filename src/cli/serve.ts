import { Command } from "commander";

/** `provost serve`: the server, the same as `npm start`. */
export function serveCommand(): Command {
  return new Command("serve")
    .description("Run the server until it is stopped (SIGTERM or SIGINT)")
    .option("--accept-empty-database", "start with a database that does not belong to DATA_DIR")
    .option("--accept-new-secret-key", "start with another SECRET_KEY than the database was used with")
    .action(async ({ acceptEmptyDatabase, acceptNewSecretKey }: { acceptEmptyDatabase?: true; acceptNewSecretKey?: true }) => {
      const [{ serve }, { acceptFlag }, { acceptKeyFlag }] = await Promise.all([
        import("../server.ts"),
        import("../installation.ts"),
        import("../secret-key.ts"),
      ]);
      await serve([...(acceptEmptyDatabase === true ? [acceptFlag] : []), ...(acceptNewSecretKey === true ? [acceptKeyFlag] : [])]);
    });
}
