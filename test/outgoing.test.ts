// @module-tag sqlite
import type { LookupAddress } from "node:dns";
import { createServer, type RequestListener } from "node:http";
import type { AddressInfo, Socket } from "node:net";
import { setTimeout as delay } from "node:timers/promises";
import { describe, expect, onTestFinished, test } from "vitest";
import { createOutgoing, OutgoingFailed, type OutgoingOptions } from "../src/outgoing.ts";
import { worded } from "../src/kit/say.ts";

/** A server on this machine that counts who connects. */
async function createListener(answer: RequestListener = (_request, response) => void response.end("ok"), host = "127.0.0.1") {
  const sockets = new Set<Socket>();
  const server = createServer({ keepAliveTimeout: 60_000 }, answer).on("connection", (socket) => sockets.add(socket));
  await new Promise<void>((resolve) => server.listen(0, host, resolve));
  onTestFinished(() => {
    server.closeAllConnections();
    server.close();
  });
  return { sockets, port: (server.address() as AddressInfo).port };
}

/** What names stand for, as a test says; the last answer stays. */
function namesOf(...answers: readonly (readonly string[])[]) {
  const left = [...answers];
  const asked: string[] = [];
  const lookup = (host: string, _options: unknown, done: (error: Error | null, found: LookupAddress[]) => void): void => {
    asked.push(host);
    const found = (left.length > 1 ? left.shift() : left[0]) ?? [];
    done(
      null,
      found.map((address) => ({ address, family: address.includes(":") ? 6 : 4 })),
    );
  };
  return { asked, lookup: lookup as unknown as NonNullable<OutgoingOptions["lookup"]> };
}

function create(options: Partial<OutgoingOptions> = {}) {
  const outgoing = createOutgoing({ allowed: [], stopping: new AbortController().signal, timeoutMs: 5000, ...options });
  onTestFinished(() => outgoing.close());
  return outgoing;
}
const post = (outgoing: ReturnType<typeof create>, address: string) => outgoing.post(address, { body: "{}", headers: {}, maxBytes: 1000 });

/** What is said of why nothing was sent. */
const refusalOf = (asked: Promise<unknown>): Promise<string> =>
  asked.then(
    () => "",
    (error: unknown) => (error instanceof OutgoingFailed ? worded(error.message) : String(error)),
  );

const inside = "private network";
/** `:port` is the port of the listener. A name stands for the addresses behind it. */
const tricks: readonly (readonly [what: string, address: string, because: string, ...standsFor: string[]])[] = [
  ["this machine", "https://127.0.0.1:port/", inside],
  ["this machine by plain http", "http://127.0.0.1:port/", inside],
  ["another address of this machine", "https://127.255.255.254:port/", inside],
  ["a short form of IPv4", "https://127.1:port/", inside],
  ["IPv4 as one number", "https://2130706433:port/", inside],
  ["IPv4 in octal", "https://0177.0.0.1:port/", inside],
  ["IPv4 in hexadecimal", "https://0x7f.0.0.1:port/", inside],
  ["IPv4 as one hexadecimal number", "https://0x7f000001:port/", inside],
  ["IPv4 of full-width digits", "https://１２７.0.0.1:port/", inside],
  ["IPv4 with enclosed digits", "https://①②⑦.0.0.1:port/", inside],
  ["IPv4 with a dot at its end", "https://127.0.0.1.:port/", inside],
  ["no address at all", "https://0.0.0.0:port/", inside],
  ["nothing but a zero", "https://0:port/", inside],
  ["everybody", "https://255.255.255.255:port/", inside],
  ["10/8", "https://10.0.0.1:port/", inside],
  ["172.16/12", "https://172.31.255.255:port/", inside],
  ["192.168/16", "https://192.168.0.1:port/", inside],
  ["shared space of providers", "https://100.64.0.1:port/", inside],
  ["benchmarks", "https://198.18.0.1:port/", inside],
  ["multicast", "https://224.0.0.1:port/", inside],
  ["the metadata of a cloud", "http://169.254.169.254/latest/meta-data/", inside],
  ["the metadata of a cloud as a number", "https://2852039166/", inside],
  ["the metadata of a cloud by name", "https://metadata.google.internal/", inside, "169.254.169.254"],
  ["the metadata of a cloud over IPv6", "https://[fd00:ec2::254]/", inside],
  ["IPv6 of this machine", "https://[::1]:port/", inside],
  ["IPv6 of no address", "https://[::]:port/", inside],
  ["IPv4 mapped into IPv6", "https://[::ffff:127.0.0.1]:port/", inside],
  ["IPv4 mapped into IPv6, in hexadecimal", "https://[::ffff:7f00:1]:port/", inside],
  ["IPv4 compatible with IPv6", "https://[::127.0.0.1]:port/", inside],
  ["IPv4 behind NAT64", "https://[64:ff9b::7f00:1]:port/", inside],
  ["IPv4 behind a local NAT64", "https://[64:ff9b:1::7f00:1]:port/", inside],
  ["IPv4 in 6to4", "https://[2002:7f00:1::]:port/", inside],
  ["IPv4 in Teredo", "https://[2001:0:7f00:1::]:port/", inside],
  ["a unique local address", "https://[fc00::1]:port/", inside],
  ["a link-local address", "https://[fe80::1]:port/", inside],
  ["a link-local address with its zone", "https://[fe80::1%25lo]:port/", "Invalid URL"],
  ["localhost", "https://localhost:port/", inside, "127.0.0.1", "::1"],
  ["localhost with a dot", "https://localhost.:port/", inside, "127.0.0.1"],
  ["a name for this machine", "https://local.example:port/", inside, "127.0.0.1"],
  ["a name for this machine over IPv6", "https://local.example:port/", inside, "::1"],
  ["a name for IPv4 mapped into IPv6", "https://local.example:port/", inside, "::ffff:127.0.0.1"],
  ["a name for the internet and this machine", "https://both.example:port/", inside, "1.1.1.1", "127.0.0.1"],
  ["plain http to the internet", "http://one.example:port/", "has to begin with https", "1.1.1.1"],
  ["a user before the host", "https://one.example@127.0.0.1:port/", "Leave names, passwords"],
  ["a password before the host", "https://a:b@one.example:port/", "Leave names, passwords", "127.0.0.1"],
  ["the port of mail", "https://one.example:25/", "has to be 443", "127.0.0.1"],
  ["the port of a shell", "https://127.0.0.1:22/", "has to be 443"],
  ["another protocol", "ftp://127.0.0.1:port/", "has to begin with https"],
  ["a file", "file:///etc/passwd", "has to begin with https"],
];

describe("an address that people name", () => {
  test.each(tricks)("is refused, and nothing connected, for %s", async (_what, address, because, ...standsFor) => {
    const { sockets, port } = await createListener();
    const outgoing = create({ lookup: namesOf(standsFor).lookup });
    expect(await refusalOf(post(outgoing, address.replace(":port", `:${port.toString()}`)))).toContain(because);
    expect(sockets.size).toBe(0);
  });

  test("is connected to where it was checked: what its name stands for afterwards does not count", async () => {
    const here = await createListener();
    const names = namesOf(["127.0.0.1"], ["127.0.0.2"]);
    const outgoing = create({ allowed: ["127.0.0.1"], lookup: names.lookup });
    const address = `http://moving.example:${here.port.toString()}/`;
    expect(await post(outgoing, address)).toMatchObject({ status: 200 });
    // One look-up for one connection: nothing lies between check and use.
    expect(names.asked).toHaveLength(1);
    expect(await refusalOf(post(outgoing, address))).toContain(inside);
    expect([names.asked.length, here.sockets.size]).toEqual([2, 1]);
  });

  test("does not lead on: a redirect is an answer like any other", async () => {
    const inner = await createListener();
    const location = `http://127.0.0.1:${inner.port.toString()}/`;
    const outer = await createListener((_request, response) => void response.writeHead(307, { location }).end());
    const outgoing = create({ allowed: ["127.0.0.1"] });
    expect(await post(outgoing, `http://127.0.0.1:${outer.port.toString()}/`)).toMatchObject({ status: 307 });
    expect(inner.sockets.size).toBe(0);
  });

  test("has a limit in all, also where the answer drips or never comes, and ends with the service", async () => {
    const slow = await createListener((_request, response) => {
      response.writeHead(200);
      const timer = setInterval(() => response.write("."), 20);
      response.on("close", () => clearInterval(timer));
    });
    const silent = await createListener(() => undefined);
    const addressOf = ({ port }: { port: number }) => `http://127.0.0.1:${port.toString()}/`;
    const outgoing = create({ allowed: ["127.0.0.1"], timeoutMs: 200 });
    for (const one of [slow, silent]) expect(await refusalOf(post(outgoing, addressOf(one)))).toContain("did not answer in time");
    const stopping = new AbortController();
    const asked = post(create({ allowed: ["127.0.0.1"], stopping: stopping.signal, timeoutMs: 60_000 }), addressOf(silent));
    setTimeout(() => stopping.abort(), 50);
    await expect(asked).rejects.toBeInstanceOf(OutgoingFailed);
  });

  test("is read as far as was said: a longer answer to what was sent still counts, one that was asked for does not", async () => {
    const { port } = await createListener((_request, response) => void response.end("x".repeat(200_000)));
    const outgoing = create({ allowed: ["127.0.0.1"] });
    const address = `http://127.0.0.1:${port.toString()}/`;
    expect(await post(outgoing, address)).toMatchObject({ status: 200 });
    expect(await refusalOf(outgoing.get(address, { maxBytes: 1000 }))).toContain("too long");
  });
});

test("connections are kept where that is wanted, and one that was closed meanwhile is opened again without a failure", async () => {
  const { sockets, port } = await createListener();
  const outgoing = create({ allowed: ["127.0.0.1"], connections: { kept: 1, all: 4 } });
  const address = `http://127.0.0.1:${port.toString()}/`;
  for (let count = 0; count < 3; count += 1) expect(await post(outgoing, address)).toMatchObject({ status: 200 });
  expect(sockets.size).toBe(1);
  for (const socket of sockets) socket.resetAndDestroy();
  expect(await post(outgoing, address)).toMatchObject({ status: 200 });
  await delay(10);
  expect(sockets.size).toBe(2);
});
