// @module-tag sqlite
// @module-tag slow
import fc from "fast-check";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { seedOf, sizeOf } from "../support/size.ts";
import type { Answer, World } from "../support/world.ts";
import { documentedRoutes } from "./document.ts";
import { createWildClient, shown } from "./fuzz/client.ts";
import { createRecords, type Records } from "./fuzz/records.ts";
import { requestsOf, type WildRequest } from "./fuzz/requests.ts";
import { judgeOf, type Judge } from "./judge.ts";
import { shareWorld } from "./world.ts";

/** How many requests are made. */
const all = sizeOf({ quick: 400, all: 2000, long: 40_000 });
const seed = seedOf(1);
/** Requests end what is there: after so many a world is made anew. One round is repeated with its `SEED=` and `RUNS=2000`. */
const perWorld = 2000;
const atOnce = 16;
/** Of a fault that many requests meet, so many are enough. */
const maxShown = 20;
const rounds = Array.from({ length: Math.ceil(all / perWorld) }, (_, index) => ({
  start: seed + index * perWorld,
  count: Math.min(perWorld, all - index * perWorld),
}));

describe.each(rounds)("$count generated requests (SEED=$start)", ({ count, start }) => {
  const logged: string[] = [];
  const unhandled: unknown[] = [];
  const note = (reason: unknown) => void unhandled.push(reason);
  // In every other world grave changes wait for a word in Discord.
  const env = Math.floor(start / perWorld) % 2 === 0 ? {} : { CONFIRM_IN_DISCORD: "permissions,erasure" };
  const shared = shareWorld({ env: { ...env, LOG_LEVEL: "error" }, log: (line) => void logged.push(line) });
  const client = createWildClient(atOnce);
  const seen = new Map<number, number>();
  let records: Records;
  let judge: Judge;

  beforeAll(async () => {
    process.on("unhandledRejection", note);
    records = await createRecords(shared.world);
    judge = judgeOf(shared.world.app.http.document());
  });
  afterAll(() => {
    client.close();
    process.off("unhandledRejection", note);
  });

  /** Ask one of them. @returns what is wrong with the answer */
  async function ask(request: WildRequest): Promise<string[]> {
    const { template, method, path } = request;
    const answer = await client.send(shared.world.url, request);
    const { status, headers, body } = answer;
    seen.set(status, (seen.get(status) ?? 0) + 1);
    if (status < 300 && typeof body === "object") records.learn({ status, template, path }, body);
    // Nothing here is overloaded, out of date or switched off: none of them may fail.
    if (status >= 500) return [`answered ${status.toString()}: ${JSON.stringify(body)}`];
    if (status >= 400 && !/^(application\/problem\+json|text\/html)/.test(headers.get("content-type") ?? ""))
      return ["a refusal that says nothing"];
    return isJudged(request, answer) ? judge.check({ method, path }, answer) : [];
  }

  test("are answered or refused, and nothing breaks", { timeout: 60_000 + count * 100 }, async () => {
    const { world } = shared;
    const keys = [world.key, ...(await lesserKeys(world, records))];
    const wild = documentedRoutes.map((route) => requestsOf(route, records, keys));
    const faults: object[] = [];
    for (let done = 0; done < count && faults.length < maxShown; done += atOnce) {
      const numbers = Array.from({ length: Math.min(atOnce, count - done) }, (_, index) => done + index);
      const batch = numbers.flatMap((number) => fc.sample(wild[number % wild.length]!, { seed: start + number, numRuns: 1 }));
      const asked = await Promise.all(batch.map(async (request) => ({ request, problems: await ask(request).catch(String) })));
      for (const { request, problems } of asked) if (problems.length > 0) faults.push({ problems, request: shown(request) });
    }
    expect(faults, logged.join("").slice(0, 5000)).toEqual([]);
    console.info(`${count.toString()} requests (SEED=${start.toString()}):`, Object.fromEntries(seen));
    expect((await world.get("/livez", { key: null })).status).toBe(200);
    expect((await world.get("/servers", { actor: records.owner })).status).toBe(200);
    expect([unhandled, logged]).toEqual([[], []]);
    expect([...seen.keys()]).toEqual(expect.arrayContaining([200, 201, 400, 401, 403, 404, 422]));
  });
});

/** Keys that may do less than everything, or nothing. */
async function lesserKeys(world: World, { owner }: Records): Promise<string[]> {
  const input = { name: "ended", scopes: ["*"], delegation: "trusted" };
  const { data: ended } = (await world.post("/keys", input, { actor: owner })).body;
  await world.delete(`/keys/${ended.id}`, undefined, { actor: owner });
  const [unnamed, narrow] = [await world.makeKey(["*"], "none"), await world.makeKey(["cases.*", "audit.read"])];
  return [unnamed, narrow, ended.key, "prv_live_aaaaaaaaaaaa_b"];
}

/** Whether an answer is one of those that the document describes, to an address that the judge reads as the service does. */
function isJudged({ path }: WildRequest, { status, body }: Answer): boolean {
  // A file and an export may be empty.
  if (typeof body !== "object") return body !== "";
  // The parser refuses what it cannot read before that belongs to any route.
  return status < 400 ? !tidied.test(path) && isDecodable(path) : body.instance !== "";
}

/** Steps that a URL does not keep as they are. */
const tidied = /\\|\/(\.|%2e){1,2}(?=[/?#]|$)/i;

function isDecodable(path: string): boolean {
  try {
    return decodeURIComponent(path) !== "";
  } catch {
    return false;
  }
}
