import { createServer } from "node:http";
import { beforeAll, expect, onTestFinished, test } from "vitest";
import { readInvite } from "../../src/discord/rest/plain-requests.ts";
import { systemCall } from "../../src/kernel/call.ts";
import { ProblemError } from "../../src/kernel/errors.ts";
import { createSandbox, type Sandbox } from "../../sandbox/index.ts";
import { freshId } from "../contract/document.ts";
import { call, createRegister } from "./servers-ground.ts";

const day = 86_400_000;
let sandbox: Sandbox;

beforeAll(async () => {
  sandbox = await createSandbox();
  return () => sandbox.stop();
});

const job = systemCall("job", "sweep");
const asked = () => sandbox.exchanges.filter(({ route }) => route === "/invites/{code}");
const guild = (name: string) => sandbox.createGuild({ name, withBot: false });

/** A register that asks the sandbox, with a clock that can be moved. */
async function createScene(read = readInvite(sandbox.env().DISCORD_API_BASE)) {
  const time = { offset: 0 };
  const { registry, database } = await createRegister({ clock: { now: () => new Date(Date.now() + time.offset) }, readInvite: read });
  const register = async (code: string | null, { id = freshId(), aliases = [] as string[] } = {}) => {
    await registry.create(call, { id, aliases, invite_code: code });
    return id;
  };
  return {
    time,
    registry,
    register,
    sweep: () => registry.sweep(job),
    inviteOf: async (id: string) => (await registry.get(call, id)).invite,
    statusesOf: async (ids: readonly string[]) => {
      const views = await Promise.all(ids.map((id) => registry.get(call, id)));
      return views.map(({ invite }) => invite?.status);
    },
    revisionOf: async (id: string) => (await registry.get(call, id)).revision,
    checks: (targetId: string) => database.read.auditEntry.count({ where: { targetId, action: "server.invite_checked" } }),
    events: () => database.read.outboxEvent.count({ where: { type: "server.changed" } }),
  };
}

test("invites are looked up once a day: valid, leading elsewhere or nowhere; only what changed is told", async () => {
  const scene = await createScene();
  const [quarry, other] = [guild("Quarry"), guild("Other")];
  const code = quarry.createInvite();
  const right = await scene.register(code, { id: quarry.id });
  const viaAlias = await scene.register(other.createInvite(), { aliases: [other.id] });
  const wrong = await scene.register(code);
  const dead = await scene.register("nowhere");
  const none = await scene.register(null);
  const all = [right, viaAlias, wrong, dead];
  const before = asked().length;
  expect(await scene.sweep()).toBe(4);
  expect(await scene.statusesOf(all)).toEqual(["valid", "valid", "other_server", "invalid"]);
  expect(await scene.inviteOf(none)).toBeNull();
  expect(asked().length - before).toBe(4);
  expect([await scene.checks(right), await scene.events(), await scene.revisionOf(right)]).toEqual([1, 9, 2]);

  expect(await scene.sweep()).toBe(0);
  expect(asked().length - before).toBe(4);
  scene.time.offset += day + 1000;
  quarry.revokeInvite(code);
  expect(await scene.sweep()).toBe(4);
  expect(await scene.statusesOf(all)).toEqual(["invalid", "valid", "invalid", "invalid"]);
  expect(await Promise.all(all.map(scene.checks))).toEqual([2, 1, 2, 1]);
  expect([await scene.events(), await scene.revisionOf(viaAlias)]).toEqual([11, 2]);
  const { checked_at: at } = (await scene.inviteOf(viaAlias)) ?? {};
  expect(Date.parse(at ?? "")).toBeGreaterThan(Date.now() + day / 2);
});

test("at most five are looked up at once, the ones never looked up first", async () => {
  const scene = await createScene();
  const old = await scene.register("old");
  await scene.sweep();
  scene.time.offset += day + 1000;
  const made: string[] = [];
  for (let index = 0; index < 7; index += 1) made.push(await scene.register(`nowhere${index.toString()}`));
  const open = async () => (await scene.statusesOf(made)).filter((status) => status === null).length;
  const last = await scene.inviteOf(old);
  expect([await scene.sweep(), await open()]).toEqual([5, 2]);
  expect(await scene.inviteOf(old)).toEqual(last);
  expect([await scene.sweep(), await open()]).toEqual([3, 0]);
  expect(await scene.inviteOf(old)).not.toEqual(last);
});

test("an outage of Discord ends the round: nothing is noted, and the next round goes on", async () => {
  const scene = await createScene();
  const made = [await scene.register("late1"), await scene.register("late2")];
  const before = asked().length;
  for (const status of [503, 429, 403]) {
    sandbox.faults.rest({ route: "GET /invites/:code", status, times: 1 });
    expect(await scene.sweep()).toBe(0);
  }
  expect(asked().length - before).toBe(3);
  expect(await scene.statusesOf(made)).toEqual([null, null]);
  expect(await scene.inviteOf(made[0] ?? "")).toMatchObject({ checked_at: null });
  expect(await scene.sweep()).toBe(2);
  expect(await scene.statusesOf(made)).toEqual(["invalid", "invalid"]);
});

test("an answer nobody understands is asked for again tomorrow and keeps nobody else waiting", async () => {
  const scene = await createScene((code) =>
    code === "odd" ? Promise.reject(new ProblemError("discord_error")) : Promise.resolve({ serverId: code, name: "Quarry" }),
  );
  const odd = await scene.register("odd");
  const id = freshId();
  await scene.register(id, { id });
  expect(await scene.sweep()).toBe(2);
  expect(await scene.statusesOf([odd, id])).toEqual([null, "valid"]);
  expect([await scene.sweep(), await scene.checks(odd)]).toEqual([0, 0]);
});

test("what is found about an invite is not noted of the one that took its place meanwhile", async () => {
  const scene = await createScene(async (code) => {
    if (code === "first") await scene.registry.update(call, id, { invite_code: "second" });
    return null;
  });
  const id = await scene.register("first");
  await scene.sweep();
  expect(await scene.inviteOf(id)).toEqual({ code: "second", status: null, checked_at: null });
});

test("a code that is none of Discord's, and an invite into no server, lead nowhere", async () => {
  const answers: Record<string, [status: number, body: string]> = {
    group: [200, JSON.stringify({ type: 1, code: "group", channel: null })],
    none: [400, "{}"],
    broken: [200, "<html>"],
    odd: [200, JSON.stringify({ type: 0, code: "odd" })],
  };
  const server = createServer((request, response) => {
    const [status, body] = answers[request.url?.split("/").at(-1) ?? ""] ?? [404, "{}"];
    expect(request.headers.authorization).toBeUndefined();
    response.writeHead(status).end(body);
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  onTestFinished(() => void server.close());
  const address = server.address();
  const read = readInvite(`http://127.0.0.1:${typeof address === "object" ? (address?.port ?? 0).toString() : ""}/api`);
  for (const code of ["group", "none", "nowhere"]) expect(await read(code)).toBeNull();
  for (const code of ["broken", "odd"]) await expect(read(code)).rejects.toMatchObject({ code: "discord_error" });
  server.close();
  server.closeAllConnections();
  await expect(read("group")).rejects.toMatchObject({ code: "discord_unavailable" });
});

test("only the service itself runs the sweep", async () => {
  const { registry } = await createScene();
  const limited = { ...job, client: { id: "c", name: "c", allows: () => false } };
  await expect(registry.sweep(limited)).rejects.toMatchObject({ code: "permission_denied" });
});
