// @module-tag sqlite
import { expect, test } from "vitest";
import { createLogger, type LogDestination } from "../src/logger.ts";
import { prettyLog } from "../src/pretty-log.ts";
import { startServiceProcess } from "./support/service-process.ts";

/** A destination for people, and what it was given. */
function createPretty(hasColors = false) {
  const parts: string[] = [];
  const output: LogDestination = { write: (text) => void parts.push(text), flushSync: () => void parts.push("flushed") };
  const log = prettyLog(output, hasColors);
  return { log, logger: createLogger("info", log), written: () => parts.join("") };
}

const time = String.raw`\[\d{4}-\d\d-\d\d \d\d:\d\d:\d\d\.\d{3}\]`;

test("a log for people has a line for each entry, also where several come at once", () => {
  const { log, written } = createPretty();
  const line = (path: string) => `{"level":30,"time":1795750914588,"msg":"request","method":"GET","path":"${path}","status":200}\n`;
  log.write(line("/a") + line("/b"));
  log.flushSync();
  expect(written()).toMatch(
    new RegExp(`^${time} INFO: request {"method":"GET","path":"/a","status":200}\n${time} INFO: request {.*"/b".*}\nflushed$`),
  );
});

test("secrets stay out of a log for people, and no text moves the cursor", () => {
  const { logger, written } = createPretty();
  logger.warn(
    { headers: { authorization: "Bearer abc" }, session: { token: "x" } },
    "asked with Bearer s3cr3t-t0k3n, \u001b[2J\u0007 and \u009b2J",
  );
  logger.error({ err: new Error("client_secret=hunter2 \u001b[31m") }, "failed");
  expect(["s3cr3t", "abc", "hunter2", '"x"', "\u0007", "\u001b", "\u009b"].filter((text) => written().includes(text))).toEqual([]);
  expect(written()).toContain("[redacted]");
  expect(written()).toContain("log.test.ts");
});

test("only a terminal gets colours", () => {
  const { logger, written } = createPretty(true);
  logger.info("listening");
  expect(written()).toContain("\u001b[32mINFO\u001b[39m");
});

test("the server writes the form that LOG_FORMAT says, to its last line", async () => {
  const service = await startServiceProcess({ LOG_FORMAT: "pretty", LOG_LEVEL: "info" });
  await fetch(`${service.url}/livez?secret=1`);
  expect(await service.stop()).toBe(0);
  const lines = service.printed().trimEnd().split("\n");
  expect(lines.filter((line) => line.startsWith("{"))).toEqual([]);
  expect(lines.find((line) => line.includes("INFO: request"))).toMatch(
    /"method":"GET","route":"\/livez","path":"\/livez","status":200,"ms":[\d.]+}$/,
  );
  expect(lines.some((line) => line.endsWith('INFO: stopping {"signal":"SIGTERM"}'))).toBe(true);
});
