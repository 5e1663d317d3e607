// @module-tag sqlite
import type { IncomingMessage } from "node:http";
import { expect, test } from "vitest";
import { createAddressReader } from "../../src/http/remote-address.ts";
import { startApp } from "./support.ts";

function arriving(remoteAddress: string, forwarded?: string): IncomingMessage {
  return {
    socket: { remoteAddress },
    headers: forwarded === undefined ? {} : { "x-forwarded-for": forwarded },
  } as unknown as IncomingMessage;
}

test("without a trusted proxy the header counts nothing", () => {
  expect(createAddressReader([])(arriving("203.0.113.9", "198.51.100.1"))).toBe("203.0.113.9");
});

test.each([
  ["198.51.100.1", "198.51.100.1"],
  ["1.2.3.4, 198.51.100.1", "198.51.100.1"],
  ["198.51.100.1, 10.1.2.3", "198.51.100.1"],
  ["::ffff:198.51.100.1", "198.51.100.1"],
  ["2001:db8::1", "2001:db8::1"],
  ["nonsense", "127.0.0.1"],
  ["", "127.0.0.1"],
])("behind a trusted proxy the last foreign address of %j is the caller's", (forwarded, caller) => {
  const read = createAddressReader(["127.0.0.1", "10.0.0.0/8", "::1"]);
  expect(read(arriving("::ffff:127.0.0.1", forwarded))).toBe(caller);
});

test("a stranger cannot pretend to be forwarded", () => {
  expect(createAddressReader(["127.0.0.1"])(arriving("203.0.113.9", "198.51.100.1"))).toBe("203.0.113.9");
});

test("callers behind one proxy do not use up each other's failed attempts", async () => {
  const { ask } = await startApp({
    trustedProxies: ["127.0.0.1"],
    limits: { failed_auth: { count: 2, seconds: 60 } },
  });
  const from = async (address: string) =>
    (await ask({ path: "/things", key: "key-wrong", headers: { "x-forwarded-for": address } })).status;
  expect([await from("198.51.100.1"), await from("198.51.100.1"), await from("198.51.100.1")]).toEqual([401, 401, 429]);
  expect(await from("198.51.100.2")).toBe(401);
});
