import { type App, createApp } from "./app.ts";
import { loadConfigOrExit } from "./config/config.ts";
import { boundHeap } from "./heap.ts";
import { databaseRefusal } from "./database/refusals.ts";
import { acceptFlag } from "./installation.ts";
import { ProblemError } from "./kernel/errors.ts";
import { operatorText } from "./kernel/operator-errors.ts";
import { createLogger, openLog } from "./logger.ts";
import { acceptKeyFlag } from "./secret-key.ts";
import { onStop } from "./signals.ts";
import { worded } from "./kit/say.ts";

const replaceRetryMs = 1000;
/** How long the end may take: containers are killed after ten seconds. What is not done by then is done after the next start. */
const endMs = 9000;

/**
 * Run the server until a signal stops it.
 * @param argv the arguments of the program; anything but its two options ends the process with 64 (EX_USAGE of sysexits.h)
 */
export async function serve(argv: readonly string[]): Promise<void> {
  const accepted = readArguments(argv);
  const { unknown, ...ground } = loadConfigOrExit();
  const logTo = await openLog(ground.config.logFormat);
  const logger = createLogger(ground.config.logLevel, logTo);
  for (const text of unknown) logger.warn(text);

  /** Leave after the log's last lines are written; a process in an unknown state must not go on. */
  const leave = (code: number, reason?: string): void => {
    if (reason !== undefined) process.stderr.write(`${worded(reason)}\n`);
    try {
      logTo.flushSync();
    } finally {
      process.exit(code);
    }
  };

  process.on("uncaughtException", (error) => {
    logger.fatal({ err: error }, "uncaught exception");
    leave(1);
  });

  try {
    let app: App | undefined;
    let isStopping = false;
    const stopWith = (code: number, reason?: string): void => {
      if (isStopping) return leave(1, reason);
      // Nothing was accepted yet.
      if (app === undefined) return leave(code, reason);
      isStopping = true;
      setTimeout(() => {
        logger.error({ ms: endMs }, "the end took too long and was cut short");
        leave(1, reason);
      }, endMs).unref();
      app.stop(200).then(
        () => leave(code, reason),
        (error: unknown) => leave(1, operatorText(error) ?? explain(error)),
      );
    };
    const onLost = ({ message }: Error): void => {
      logger.fatal({ reason: message }, "another server has the database");
      stopWith(1, message);
    };
    const onDeposed = (): void =>
      void replace().catch((error: unknown) => {
        logger.fatal({ err: error }, "this process cannot go on");
        leave(1, explain(error));
      });
    const options = { ...ground, ...accepted, logTo, onLost, onDeposed };
    /** A process that leads no more goes on with everything made anew, behind the same address. */
    const replace = async (): Promise<void> => {
      const old = app;
      if (old === undefined) return;
      const next = await createApp({ ...options, kept: old.kept() }).catch((error: unknown) => {
        logger.warn({ reason: explain(error) }, "this process cannot follow another one yet; it is tried again");
      });
      if (isStopping) return;
      if (next === undefined) return void setTimeout(onDeposed, replaceRetryMs);
      await next.start();
      app = next;
      await old.retire();
    };
    // As the first process of a container, this one is not ended by a signal that it does not listen to.
    onStop((signal) => {
      logger.info({ signal }, "stopping");
      stopWith(0);
    });
    app = await createApp(options);
    await app.start();
    logger.info({ url: app.address() }, "listening");
    boundHeap();
  } catch (error) {
    // What a service reports of the storage while it loads names no database: callers are not to know it.
    const reason = operatorText(error instanceof ProblemError ? databaseRefusal(ground.config.database.url, error) : error);
    // The stack shows where the program is at fault; a mistake of the operator has none to show.
    logger.fatal(reason === undefined ? { err: error } : { reason }, "the start failed");
    leave(1, reason ?? explain(error));
  }
}

function readArguments(argv: readonly string[]): { acceptsOtherDatabase: boolean; acceptsNewKey: boolean } {
  const strange = argv.find((argument) => argument !== acceptFlag && argument !== acceptKeyFlag);
  if (strange === undefined) return { acceptsOtherDatabase: argv.includes(acceptFlag), acceptsNewKey: argv.includes(acceptKeyFlag) };
  process.stderr.write(
    `The server has no option ${strange}. Settings are variables, such as \`PORT\`; the options are \`${acceptFlag}\`, for a start with a database that does not belong to \`DATA_DIR\`, and \`${acceptKeyFlag}\`, for one with another \`SECRET_KEY\`.\n`,
  );
  process.exit(64);
}

/** The whole chain of causes in one line: what the operator can act on is often the innermost one. */
function explain(error: unknown): string {
  if (!(error instanceof Error)) return String(error);
  return error.cause === undefined ? error.message : `${error.message} (${explain(error.cause)})`;
}
