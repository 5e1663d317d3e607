import { inJson, isSaid } from "./kit/say.ts";
import { pino, type DestinationStream, type Logger } from "pino";
import { redact } from "./kernel/secrets.ts";

/** Secrets by what stands before them: headers, and parameters of an address. */
const named = /Bearer\s+[\w.~+/=-]+|Bot\s+[\w.-]{20,}|(?:client_secret|code|state|token|code_verifier)=[^&\s"]+/g;

/** Replace everything in a line that looks like a secret. */
function scrub(line: string): string {
  return redact(isSaid(line) ? `${inJson(JSON.parse(line))}\n` : line).replace(named, "[redacted]");
}

export type LogDestination = DestinationStream & { flushSync(): void };

/** Lines are gathered, as each write to the system costs a good part of a request, and for so many milliseconds at most. */
const gathered = { sync: false, minLength: 4096, periodicFlush: 100 };

/** Standard output, written asynchronously: a request never waits for its log line. */
export function createLogDestination(dest: number | string = 1): LogDestination {
  return pino.destination({ dest, ...gathered });
}

/** The standard output, in the form that the operator reads. */
export async function openLog(format: "json" | "pretty"): Promise<LogDestination> {
  const output = createLogDestination();
  if (format === "json") return output;
  // Loaded only where somebody wants it.
  const { prettyLog } = await import("./pretty-log.ts");
  return prettyLog(output, process.stdout.isTTY && process.stdout.hasColors());
}

/** @param destination where the scrubbed lines go */
export function createLogger(level: string, destination: DestinationStream): Logger {
  return pino(
    { level, base: null, redact: ["*.authorization", "*.token", "*.secret", "headers"] },
    { write: (line) => destination.write(scrub(line)) },
  );
}
