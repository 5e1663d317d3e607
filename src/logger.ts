import { pino, type DestinationStream, type Logger } from "pino";
import { redact } from "./kernel/secrets.ts";

/** Secrets by what stands before them: headers, and parameters of an address. */
const named = /Bearer\s+[\w.~+/=-]+|Bot\s+[\w.-]{20,}|(?:client_secret|code|state|token|code_verifier)=[^&\s"]+/g;

/** Replace everything in a line that looks like a secret. */
function scrub(line: string): string {
  return redact(line).replace(named, "[redacted]");
}

export type LogDestination = DestinationStream & { flushSync(): void };

/** Standard output, written asynchronously: a request never waits for its log line. */
export function createLogDestination(): LogDestination {
  return pino.destination({ dest: 1, sync: false });
}

/** @param destination where the scrubbed lines go */
export function createLogger(level: string, destination: DestinationStream): Logger {
  return pino(
    { level, base: null, redact: ["*.authorization", "*.token", "*.secret", "headers"] },
    { write: (line) => destination.write(scrub(line)) },
  );
}
