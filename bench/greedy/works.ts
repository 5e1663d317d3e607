import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { setTimeout as delay } from "node:timers/promises";
import { type Attack, type Cause, credentialsOf } from "./cause.ts";

/** What somebody who may do it has the service do, one after the other without a pause. Each is as large as the service takes it. */
export const works = {
  /** A file of 20,000 domains and 4 MiB for a list that is followed; a tenth of it is new each time. */
  "a list of domains": (cause) => repeat(listing(cause)),
  /** 5,000 new records in 4 MiB. */
  "an import": (cause) => repeat((turn) => post(cause, "/blacklist/import", records(turn))),
  /** Cases that are opened, 50 a second, and 20 web-hooks that are told of each: 1000 messages a second. */
  "web-hooks": (cause) => telling(cause),
} as const satisfies Readonly<Record<string, (cause: Cause) => Attack>>;
export type WorkName = keyof typeof works;

const range = (length: number): number[] => Array.from({ length }, (_, index) => index);
const entries = 20_000;
const recordsAtOnce = 5000;
const padding = "They sent a link that takes accounts over. ".repeat(16);
const hooks = 20;
const caseEveryMs = 20;
let lastId = 820_000_000_000_000_000n;

/** @throws Error what the service refuses, as nothing is measured then */
async function send(cause: Cause, method: string, path: string, body: string, type: string): Promise<{ id: string }> {
  const headers = { ...credentialsOf(cause), "X-Forwarded-For": cause.address, "Content-Type": type };
  const answer = await fetch(`http://127.0.0.1:${cause.port.toString()}${path}`, { method, headers, body });
  const text = await answer.text();
  if (!answer.ok) throw new Error(`${method} ${path}: ${answer.status.toString()} ${text.slice(0, 500)}`);
  return (JSON.parse(text) as { data: { id: string } }).data;
}

const post = async (cause: Cause, path: string, body: object) => await send(cause, "POST", path, JSON.stringify(body), "application/json");

function records(turn: number): object {
  const reason = `${turn.toString()}: ${padding}`;
  const one = () => ({ kind: "user", subject_id: (lastId += 1n).toString(), category: "scam", reason_public: reason });
  return { records: range(recordsAtOnce).map(one) };
}

function listing(cause: Cause): (turn: number) => Promise<unknown> {
  const list = post(cause, "/lists", { name: `Domains ${Date.now().toString()}`, kind: "file" });
  return async (turn) => {
    const name = (index: number): string =>
      index % 10 === 0 ? `free-gift-${index.toString()}-${turn.toString()}` : `gift-${index.toString()}`;
    const lines = range(entries).map((index) => `domain,${name(index)}.com,scam,high,"${padding.slice(0, 140)}"`);
    const text = ["kind,subject_id,category,severity,reason_public", ...lines, ""].join("\n");
    return await send(cause, "PUT", `/lists/${(await list).id}/file`, text, "text/csv");
  };
}

function telling(cause: Cause): Attack {
  const receiver = createServer((request, response) => void request.resume().on("end", () => response.writeHead(204).end()));
  const listening = new Promise<number>((resolve) =>
    receiver.listen(0, "127.0.0.1", () => resolve((receiver.address() as AddressInfo).port)),
  );
  const made = listening.then(async (port) => {
    const url = `http://127.0.0.1:${port.toString()}/`;
    const ids: string[] = [];
    for (const index of range(hooks)) {
      const { id } = await post(cause, "/webhooks", {
        name: `Hook ${index.toString()}`,
        url: `${url}${index.toString()}`,
        types: ["case.opened"],
      });
      ids.push(id);
    }
    return ids;
  });
  const attack = repeat(async (turn) => {
    await made;
    await post(cause, "/cases", { title: `Quarrel ${turn.toString()}`, subjects: [{ kind: "user", id: "123456789012345678" }] });
    await delay(caseEveryMs);
  });
  return {
    requests: attack.requests,
    async close() {
      await attack.close();
      for (const id of await made) await send(cause, "DELETE", `/webhooks/${id}`, "", "application/json");
      receiver.close();
      receiver.closeAllConnections();
    },
  };
}

/** Asks again as soon as the last answer is there. Whoever closes waits for it: the next measurement does not pay for this one. */
function repeat(ask: (turn: number) => Promise<unknown>): Attack {
  let asked = 0;
  const over = new AbortController();
  const run = async (): Promise<void> => {
    while (!over.signal.aborted) await ask((asked += 1));
  };
  const running = run();
  return {
    requests: () => asked,
    async close() {
      over.abort();
      await running;
    },
  };
}
