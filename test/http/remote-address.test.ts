// @module-tag sqlite
import type { IncomingMessage } from "node:http";
import fc from "fast-check";
import { expect, test } from "vitest";
import { createAddressReader } from "../../src/http/middleware/request-context.ts";
import { startApp } from "./support.ts";

function arriving(remoteAddress: string, forwarded?: string): IncomingMessage {
  return {
    socket: { remoteAddress },
    headers: forwarded === undefined ? {} : { "x-forwarded-for": forwarded },
  } as unknown as IncomingMessage;
}

test("without a trusted proxy the header counts nothing, and that it came is told once", () => {
  let told = 0;
  const read = createAddressReader([], () => (told += 1));
  expect(read(arriving("203.0.113.9"))).toEqual({ address: "203.0.113.9", isCertain: true });
  expect(told).toBe(0);
  // Whether it is a proxy that nobody named, or a client that sends the header itself, cannot be told.
  const doubtful = { address: "203.0.113.9", isCertain: false };
  expect(read(arriving("203.0.113.9", "198.51.100.1"))).toEqual(doubtful);
  expect(read(arriving("203.0.113.9", "198.51.100.1"))).toEqual(doubtful);
  expect(told).toBe(1);
});

test.each([
  ["198.51.100.1", "198.51.100.1"],
  ["1.2.3.4, 198.51.100.1", "198.51.100.1"],
  ["198.51.100.1, 10.1.2.3", "198.51.100.1"],
  ["6.6.6.6, 203.0.113.9:51234", "203.0.113.9"],
  ["6.6.6.6, 203.0.113.9:51234, 10.1.2.3:80", "203.0.113.9"],
  ["::ffff:198.51.100.1", "198.51.100.1"],
  ["2001:db8::1", "2001:db8::1"],
  ["6.6.6.6, [2001:db8::1]:51234", "2001:db8::1"],
  ["6.6.6.6, [2001:db8::1]", "2001:db8::1"],
  ["6.6.6.6, [::ffff:198.51.100.1]:80", "198.51.100.1"],
  // Of a caller inside the trusted network the outermost hop.
  ["10.9.9.9, 10.1.2.3", "10.9.9.9"],
])("behind a trusted proxy the caller of %j is %s", (forwarded, caller) => {
  const read = createAddressReader(["127.0.0.1", "10.0.0.0/8", "::1"]);
  expect(read(arriving("::ffff:127.0.0.1", forwarded))).toEqual({ address: caller, isCertain: true });
});

test.each([
  ["6.6.6.6, unknown", "127.0.0.1"],
  ["6.6.6.6, unknown, 10.1.2.3", "10.1.2.3"],
  ["6.6.6.6, ", "127.0.0.1"],
  ["6.6.6.6, _hidden", "127.0.0.1"],
  ["6.6.6.6, [2001:db8::1", "127.0.0.1"],
  ["6.6.6.6, 203.0.113.9:", "127.0.0.1"],
  ["6.6.6.6, 203.0.113.999:80", "127.0.0.1"],
  ["nonsense", "127.0.0.1"],
  ["", "127.0.0.1"],
])("a hop that cannot be read in %j leaves the proxy %s, and no certainty", (forwarded, proxy) => {
  const read = createAddressReader(["127.0.0.1", "10.0.0.0/8", "::1"]);
  expect(read(arriving("::ffff:127.0.0.1", forwarded))).toEqual({ address: proxy, isCertain: false });
});

test("whoever writes hops of their own before a proxy's never chooses the address", () => {
  const read = createAddressReader(["127.0.0.1", "10.0.0.0/8"]);
  const hop = fc.oneof(fc.ipV4(), fc.ipV6(), fc.string(), fc.constantFrom("unknown", "10.1.1.1", "127.0.0.1", "", "[", "1.2.3.4:x"));
  fc.assert(
    fc.property(fc.array(hop, { maxLength: 6 }), (written) => {
      expect(read(arriving("127.0.0.1", [...written, "203.0.113.9:51234", "10.1.2.3"].join(", ")))).toEqual({
        address: "203.0.113.9",
        isCertain: true,
      });
    }),
  );
});

test("a stranger cannot pretend to be forwarded", () => {
  expect(createAddressReader(["127.0.0.1"])(arriving("203.0.113.9", "198.51.100.1"))).toEqual({
    address: "203.0.113.9",
    isCertain: true,
  });
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
