import { prettyFactory } from "pino-pretty";
import type { LogDestination } from "./logger.ts";

/**
 * A log for people: JSON goes in, with secrets taken out already, and a line to read comes out. It is made at once and in this process, so that
 * the last line of one that ends is there, too.
 */
export function prettyLog(destination: LogDestination, hasColors: boolean): LogDestination {
  const pretty = prettyFactory({ colorize: hasColors, singleLine: true, translateTime: "SYS:yyyy-mm-dd HH:MM:ss.l" });
  return {
    // Lines of the access log come several at a time.
    write: (lines) =>
      destination.write(
        lines
          .split("\n")
          .filter((line) => line !== "")
          .map((line) => pretty(line))
          .join(""),
      ),
    flushSync: () => destination.flushSync(),
  };
}
