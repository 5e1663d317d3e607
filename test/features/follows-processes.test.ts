// @module-tag sqlite
// @module-tag slow
import { spawn, type ChildProcess } from "node:child_process";
import { randomBytes } from "node:crypto";
import { once } from "node:events";
import { dirname, join } from "node:path";
import { expect, onTestFinished, test } from "vitest";
import { installation } from "../cli/installation.ts";
import { freePort } from "../support/free-port.ts";
import { createWorld, type Level } from "../support/world.ts";
import { createTeller } from "./follows-ground.ts";
import { within } from "./stances-community.ts";
import { freshId } from "./workflows-ground.ts";

/** The service as a process of its own, which can be killed and started again; set up in this process first. */
async function createProcess(level: Level, more: Record<string, string> = {}) {
  const port = (await freePort()).toString();
  const own = {
    PORT: port,
    SECRET_KEY: randomBytes(32).toString("base64"),
    ENCRYPTION_KEYS: `a:${randomBytes(32).toString("base64")}`,
    ...more,
  };
  const world = await createWorld({ env: own });
  const actor = await world.staff(level);
  const reading = await world.makeKey(["blacklist.read"], "none");
  await world.app.stop();
  const env = {
    PATH: process.env["PATH"],
    ...world.sandbox.env(),
    ...own,
    GUILD_IDS: world.guild.id,
    DATABASE_URL: world.databaseUrl,
    DATA_DIR: world.dataDir,
    LOG_LEVEL: "warn",
  };
  const url = `http://127.0.0.1:${port}`;
  const main = join(dirname((await installation()).program), "..", "dist", "main.js");
  let child: ChildProcess | undefined;

  async function start(): Promise<void> {
    child = spawn(process.execPath, [main], { env, stdio: ["ignore", "ignore", "inherit"] });
    const isReady = () =>
      fetch(`${url}/readyz`).then(
        ({ status }) => status === 200,
        () => false,
      );
    await within(isReady, 60_000);
  }

  async function kill(signal: NodeJS.Signals): Promise<void> {
    const ended = child === undefined || child.exitCode !== null ? Promise.resolve() : once(child, "exit");
    child?.kill(signal);
    await ended;
  }

  async function ask(method: string, path: string, body?: object) {
    const headers = { authorization: `Bearer ${world.key}`, "x-acting-user": actor.id, "content-type": "application/json" };
    const answer = await fetch(url + path, { method, headers, ...(body !== undefined && { body: JSON.stringify(body) }) });
    return { status: answer.status, body: (await answer.json()) as any };
  }

  onTestFinished(() => kill("SIGKILL"));
  await start();
  return {
    url,
    reading,
    ask,
    kill,
    start,
    async done(method: string, path: string, body?: object) {
      const answer = await ask(method, path, body);
      expect(answer.status, JSON.stringify(answer.body)).toBeLessThan(300);
      return answer.body.data;
    },
    async restart(signal: NodeJS.Signals = "SIGKILL"): Promise<void> {
      await kill(signal);
      await start();
    },
  };
}

test("of two processes one follows the other: what is created, changed, taken back and purged arrives in order, whoever is killed in between", async () => {
  const [origin, follower] = [await createProcess("owner"), await createProcess("admin", { LISTS_FROM: "127.0.0.1" })];
  const { id } = await follower.done("POST", "/lists", { name: "Harbour Watch", address: origin.url, key: origin.reading });
  const list = (subjectId: string) =>
    origin.done("POST", "/blacklist", { kind: "user", subject_id: subjectId, category: "raid", severity: "high" });
  const said = async (): Promise<Record<string, string>> => {
    const rows: { subject_id: string; severity: string }[] = [];
    for (let path = `/lists/${id as string}/entries?limit=200`; path !== "";) {
      const { body } = await follower.ask("GET", path);
      rows.push(...body.data);
      path = body.page.next_cursor === null ? "" : `/lists/${id as string}/entries?limit=200&cursor=${body.page.next_cursor as string}`;
    }
    return Object.fromEntries(rows.map((row) => [row.subject_id, row.severity]));
  };
  const refresh = async () => {
    const found = await follower.done("POST", `/lists/${id as string}/refresh`);
    expect(found).toMatchObject({ state: "following", problem: null });
    return await said();
  };
  const [ann, bob, eve] = [freshId(), freshId(), freshId()];
  const [first, second] = [await list(ann), await list(bob)];
  expect(await refresh()).toEqual({ [ann]: "high", [bob]: "high" });

  await origin.restart();
  await origin.done("PATCH", `/blacklist/${second.number as string}`, { severity: "critical" });
  await list(eve);
  await follower.restart();
  expect(await refresh()).toEqual({ [ann]: "high", [bob]: "critical", [eve]: "high" });

  await origin.done("DELETE", `/blacklist/${first.number as string}`, { reason: "It was somebody else." });
  await follower.restart("SIGTERM");
  expect(await refresh()).toEqual({ [bob]: "critical", [eve]: "high" });
  await origin.done("POST", `/blacklist/${first.number as string}/purge`, { reason: "Asked for by the person." });
  await origin.restart();
  expect(await refresh()).toEqual({ [bob]: "critical", [eve]: "high" });

  // Many entries, and the follower dies while it reads them.
  const many = Array.from({ length: 1200 }, freshId);
  const records = many.map((subject_id) => ({ kind: "user", subject_id, category: "scam", severity: "low" }));
  await origin.done("POST", "/blacklist/import", { records });
  const wanted = { [bob]: "critical", [eve]: "high", ...Object.fromEntries(many.map((one) => [one, "low"])) };
  for (const ms of [20, 80, 200]) {
    const dying = follower.ask("POST", `/lists/${id as string}/refresh`).catch(() => undefined);
    await new Promise((resolve) => setTimeout(resolve, ms));
    await follower.restart();
    await dying;
  }
  await within(async () => Object.keys(await refresh()).length === many.length + 2, 60_000);
  expect(await said()).toEqual(wanted);

  // While the origin is away nothing is taken for taken back, and the list goes on afterwards.
  await origin.kill("SIGKILL");
  expect((await follower.ask("POST", `/lists/${id as string}/refresh`)).body.data).toMatchObject({ state: "following", failures: 1 });
  expect(await said()).toEqual(wanted);
  await origin.start();
  expect(await refresh()).toEqual(wanted);
}, 600_000);

type Page = { data: { record_id: string; revision: number }[] };
const forgeries: readonly (readonly [what: string, forge: (page: Page) => Page["data"], problem: RegExp])[] = [
  ["reordered", ({ data }) => data.toReversed(), /out of order/],
  ["shortened", ({ data }) => data.slice(0, -2), /tells otherwise/],
  ["about another record", ({ data }) => data.map((entry) => ({ ...entry, record_id: `x${entry.record_id}` })), /tells otherwise/],
  ["of another revision", ({ data }) => data.map((entry) => ({ ...entry, revision: entry.revision + 1 })), /tells otherwise/],
];

test("a feed that is forged or reordered between two processes is refused, also by the one that is started after a kill", async () => {
  const origin = await createProcess("owner");
  const follower = await createProcess("admin", { LISTS_FROM: "127.0.0.1" });
  let forge: ((page: Page) => Page["data"]) | undefined;
  const between = await createTeller(async ({ url, headers }) => {
    const answer = await fetch(origin.url + (url ?? ""), { headers: { authorization: headers.authorization ?? "" } });
    const page = (await answer.json()) as Page;
    return { status: answer.status, body: JSON.stringify(forge === undefined ? page : { ...page, data: forge(page) }) };
  });
  const list = () => origin.done("POST", "/blacklist", { kind: "user", subject_id: freshId(), category: "raid", severity: "high" });
  const { id } = await follower.done("POST", "/lists", { name: "Origin", address: between.url, key: origin.reading });
  const path = `/lists/${id as string}`;
  const said = () => follower.done("GET", `${path}/entries`);
  await list();
  await list();
  await follower.done("POST", `${path}/refresh`);
  for (const [what, how, problem] of forgeries) {
    const before = await said();
    await list();
    forge = how;
    const refused = await follower.done("POST", `${path}/refresh`);
    expect(refused, what).toMatchObject({ state: "stopped", problem: expect.stringMatching(problem) });
    if (what === "reordered") await follower.restart();
    expect(await said(), what).toEqual(before);
    expect((await follower.ask("POST", `${path}/refresh`)).body.code).toBe("invalid_transition");
    forge = undefined;
    await follower.done("POST", `${path}/reset`);
    expect(await follower.done("POST", `${path}/refresh`), what).toMatchObject({ state: "following", problem: null });
    expect(await said()).toHaveLength(before.length + 1);
  }
});
