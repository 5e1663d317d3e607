import { pino, type DestinationStream, type Logger } from "pino";

/** Texts that must never reach a log, whatever path they took: our keys, bot tokens, bearer headers, sealed texts, tokens in addresses. */
const secretPatterns =
  /prv_live_[0-9A-Za-z_]+|sandbox\.[\w.-]+|[MNO][\w-]{23,27}\.[\w-]{6}\.[\w-]{27,}|Bearer\s+[\w.~+/=-]+|Bot\s+[\w.-]{20,}|v1\.[\w-]{1,16}\.[\w-]{16}\.[\w-]{22}\.[\w-]+|\/authorize\/[\w-]{20,}|(?:client_secret|code|state|token|code_verifier)=[^&\s"]+/g;

/** Replace everything that looks like a secret. */
export function scrub(line: string): string {
  return line.replace(secretPatterns, "[redacted]");
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
