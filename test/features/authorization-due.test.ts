import { expect, test } from "vitest";
import { systemCall } from "../../src/kernel/call.ts";
import type { User } from "../../sandbox/index.ts";
import { createWorld, type World } from "./authorization.setup.ts";

const day = 86_400;
let numbers = 0;

/** A request about a person, as it stands in the database. */
async function request(world: World, about: User, status: string): Promise<void> {
  await world.database.write(systemCall("job", "request"), async ({ db, now }) => {
    numbers += 1;
    await db.workflowRequest.create({
      data: {
        reference: `INV-REQ-${numbers.toString().padStart(6, "0")}`,
        type: "investigation",
        status,
        priority: "normal",
        urgent: false,
        title: "t",
        summary: "s",
        payload: {},
        extra: {},
        requestedVia: "rest",
        evidence: [],
        related: [],
        approvalsRequired: 1,
        links: [],
        createdAt: now,
        updatedAt: now,
        subjects: { create: { kind: "user", subjectId: about.id } },
      },
    });
  });
}

async function granted(world: World, name: string, statuses: readonly string[]): Promise<User> {
  const user = world.sandbox.createUser(name);
  await world.grant(user);
  for (const status of statuses) await request(world, user, status);
  return user;
}

const due = (world: World) => world.rooms.authorization.refreshDue(systemCall("job", "due"));
const asked = (world: World): number => world.sandbox.exchanges.filter(({ path }) => path.endsWith("/users/@me/guilds")).length;

async function refreshedUsers(world: World): Promise<Set<string | null>> {
  const entries = await world.database.read.auditEntry.findMany({ where: { action: "authorization.refresh" } });
  return new Set(entries.map(({ subjectUserId }) => subjectUserId));
}

test("only people an open request is about are refreshed, once they were not for six days", async () => {
  const world = await createWorld();
  const wanted: User[] = [];
  for (const status of ["pending", "in_review", "needs_info", "escalated"]) wanted.push(await granted(world, status, [status]));
  await granted(world, "decided", ["approved", "denied", "withdrawn", "expired", "void", "reversed"]);
  await granted(world, "nobody", []);
  world.clock.forward(6 * day - 3600);
  expect(await due(world)).toBe(0);
  world.clock.forward(3660);
  const before = asked(world);
  expect(await due(world)).toBe(4);
  expect(asked(world) - before).toBe(4);
  expect(await refreshedUsers(world)).toEqual(new Set(wanted.map(({ id }) => id)));
  expect(await due(world)).toBe(0);
});

test("five at a time, oldest first, as a part of the job", async () => {
  const world = await createWorld();
  const users: User[] = [];
  for (let index = 0; index < 7; index += 1) {
    users.push(await granted(world, `user${index.toString()}`, ["pending"]));
    world.clock.forward(60);
  }
  world.clock.forward(6 * day);
  const sweep = async () => (await world.rooms.authorization.sweep(systemCall("job", "sweep"))).grants_refreshed;
  expect(await sweep()).toBe(5);
  expect(await refreshedUsers(world)).toEqual(new Set(users.slice(0, 5).map(({ id }) => id)));
  expect(await sweep()).toBe(2);
  expect(await sweep()).toBe(0);
});

test("a grant that is over, by time or at Discord, is not tried again", async () => {
  const world = await createWorld();
  const ann = await granted(world, "ann", ["pending"]);
  world.clock.forward(7 * day);
  world.sandbox.withdrawConsent(ann);
  const calls = () => world.sandbox.exchanges.length;
  expect(await due(world)).toBe(0);
  const lost = calls();
  world.clock.forward(2 * 3600);
  expect(await due(world)).toBe(0);
  expect(calls()).toBe(lost);
  const ben = await granted(world, "ben", ["pending"]);
  const afterwards = calls();
  world.clock.forward(31 * day);
  expect(await due(world)).toBe(0);
  expect(calls()).toBe(afterwards);
  expect((await world.get(`/users/${ben.id}/authorization`)).body.data.status).toBe("expired");
});

test("a failure is not repeated within the hour, and an unreachable Discord ends the round", async () => {
  const world = await createWorld();
  await granted(world, "ann", ["pending"]);
  world.clock.forward(60);
  await granted(world, "ben", ["pending"]);
  world.clock.forward(6 * day);
  const fault = world.sandbox.faults.rest({ route: "GET /users/@me/guilds", status: 503, times: 100 });
  expect(await due(world)).toBe(0);
  expect(fault.hits).toBe(1);
  expect(await due(world)).toBe(0);
  expect(fault.hits).toBe(2);
  expect(await due(world)).toBe(0);
  expect(fault.hits).toBe(2);
  fault.clear();
  world.clock.forward(3500);
  expect(await due(world)).toBe(0);
  world.clock.forward(101);
  expect(await due(world)).toBe(2);
});
