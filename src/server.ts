import { createApp } from "./app.ts";
import { loadConfigOrExit } from "./config/config.ts";
import { boundHeap } from "./heap.ts";
import { acceptFlag } from "./installation.ts";
import { createLogDestination, createLogger } from "./logger.ts";

/** How long after the start the OpenAPI document is made, unless somebody has asked for it. */
const documentMs = 10_000;

const acceptsOtherDatabase = readArguments(process.argv.slice(2));
const ground = loadConfigOrExit();
const logTo = createLogDestination();
const logger = createLogger(ground.config.logLevel, logTo);

/** The server has one option; anything else is told and ends the process with 64 (EX_USAGE of sysexits.h). */
function readArguments(given: readonly string[]): boolean {
  const strange = given.find((argument) => argument !== acceptFlag);
  if (strange === undefined) return given.length > 0;
  process.stderr.write(
    `${strange} is not known. The server takes its settings from the environment; its one option is ${acceptFlag}, for a start with a database that does not belong to DATA_DIR.\n`,
  );
  process.exit(64);
}

/** Leave after the log's last lines are written; a process in an unknown state must not go on. */
function leave(code: number, error?: unknown): void {
  if (error !== undefined) process.stderr.write(`${explain(error)}\n`);
  try {
    logTo.flushSync();
  } finally {
    process.exit(code);
  }
}

/** The whole chain of causes in one line: what the operator can act on is often the innermost one. */
function explain(error: unknown): string {
  if (!(error instanceof Error)) return String(error);
  return error.cause === undefined ? error.message : `${error.message} (${explain(error.cause)})`;
}

process.on("uncaughtException", (error) => {
  logger.fatal({ err: error }, "uncaught exception");
  leave(1);
});

try {
  const app = await createApp({ ...ground, acceptsOtherDatabase, logTo });
  let isStopping = false;
  const stop = (signal: string): void => {
    if (isStopping) process.exit(1);
    isStopping = true;
    logger.info({ signal }, "stopping");
    app.stop(200).then(
      () => leave(0),
      (error: unknown) => leave(1, error),
    );
  };
  process.on("SIGTERM", stop);
  process.on("SIGINT", stop);
  await app.start();
  logger.info({ url: app.address() }, "listening");
  boundHeap();
  // Nothing else is answered while it is made, for some hundred milliseconds: neither while the first clients of a new process wait, nor when
  // somebody asks for it.
  setTimeout(() => app.http.document(), documentMs).unref();
} catch (error) {
  logger.fatal({ err: error }, "the start failed");
  leave(1, error);
}
