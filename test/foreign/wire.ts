import fc from "fast-check";
import { createServer, type AddressInfo, type Socket } from "node:net";
import { onTestFinished } from "vitest";

/** What a server sends, and what it does then. */
export interface Wire {
  bytes: Buffer;
  after: "end" | "reset" | "hang" | "drip" | "flood";
}

/** A server that sends bytes as they stand. It ends with the test. */
export async function createWire(answer: (head: string, place: number) => Wire) {
  const held = new Set<Socket>();
  const timers = new Set<NodeJS.Timeout>();
  let asked = 0;
  const server = createServer((socket) => {
    held.add(socket);
    let head = "";
    socket.on("error", () => undefined).on("close", () => held.delete(socket));
    socket.on("data", (part) => {
      head += part.toString("latin1");
      if (!head.includes("\r\n\r\n")) return;
      const { bytes, after } = answer(head, (asked += 1));
      head = "";
      send(socket, bytes, after);
    });
  });

  function send(socket: Socket, bytes: Buffer, after: Wire["after"]): void {
    if (after === "end") return void socket.end(bytes);
    if (after === "drip") {
      let at = 0;
      const timer = setInterval(() => {
        if (socket.destroyed) clearInterval(timer);
        else socket.write(bytes.subarray(at, (at += 1)).length > 0 ? bytes.subarray(at - 1, at) : " ");
      }, 20);
      return void timers.add(timer);
    }
    socket.write(bytes);
    if (after === "reset") socket.resetAndDestroy();
    if (after === "flood") flood(socket);
  }

  /** As much as is taken, up to what nobody should read. */
  function flood(socket: Socket): void {
    const block = Buffer.alloc(256 * 1024, "a");
    let left = 200;
    const more = (): void => {
      while (left > 0 && !socket.destroyed) {
        left -= 1;
        if (!socket.write(block)) return void socket.once("drain", more);
      }
    };
    more();
  }

  /** Ends what is still open. */
  function release(): void {
    for (const timer of timers) clearInterval(timer);
    timers.clear();
    for (const socket of held) socket.destroy();
  }
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  onTestFinished(() => {
    release();
    server.close();
  });
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port.toString()}`,
    release,
    /** How many requests are open. */
    open: () => held.size,
    close(): void {
      release();
      server.close();
    },
  };
}

const length = (bytes: Buffer): string => `Content-Length: ${bytes.length.toString()}\r\n`;
const message = (head: string, body: Buffer, end = "\r\n"): Buffer => Buffer.concat([Buffer.from(head + end, "latin1"), body]);
const chunked = (body: Buffer, size = body.length.toString(16)): Buffer =>
  Buffer.concat([Buffer.from(`${size}\r\n`), body, Buffer.from("\r\n0\r\n\r\n")]);

/** Heads that are right, or wrong, or say something odd, each with what is sent after it. */
const framings: readonly ((body: Buffer) => Buffer)[] = [
  (body) => message(`HTTP/1.1 200 OK\r\nContent-Type: image/png\r\n${length(body)}`, body),
  (body) => message("HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n", chunked(body)),
  (body) => message("HTTP/1.0 200 OK\r\n", body),
  (body) => message(`HTTP/1.1 200 OK\r\nContent-Encoding: gzip\r\n${length(body)}`, body),
  (body) => message(`HTTP/1.1 200 OK\r\nContent-Type: text/csv; charset=utf-7\r\nX-A: ${"x".repeat(4000)}\r\n${length(body)}`, body),
  // Cut, too long, contradictory, or no HTTP at all.
  (body) => message(`HTTP/1.1 200 OK\r\nContent-Length: ${(body.length + 9).toString()}\r\n`, body),
  (body) => message("HTTP/1.1 200 OK\r\nContent-Length: 1\r\n", body),
  (body) => message("HTTP/1.1 200 OK\r\nContent-Length: 99999999999999999999\r\n", body),
  (body) => message("HTTP/1.1 200 OK\r\nContent-Length: -1\r\n", body),
  (body) => message("HTTP/1.1 200 OK\r\nContent-Length: 1\r\nContent-Length: 2\r\n", body),
  (body) => message(`HTTP/1.1 200 OK\r\n${length(body)}Transfer-Encoding: chunked\r\n`, chunked(body)),
  (body) => message("HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n", chunked(body, "ffffffffffffffff")),
  (body) => message("HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n", chunked(body, "zz")),
  (body) => message(`HTTP/1.1 200 OK\r\nX-A: ${"x".repeat(100_000)}\r\n`, body),
  (body) => message(`HTTP/1.1 200 OK\r\n${"X-A: 1\r\n".repeat(5000)}`, body),
  (body) => message(`HTTP/1.1 200 OK\r\nX-A: a\0b\r\n${length(body)}`, body),
  (body) => message(`HTTP/1.1 200 OK\r\nX A: 1\r\n${length(body)}`, body),
  (body) => message("HTTP/1.1 200 OK\r\n", body, ""),
  (body) => message("HTTP/1.1 \ud83d 200\r\n", body),
  (body) => message("HTTP/9.9 200 OK\r\n", body),
  () => Buffer.from("SSH-2.0-OpenSSH_9.9\r\n\r\n"),
  () => Buffer.alloc(0),
  (body) => body,
];

const statuses = [
  "100",
  "101",
  "103",
  "199",
  "201",
  "204",
  "206",
  "226",
  "299",
  "304",
  "400",
  "401",
  "403",
  "404",
  "409",
  "410",
  "418",
  "429",
  "500",
  "503",
  "599",
  "000",
  "999",
  "1000",
  "-1",
  "abc",
  "",
];
const odd = [
  "0",
  "-1",
  "5",
  "86400",
  "1e9",
  "99999999999999999999",
  "Infinity",
  "NaN",
  "",
  " ",
  "Thu, 01 Jan 1970 00:00:00 GMT",
  "Fri, 31 Dec 9999 23:59:59 GMT",
  "2026-99-99",
  "x".repeat(4000),
  "1\r\nRetry-After: 2",
];
const places = ["/", "http://127.0.0.1:1/", "https://127.0.0.1/", "file:///etc/passwd", "//", "\0", "http://[::1]/", "x".repeat(4000)];

/** @returns answers to a request, made of their body: in a right frame or, now and then, in another one; and what comes after it */
export const wires: fc.Arbitrary<(body: Buffer) => Wire> = fc.tuple(framesOf(), afterwards()).map(([frame, after]) => (body) => ({
  bytes: frame(body),
  after,
}));

function framesOf(): fc.Arbitrary<(body: Buffer) => Buffer> {
  const plain = (body: Buffer): Buffer => message(`HTTP/1.1 200 OK\r\nContent-Type: application/json\r\n${length(body)}`, body);
  const others = fc
    .tuple(fc.constantFrom(...statuses), fc.constantFrom(...odd), fc.constantFrom(...places), fc.boolean())
    .map(([status, later, place, isWhole]) => (body: Buffer): Buffer => {
      const fields = isWhole ? length(body) : "Connection: close\r\n";
      return message(`HTTP/1.1 ${status} Said\r\nRetry-After: ${later}\r\nLocation: ${place}\r\n${fields}`, body);
    });
  return fc.oneof(
    { weight: 6, arbitrary: fc.constant(plain) },
    { weight: 3, arbitrary: fc.constantFrom(...framings) },
    { weight: 2, arbitrary: others },
  );
}

function afterwards(): fc.Arbitrary<Wire["after"]> {
  return fc.oneof(
    { weight: 12, arbitrary: fc.constant("end" as const) },
    { weight: 3, arbitrary: fc.constantFrom("reset", "hang", "drip", "flood") },
  );
}
