import { expect, test } from "vitest";
import type { User } from "../../sandbox/index.ts";
import { systemCall } from "../../src/kernel/call.ts";
import { uuid7 } from "../../src/kernel/ids.ts";
import { worded } from "../../src/kit/say.ts";
import { everyRow, staffAtConsole } from "../contract/world.ts";
import { acceptIn, age } from "../features/confirmations-ground.ts";
import { createWorld, type World } from "../support/world.ts";
import { connect, use } from "./ground.ts";

const reason = "Leaked the plan of the raid";

/** Somebody asks through a program that a colleague is suspended. */
async function askToSuspend(world: World, asker: User, subject: User, key?: string) {
  const client = await connect(world, asker, key === undefined ? {} : { key });
  const answer = await use(client, "suspendStaff", { path: { discord_user_id: subject.id }, body: { reason } });
  const { id, code } = (answer.data["data"] ?? {}) as { id: string; code: string };
  return { client, answer, id, code };
}

const isSuspended = async ({ app }: World, subject: User): Promise<boolean> =>
  !(await app.access.actorOf(subject.id)).decide("staff.read").allowed;

async function statusOf({ app }: World, id: string) {
  const { status, failure, input, summary, subjectUserId } = await app.database.read.confirmation.findUniqueOrThrow({ where: { id } });
  return { status, failure, input, summary: worded(summary), subjectUserId };
}

const confirm = acceptIn;

test("a change waits for its person, changes nothing before, and takes effect once in their name", async () => {
  const world = await createWorld({ env: { MCP: "on" } });
  const [admin, other, subject] = [await staffAtConsole(world, "admin"), await staffAtConsole(world, "owner"), await world.staff("viewer")];
  const before = await everyRow(world);
  const { client, answer, id, code } = await askToSuspend(world, admin, subject);
  const after = await everyRow(world);
  expect(answer).toMatchObject({
    isError: false,
    data: { code: "confirmation_required", data: { needs: ["acting_user"], status: "pending" } },
  });
  expect(answer.data["next"]).toContain(`/confirm show code:${code}`);
  expect(await isSuspended(world, subject)).toBe(false);
  // Nothing but the held change, its entry in the audit and its event.
  const changed = Object.keys(after).filter((table) => JSON.stringify(after[table]) !== JSON.stringify(before[table]));
  expect(changed.toSorted()).toEqual(
    ["AuditEntry", "AuditPayload", "Confirmation", "Counter", "OutboxEvent"].filter((table) => table in after),
  );
  expect(after["AuditEntry"]?.length).toBe((before["AuditEntry"]?.length ?? 0) + 1);
  const entry = await world.app.database.read.auditEntry.findFirstOrThrow({ where: { targetId: id } });
  expect(JSON.stringify(await world.app.database.read.auditPayload.findMany({ where: { seq: entry.seq } }))).not.toContain("Leaked");

  // With their redaction it ends.
  expect(await statusOf(world, id)).toMatchObject({ status: "pending", subjectUserId: subject.id });

  // What was given is for its person alone.
  const summaryFor = async (actor: User) => (await world.get(`/confirmations/${id}`, { actor })).body.data.summary as string;
  expect(await summaryFor(admin)).toContain(reason);
  expect(await summaryFor(other)).toBe("Asked for by an AI client: Suspend a staff member");

  // Asked again it is the same one; nobody else can say anything about it.
  expect((await askToSuspend(world, admin, subject)).id).toBe(id);
  expect(await confirm(world, other, code)).toMatch(/invalid_transition|record_not_found|Only the person/);
  expect((await world.post(`/confirmations/${id}/confirm`, undefined, { actor: admin })).status).toBe(409);
  expect(await isSuspended(world, subject)).toBe(false);

  const shown = await world.slash(admin, "confirm show", { code });
  expect(shown).toContain(reason);
  expect(shown).toContain("Suspend a staff member");
  expect(await world.slash(admin, "confirm list")).not.toContain(reason);
  expect(await confirm(world, admin, code)).toContain("Done: Asked for by an AI client\\: Suspend a staff member");
  expect(await isSuspended(world, subject)).toBe(true);
  expect(await statusOf(world, id)).toMatchObject({
    status: "applied",
    input: {},
    summary: "Asked for by an AI client: Suspend a staff member",
  });
  expect(await confirm(world, admin, code)).toContain("Done: ");
  const effects = await world.app.database.read.auditEntry.findMany({ where: { action: "staff.suspend" } });
  expect(effects).toHaveLength(1);
  expect(effects[0]).toMatchObject({ actorId: admin.id, via: "slash" });
  expect(effects[0]?.clientId).not.toBeNull();
  expect(await use(client, "getConfirmation", { path: { id } })).toMatchObject({ data: { data: { status: "applied" } } });
});

test("confirmed by several presses at once, after a restart, it takes effect once", async () => {
  const world = await createWorld({ env: { MCP: "on" } });
  const admin = await staffAtConsole(world, "admin");
  const client = await connect(world, admin);
  const held = await use(client, "createCase", { body: { title: "Two presses", subjects: [{ kind: "user", id: world.member().id }] } });
  const { id } = held.data["data"];
  await world.restart();
  const call = {
    client: null,
    actor: await world.app.access.actorOf(admin.id),
    via: "slash" as const,
    requestId: uuid7(),
    idempotency: null,
    replayed: false,
  };
  const said = await Promise.all([1, 2, 3].map(() => world.app.confirmations.confirm({ ...call }, id)));
  expect(said.map(({ status }) => status)).toEqual(["applied", "applied", "applied"]);
  expect(await world.app.database.read.case.count()).toBe(1);
});

test("it is refused, and changes nothing, once the person or the key may not do it any more, or time has passed", async () => {
  const world = await createWorld({ env: { MCP: "on" } });
  const subject = await world.staff("viewer");

  const demoted = await staffAtConsole(world, "admin");
  const first = await askToSuspend(world, demoted, subject);
  world.guild.setRoles(demoted, [world.roles.viewer]);
  await world.sandbox.waitFor(() => !world.app.access.of(demoted.id).decide("staff.suspend").allowed);
  await confirm(world, await withConsole(world, demoted), first.code);
  expect(await statusOf(world, first.id)).toMatchObject({ status: "failed", failure: "permission_denied", input: {} });

  const admin = await staffAtConsole(world, "admin");
  const call = systemCall("cli", uuid7());
  const narrowed = await world.app.keys.create(call, { name: "narrowed", scopes: ["staff.*"], delegation: "trusted" });
  if (!("key" in narrowed)) throw new Error("held");
  const second = await askToSuspend(world, admin, subject, narrowed.key);
  await world.app.keys.update(call, narrowed.id, { scopes: ["staff.read"] });
  expect(await confirm(world, admin, second.code)).toContain("could not be carried out");
  expect(await statusOf(world, second.id)).toMatchObject({ status: "failed", failure: "permission_denied" });

  const revoked = await world.app.keys.create(call, { name: "revoked", scopes: ["staff.*"], delegation: "trusted" });
  if (!("key" in revoked)) throw new Error("held");
  const third = await askToSuspend(world, admin, subject, revoked.key);
  await world.app.keys.revoke(call, revoked.id);
  expect(await world.app.keyStore.find(revoked.id, new Date(), true)).toBeUndefined();
  await confirm(world, admin, third.code);
  expect(await statusOf(world, third.id)).toMatchObject({ status: "failed", failure: "credential_revoked", input: {} });

  const fourth = await askToSuspend(world, admin, subject);
  await age(world, fourth.id, 3600);
  await confirm(world, admin, fourth.code);
  await world.app.runJobs();
  expect(await statusOf(world, fourth.id)).toMatchObject({ status: "expired", input: {} });

  const fifth = await askToSuspend(world, admin, subject);
  expect(await world.slash(admin, "confirm decline", { code: fifth.code })).toContain("Declined");
  await confirm(world, admin, fifth.code);
  expect(await statusOf(world, fifth.id)).toMatchObject({ status: "declined", input: {} });
  expect(await isSuspended(world, subject)).toBe(false);
});

/** Somebody keeps seeing the commands. */
async function withConsole(world: World, person: User): Promise<User> {
  const console = world.guild.createRole("console", { permissions: ["Administrator"] });
  world.guild.setRoles(person, [world.roles.viewer, console]);
  return person;
}

test("what the state does not allow is told when it is confirmed, and the confirmation has failed", async () => {
  const world = await createWorld({ env: { MCP: "on", REQUIRE_IF_MATCH: "true" } });
  const admin = await staffAtConsole(world, "admin");
  const made = await world.post("/cases", { title: "The harbour", subjects: [{ kind: "user", id: world.member().id }] }, { actor: admin });
  const path = { id: made.body.data.id as string };
  const client = await connect(world, admin);
  const rename = (more: object) => use(client, "updateCase", { path, body: { title: "The other harbour" }, ...more });
  expect(await rename({})).toMatchObject({ isError: true, data: { code: "precondition_required" } });
  const attempts = [
    { held: await use(client, "closeCase", { path: { id: "CASE-000777" }, body: { outcome: "resolved" } }), failure: "record_not_found" },
    { held: await rename({ if_match: 99 }), failure: "precondition_failed" },
    { held: await rename({ if_match: made.body.data.revision }), failure: null },
  ];
  for (const { held, failure } of attempts) {
    expect(held.isError).toBe(false);
    await confirm(world, admin, held.data["data"].code);
    const status = failure === null ? "applied" : "failed";
    expect(await statusOf(world, held.data["data"].id)).toMatchObject({ status, failure, input: {} });
  }
  expect((await world.get(`/cases/${path.id}`, { actor: admin })).body.data.title).toBe("The other harbour");
});

test("who may not do it gets the refusal of the route, and nothing is held", async () => {
  const world = await createWorld({ env: { MCP: "on" } });
  const [viewer, admin, subject] = [await world.staff("viewer"), await world.staff("admin"), await world.staff("viewer")];
  expect((await askToSuspend(world, viewer, subject)).answer).toMatchObject({
    isError: true,
    data: { code: "permission_denied", missing_in: "acting_user" },
  });
  const narrow = await world.makeKey(["staff.read"]);
  expect((await askToSuspend(world, admin, subject, narrow)).answer).toMatchObject({
    data: { code: "permission_denied", missing_in: "key" },
  });
  const client = await connect(world, admin);
  const path = { discord_user_id: subject.id };
  expect(await use(client, "suspendStaff", { path, body: { reason: "x" } })).toMatchObject({
    isError: true,
    data: { code: "validation_failed" },
  });
  expect(
    await use(client, "createCase", { body: { title: "Long", subjects: [{ kind: "user", id: subject.id }], summary: "a".repeat(1300) } }),
  ).toMatchObject({ isError: true });
  expect(await world.app.database.read.confirmation.count()).toBe(0);
});

test("a change for which two people are needed waits for the second one after its person", async () => {
  const world = await createWorld({ env: { MCP: "on", SECOND_PERSON_FOR_DANGER: "true", CONFIRM_IN_DISCORD: "permissions" } });
  const [owner, second, subject] = [
    await staffAtConsole(world, "owner"),
    await staffAtConsole(world, "owner"),
    await world.staff("viewer"),
  ];
  const client = await connect(world, owner);
  const overrides = [{ key: "staff.suspend", effect: "allow", reason: "For the exams" }];
  const held = await use(client, "updateUserPermissions", { path: { discord_user_id: subject.id }, body: { overrides } });
  expect(held).toMatchObject({ isError: false, data: { code: "confirmation_required" } });
  expect(await confirm(world, owner, held.data["data"].code)).toContain("a second person has to confirm it");
  const granted = async () => (await world.get(`/permissions/users/${subject.id}`, { actor: owner })).body.data.overrides as unknown[];
  expect(await granted()).toEqual([]);
  const waiting = (await world.get("/confirmations", { actor: second })).body.data as { code: string; needs: string[] }[];
  expect(waiting).toMatchObject([{ needs: ["second_person"] }]);
  await confirm(world, second, waiting[0]?.code ?? "");
  expect(await granted()).toMatchObject([{ key: "staff.suspend" }]);
});

test("who confirms sees every field whole, people first, or the call is refused with what to shorten", async () => {
  const world = await createWorld({ env: { MCP: "on" } });
  const [admin, subject] = [await staffAtConsole(world, "admin"), world.member()];
  const client = await connect(world, admin);
  const ask = (words: string) =>
    use(client, "createBlacklistRecord", { body: { reason_internal: words, kind: "user", severity: "critical", subject_id: subject.id } });
  // What is measured is what Discord is sent: marks take twice the room, and would have pushed the last field out of sight.
  for (const tooLong of ["*".repeat(1000), "_".repeat(1990), "word ".repeat(390)]) {
    const refused = await ask(tooLong);
    expect(refused).toMatchObject({ isError: true, data: { code: "validation_failed" } });
    expect(refused.data["errors"]).toMatchObject([{ pointer: "/reason_internal", in: "body", code: "too_long_to_confirm" }]);
    expect(refused.data["detail"]).toContain("1400 have room");
  }
  expect(await world.app.database.read.confirmation.count()).toBe(0);
  for (const fits of ["*".repeat(500), "\u202eevil\u202c @everyone <@&1> `code`", "Seen by two. ".repeat(80)]) {
    const held = await ask(fits);
    expect(held.isError, JSON.stringify(held.data)).toBe(false);
    const { code } = held.data["data"];
    for (const locale of ["en-US", "de"]) {
      Object.assign(admin, { locale });
      for (const words of ["confirm show", "confirm accept"]) {
        const run = await world.sandbox.as(admin).in(world.guild).runSlashCommand(words, { code });
        const { content, attachments } = await run.reply();
        expect(content.length).toBeLessThan(2000);
        expect(attachments ?? []).toEqual([]);
        const lines = content.split("\n").map((line) => line.replaceAll(/\\([\\*_`~|<>#[\]()@:+-])/g, "$1"));
        expect(lines.slice(1, 4)).toEqual([`subject_id: <@${subject.id}> "${subject.id}"`, 'kind: "user"', 'severity: "critical"']);
        const said = JSON.parse(lines.find((line) => line.startsWith("reason_internal: "))?.slice("reason_internal: ".length) ?? "null");
        expect(said).toBe(fits);
      }
    }
    expect(await world.slash(admin, "confirm decline", { code })).toMatch(/Declined|Abgelehnt/);
  }
  expect(await world.app.database.read.blacklistRecord.count()).toBe(0);
});
