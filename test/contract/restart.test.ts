// @module-tag postgres
// @module-tag slow
import { expect, test } from "vitest";
import { answerAtDiscord, press, visit } from "../features/authorization.setup.ts";
import type { Answer, World } from "../support/world.ts";
import { filing } from "./document.ts";
import { authorize, createJudgedWorld, until } from "./world.ts";
import { freePort } from "../support/free-port.ts";

/** An answer without what is about the moment it was given. */
function lasting({ status, body }: Answer): unknown {
  const text = JSON.stringify({ status, body }, (name, value: unknown) => (["evaluated_at", "as_of"].includes(name) ? undefined : value));
  return JSON.parse(text);
}

const readAll = async (world: World, paths: readonly string[], actor: string) =>
  Object.fromEntries(await Promise.all(paths.map(async (path) => [path, lasting(await world.get(path, { actor }))])));

test("everything that was acknowledged is there after a restart, and reads the same", async () => {
  const world = await createJudgedWorld();
  const [requester, admin, owner] = [await world.staff("moderator"), await world.staff("admin"), await world.staff("owner")];
  const person = world.member();
  await authorize(world, person, { by: admin });
  const key = await world.makeKey(["staff.read"]);
  const done: Answer[] = [
    await world.put("/permissions/roles/viewer", { allow: ["blacklist.read"], deny: [] }, { actor: owner }),
    await world.put("/staffroles/helper", { name: "Helper", rank: 5, level: "viewer", discord: [] }, { actor: owner }),
    await world.post("/blacklist", { kind: "server", subject_id: world.guild.id, member_policy: "flag" }, { actor: admin }),
    await world.post("/blacklist", { kind: "user", subject_id: "80351110224678912", tags: ["a", "b"] }, { actor: admin }),
    await world.patch("/blacklist/BL-000002", { severity: "critical" }, { actor: admin }),
    await world.post("/workflows/blacklist-user", filing("blacklist-user"), { actor: requester }),
    await world.post("/workflows/punishment", filing("punishment"), { actor: requester }),
    await world.post(
      "/workflows/punishment/PUN-REQ-000001/decision",
      { decision: "deny", reason: "Not shown well enough." },
      { actor: admin },
    ),
  ];
  expect(done.map(({ status }) => status)).toEqual([200, 200, 201, 201, 200, 201, 201, 200]);
  const paths = [
    "/staff",
    "/staffroles",
    "/permissions/roles",
    "/permissions/roles/viewer",
    "/blacklist",
    "/blacklist/BL-000002",
    "/blacklist/BL-000002/history",
    "/workflows",
    "/workflows/punishment/PUN-REQ-000001",
    "/audit?limit=200",
    ...["authorization", "servers", "matches"].map((part) => `/users/${person.id}/${part}`),
    ...[requester, admin, owner, person].map(({ id }) => `/staff/${id}/access`),
  ];
  // What the bot had to say is said before anything is compared.
  await until(
    () => world.get("/workflows/punishment/PUN-REQ-000001", { actor: owner }),
    ({ body }) => body.data.effects.every(({ status }: { status: string }) => status !== "pending"),
    20_000,
  );
  const before = await readAll(world, paths, owner.id);
  const instance = (await world.get("/health")).body.service.instance_id;
  expect(Object.values(before).map((answer: any) => answer.status)).toEqual(paths.map(() => 200));
  await world.restart();
  expect(await readAll(world, paths, owner.id)).toEqual(before);
  expect((await world.get("/health")).body.service.instance_id).toBe(instance);
  expect((await world.get("/staff", { key })).status).toBe(200);
  expect((await world.post("/workflows/punishment", filing("punishment"), { actor: requester })).body.reference).toBe("PUN-REQ-000002");
  // A stop signs the position of the chain.
  expect((await world.get("/audit/verify")).body.data).toMatchObject({ ok: true, checkpoints: 1 });
});

test("a service that stops in the middle of work keeps what it acknowledged, and nothing by half", async () => {
  const world = await createJudgedWorld();
  const requesters = await Promise.all(Array.from({ length: 4 }, () => world.staff("moderator")));
  const ask = (index: number) =>
    world.post("/workflows/poach", filing("poach"), { actor: requesters[index % 4]?.id ?? "" }).catch(() => undefined);
  const first = ask(0);
  const running = Array.from({ length: 60 }, (_, index) => ask(index + 1));
  await first;
  await world.restart();
  const answers = [await first, ...(await Promise.all(running))];
  const acknowledged = answers.flatMap((answer) => (answer?.status === 201 ? [answer.body.reference as string] : []));
  expect(acknowledged.length).toBeGreaterThan(0);
  for (const answer of answers) if (answer !== undefined) expect([201, 503]).toContain(answer.status);
  const { read } = world.app.database;
  const stored = (await read.workflowRequest.findMany()).map(({ reference }) => reference).toSorted();
  expect(stored).toEqual(expect.arrayContaining(acknowledged));
  expect(stored).toEqual(stored.map((_, index) => `PCH-REQ-${(index + 1).toString().padStart(6, "0")}`));
  expect(await read.workflowSubject.count({ where: { request: { type: "poach" } } })).toBeGreaterThanOrEqual(stored.length);
  expect(await read.auditEntry.count({ where: { action: "workflow.create" } })).toBe(stored.length);
  expect((await world.get("/audit/verify")).body.data.ok).toBe(true);
});

test("an authorization session goes on over a restart, before the consent and in the middle of it", async () => {
  const world = await createJudgedWorld({ env: { PORT: (await freePort()).toString() } });
  const [moderator, early, late] = [await world.staff("moderator"), world.member(), world.member()];
  const open = async (id: string) =>
    (await world.post("/authorize/sessions", { discord_user_id: id }, { actor: moderator })).body.url as string;
  const [untouched, begun] = [await open(early.id), await press(await open(late.id), "start")];
  await world.restart();
  const end = await world.sandbox.as(early).authorize(untouched, { approve: true });
  expect(new URL(end.redirectedTo).pathname).toBe("/authorize/result/done");
  const back = await visit(await answerAtDiscord(begun.location, late), begun.cookie);
  expect(back.location).toBe("/authorize/result/done");
  for (const { id } of [early, late]) expect((await world.get(`/users/${id}/authorization`)).body.data.status).toBe("active");
});

test("an Idempotency-Key is remembered over a restart", async () => {
  const world = await createJudgedWorld();
  const actor = await world.staff("moderator");
  const body = filing("poach");
  const ask = () => world.post("/workflows/poach", body, { actor, headers: { "idempotency-key": "over-the-restart" } });
  const first = await ask();
  await world.restart();
  const again = await ask();
  expect([again.status, again.headers.get("idempotency-replayed"), again.body]).toEqual([201, "true", first.body]);
});
