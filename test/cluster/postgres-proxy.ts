import { type AddressInfo, connect, createServer, type Socket } from "node:net";

/**
 * What a connection of the server is for, by the name it gives itself: `lock` decides who leads, `listen` hears of changes, and everything
 * else is the pool.
 */
export type Purpose = "lock" | "listen" | "pool";
/** `open` passes everything on; `cut` ends what is there and refuses what comes; `silent` keeps connections open, and nothing arrives. */
export type State = "open" | "cut" | "silent";

interface Pair {
  purpose: Purpose;
  client: Socket;
  upstream: Socket;
}

const everything: readonly Purpose[] = ["lock", "listen", "pool"];

/** As the message of the protocol: a simple query, its length, and its text. */
const commit = Buffer.from("Q\0\0\0\x0bCOMMIT\0");

/** Stands between one server process and PostgreSQL, and takes the network away from it: all of it, or what serves one purpose. */
export async function createPostgresProxy(target: string) {
  let to = new URL(target);
  const states: Record<Purpose, State> = { lock: "open", listen: "open", pool: "open" };
  const pairs = new Set<Pair>();
  const opened = { lock: 0, listen: 0, pool: 0 };
  /** Ports from which this process is seen by PostgreSQL, as `inet_client_port()` tells them. */
  const ports = new Set<number>();
  /** Of how many commits one is lost, how many there were, and how many were lost. */
  const commits = { oneIn: Infinity, seen: 0, lost: 0 };

  /** The COMMIT reaches PostgreSQL and its answer nobody: this side of the connection breaks at once, and the other ends when all was read. */
  function loseAnswer({ client, upstream }: Pair): void {
    commits.lost += 1;
    client.removeAllListeners("close");
    upstream.removeAllListeners("data");
    upstream.resume();
    client.resetAndDestroy();
    upstream.end();
  }

  function setState(state: State, purposes: readonly Purpose[]): void {
    for (const purpose of purposes) states[purpose] = state;
    for (const pair of pairs) if (purposes.includes(pair.purpose)) apply(pair);
  }

  function apply({ purpose, client, upstream }: Pair): void {
    const state = states[purpose];
    for (const socket of [client, upstream]) {
      if (state === "cut") socket.resetAndDestroy();
      else if (state === "silent") socket.pause();
      else socket.resume();
    }
  }

  function join(client: Socket, first: Buffer): void {
    const purpose = purposeOf(first);
    if (states[purpose] === "cut") return void client.resetAndDestroy();
    opened[purpose] += 1;
    const upstream = connect(Number(to.port), to.hostname);
    const pair = { purpose, client, upstream };
    pairs.add(pair);
    upstream.once("connect", () => ports.add(upstream.localPort ?? 0));
    upstream.setNoDelay(true);
    upstream.write(first);
    for (const [from, other] of [
      [client, upstream],
      [upstream, client],
    ] as const) {
      from.on("data", (part: Buffer) => other.write(part));
      from.on("error", () => undefined);
      // Who is cut off hears nothing of the other side's end, either.
      from.on("close", () => {
        if (states[purpose] === "silent" && from === upstream) return;
        pairs.delete(pair);
        if (!other.destroyed) other.resetAndDestroy();
      });
    }
    client.on("data", (part: Buffer) => {
      if (purpose !== "pool" || !part.includes(commit)) return;
      commits.seen += 1;
      if (commits.seen % commits.oneIn === 0) loseAnswer(pair);
    });
    apply(pair);
  }

  const server = createServer((client) => {
    let begun = Buffer.alloc(0);
    client.setNoDelay(true);
    client.on("error", () => undefined);
    client.on("data", function begin(part: Buffer) {
      begun = Buffer.concat([begun, part]);
      if (begun.length < 4 || begun.length < begun.readInt32BE(0)) return;
      client.off("data", begin);
      join(client, begun);
    });
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  const { port } = server.address() as AddressInfo;

  return {
    /** The address of the same database, through here. */
    url: () => Object.assign(new URL(to), { hostname: "127.0.0.1", port: port.toString() }).href,
    ports,
    /** How many connections of each kind there have been. */
    opened,
    /** Break a connection behind one COMMIT in so many, before the answer; Infinity: behind none. */
    loseOneIn: (count: number) => void (commits.oneIn = count),
    /** How many commits were lost. */
    lost: () => commits.lost,
    cut: (purposes = everything) => setState("cut", purposes),
    /**
     * The network goes away without a word: what either side sends waits. PostgreSQL ends the sessions of who does not answer its probes of
     * the connection; here they end at once, and the other side does not hear of it.
     */
    split(purposes = everything): void {
      setState("silent", purposes);
      for (const { purpose, upstream } of pairs) if (purposes.includes(purpose)) upstream.resetAndDestroy();
    },
    heal(purposes = everything): void {
      setState("open", purposes);
      for (const { client, upstream } of pairs) if (upstream.destroyed) client.resetAndDestroy();
    },
    /** Whoever connects from now on reaches another server. */
    pointTo(url: string): void {
      to = new URL(url);
    },
    async close(): Promise<void> {
      const closed = new Promise((resolve) => server.close(resolve));
      for (const { client, upstream } of pairs) for (const socket of [client, upstream]) socket.destroy();
      await closed;
    },
  };
}
export type PostgresProxy = Awaited<ReturnType<typeof createPostgresProxy>>;

/** A start-up message has the version of the protocol, and then names and values that end with a zero. A cancel request has a key instead. */
function purposeOf(start: Buffer): Purpose {
  const said = start.subarray(8, start.readInt32BE(0)).toString().split("\0");
  const name = said[said.indexOf("application_name") + 1] ?? "";
  if (said.includes("application_name") && name.startsWith("provost lock")) return "lock";
  return said.includes("application_name") && name.startsWith("provost listen") ? "listen" : "pool";
}
