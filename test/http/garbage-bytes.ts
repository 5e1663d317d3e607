import fc from "fast-check";
import { staffId } from "./support.ts";

const key = "Authorization: Bearer key-all\r\n";
const body = JSON.stringify({ owner_id: staffId, name: "one", tags: ["a"] });
const seeds = [
  `GET /things/${staffId} HTTP/1.1\r\nHost: a\r\n${key}If-None-Match: "v7"\r\n\r\n`,
  `GET /things?limit=5&status=active&tag=a HTTP/1.1\r\nHost: a\r\n${key}Accept-Encoding: gzip\r\n\r\n`,
  `HEAD /things?limit=5 HTTP/1.1\r\nHost: a\r\n${key}\r\n`,
  `POST /things HTTP/1.1\r\nHost: a\r\n${key}Idempotency-Key: 12345678\r\nX-Acting-User: ${staffId}\r\nContent-Type: application/json\r\nContent-Length: ${body.length}\r\n\r\n${body}`,
  `PATCH /things/${staffId} HTTP/1.1\r\nHost: a\r\n${key}If-Match: "v7"\r\nContent-Type: application/json\r\nTransfer-Encoding: chunked\r\n\r\n2\r\n{}\r\n0\r\n\r\n`,
];

const methods = ["GET", "GET", "HEAD", "POST", "PATCH", "PUT", "DELETE", "OPTIONS", "TRACE", "CONNECT", "PROPFIND", "get", "BREW", ""];
const targets = [
  "/things",
  `/things/${staffId}`,
  "/things/%00",
  "/things/%zz",
  "/things/../../etc/passwd",
  "/things/%2e%2e/%2f",
  "/./things",
  "//things",
  "//evil.example/things",
  "///",
  "/\\evil.example\\things",
  "\\things",
  "http://evil.example/things",
  "https://a:b@evil.example:99999/things",
  "http://[::1/things",
  "http://",
  "ftp://evil.example/things",
  "evil.example:443",
  "things",
  "*",
  "?limit=5",
  "/things?limit=5#part",
  "/things?limit=%",
  `/things?cursor=${"x".repeat(9000)}`,
  `/things?${"tag=a&".repeat(2000)}`,
  `/${"a/".repeat(5000)}`,
  "/problems/rate_limited",
  "/openapi.json",
];
const hosts = [
  "a",
  "a b",
  "[::1",
  "[::1]:99999",
  "1.2.3.4.5",
  "xn--a",
  "",
  "a/b",
  "a\\b",
  "a@b",
  "%00",
  "a:b:c",
  "\x80\xff",
  "*",
  ".",
  "a".repeat(300),
];
const lines = [
  "Content-Length: 5\r\n",
  "Content-Length: 2\r\nContent-Length: 2\r\n",
  "Content-Length: 2, 2\r\n",
  "Content-Length: -1\r\n",
  "Content-Length: +2\r\n",
  "Content-Length: 0x2\r\n",
  "Transfer-Encoding: chunked\r\n",
  "Transfer-Encoding: gzip, chunked\r\n",
  "Transfer-Encoding: xchunked\r\n",
  "Content-Type: application/json\r\n",
  "Content-Type: multipart/form-data\r\n",
  "Content-Encoding: gzip\r\n",
  "Expect: 100-continue\r\n",
  "Expect: a miracle\r\n",
  "Connection: upgrade\r\nUpgrade: websocket\r\n",
  "Connection: close\r\n",
  "Connection: Host, Authorization\r\n",
  "Accept-Encoding: gzip\r\n",
  "Accept: text/html\r\n",
  "X-Acting-User: me\r\n",
  "X-Forwarded-For: ,,[::1\r\n",
  " folded\r\n",
  "Na me: a\r\n",
  ": a\r\n",
  "No colon\r\n",
  `X-Long: ${"x".repeat(17_000)}\r\n`,
];
const bodies = [
  "",
  "{}",
  body,
  "2\r\n{}\r\n0\r\n\r\n",
  "-2\r\n{}\r\n",
  "zz\r\n{}\r\n",
  "2;a=b\r\n{}\r\n0\r\nX-Late: a\r\n\r\n",
  "ffffffffffffffff1\r\n",
];

/** The usual part of a request, and now and then one of the others. */
const mostly = <T>(usual: T, others: fc.Arbitrary<T>): fc.Arbitrary<T> =>
  fc.oneof({ weight: 9, arbitrary: fc.constant(usual) }, { weight: 2, arbitrary: others });

/** A request put together from lines that are each right or wrong by themselves. */
const assembled = fc
  .record({
    start: fc.tuple(
      mostly("GET", fc.constantFrom(...methods)),
      fc.constantFrom(...targets),
      mostly("HTTP/1.1", fc.constantFrom("HTTP/1.0", "HTTP/2.0", "HTTP/9", "http/1.1", "")),
    ),
    hosts: mostly(["a"], fc.array(fc.constantFrom(...hosts), { maxLength: 2 })),
    key: mostly(key, fc.constantFrom("", "Authorization: Bearer key\r\n", "Authorization: Bearer \xff\r\n")),
    lines: mostly([], fc.array(fc.constantFrom(...lines), { maxLength: 3 })),
    body: mostly("", fc.constantFrom(...bodies)),
  })
  .map(({ start, hosts, key, lines, body }) => {
    const hostLines = hosts.map((host) => `Host: ${host}\r\n`);
    return `${start.join(" ")}\r\n${[...hostLines, key, ...lines].join("")}\r\n${body}`;
  });

const snippets = [
  "\r\n",
  "\n",
  "\0",
  "%00",
  "%",
  "\\",
  "//",
  "\x80\xff",
  "Host: b\r\n",
  "Transfer-Encoding: chunked\r\n",
  "Content-Length: 99999999999999999999\r\n",
  "../",
  "[".repeat(40),
  '"__proto__":{},',
  "\u00e9".repeat(9),
];

/** A request with a few bytes changed, taken out, doubled or put in. */
const mutated = fc
  .tuple(
    fc.oneof(fc.constantFrom(...seeds), assembled),
    fc.array(
      fc.tuple(
        fc.nat(),
        fc.nat({ max: 40 }),
        fc.oneof(fc.constantFrom(...snippets), fc.string({ maxLength: 6, unit: "binary-ascii" }), fc.constant("")),
      ),
      { minLength: 1, maxLength: 4 },
    ),
  )
  .map(([seed, edits]) =>
    edits.reduce((text, [at, cut, put]) => {
      const start = at % (text.length + 1);
      return text.slice(0, start) + put + text.slice(start + (cut > 20 ? 0 : cut));
    }, seed),
  );

/** What is written into one connection: a request, or several without waiting for answers. */
export const written = fc.oneof(
  { weight: 3, arbitrary: mutated },
  { weight: 3, arbitrary: assembled },
  fc.array(fc.oneof(fc.constantFrom(...seeds), assembled, mutated), { minLength: 2, maxLength: 3 }).map((parts) => parts.join("")),
);
