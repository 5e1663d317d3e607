// @module-tag both
// @module-tag slow
import { expect, test } from "vitest";
import { registry } from "../../src/features/privacy/registry/erase.ts";
import type { Model, Column } from "../../src/features/privacy/registry/types.ts";
import { authorize, staffAtConsole } from "../contract/world.ts";
import { createWorld } from "../support/world.ts";
import { contentIntents, upload } from "./evidence-ground.ts";
import { asPerson } from "./privacy-ground.ts";
import { backupOf, everythingStored, ok, wordsIn } from "./privacy-raw.ground.ts";

/** What is planted of a person, by the column it is stored in; `own`: the person's own deletion takes it. */
const planted = {
  Zqusername: { column: "GuildMember.username" },
  Zqglobalname: { column: "GuildMember.globalName" },
  Zqnickname: { column: "GuildMember.nick" },
  Zqservername: { column: "UserServer.details", own: true },
  Zqmatchreason: { column: "Match.resolution", own: true },
  Zqsubjectname: { column: "BlacklistRecord.subjectName" },
  Zqpublicreason: { column: "BlacklistRecord.reasonPublic" },
  Zqinternalreason: { column: "BlacklistRecord.reasonInternal" },
  Zqrequestreason: { column: "WorkflowRequest.payload" },
  Zqrequestsummary: { column: "WorkflowRequest.summary" },
  Zqrequestevidence: { column: "WorkflowRequest.evidence" },
  Zqcomment: { column: "WorkflowComment.body" },
  Zqcasetitle: { column: "Case.title" },
  Zqcasenote: { column: "CaseNote.body" },
  Zqactionreason: { column: "CaseAction.reason" },
  Zqfilename: { column: "EvidenceFile.name" },
  Zqfilebytes: { column: "EvidenceFile.name" },
  Zqmessage: { column: "EvidenceItem.message" },
  Zqleavereason: { column: "StaffProfile.leaveReason" },
  Zqdepartment: { column: "StaffProfile.department" },
  Zqrosterreason: { column: "RosterEvent.reason" },
  Zqrosternick: { column: "RosterEntry.nickname" },
  Zqrosternote: { column: "RosterEntry.notes" },
  Zqacknowledged: { column: "RosterAcknowledgement.reason" },
  Zqpermission: { column: "UserPermission.reason" },
  Zqlinkbasis: { column: "AccountLink.basis" },
  Zqheldreason: { column: "Confirmation.input" },
  Zqdeclined: { column: "Confirmation.answers" },
} as const satisfies Readonly<Record<string, { column: `${Model}.${string}`; own?: true }>>;
type Word = keyof typeof planted;
const words = Object.keys(planted) as Word[];

const stays = (word: Word): boolean => {
  const [model = "", name = ""] = planted[word].column.split(".");
  const column = (registry[model as Model].columns as Readonly<Record<string, Column>>)[name];
  if (column === undefined) throw new Error(`there is no column ${planted[word].column}`);
  return typeof column === "object" && typeof column.redaction === "object" && "stays" in column.redaction;
};
/** Every text is long enough for where it is typed, and found by its first word. */
const text = (word: Word): string => `${word} of this person.`;

async function createScene() {
  const log: string[] = [];
  const env = { SECOND_PERSON_FOR_DANGER: "true" };
  const world = await createWorld({ env, log: (line) => void log.push(line) });
  world.sandbox.setPrivilegedIntents(contentIntents);
  const owner = await staffAtConsole(world, "owner");
  const second = await world.staff("owner");
  const person = world.sandbox.createUser("Zqusername", { global_name: "Zqglobalname" });
  world.guild.addMember(person, { roles: [world.roles.moderator], nick: "Zqnickname" });
  await world.sandbox.waitFor(() => world.app.access.of(person.id).isStaff);
  return { world, log, owner, second, person };
}
type Scene = Awaited<ReturnType<typeof createScene>>;

async function plantShared({ world, owner, person }: Scene): Promise<void> {
  const cove = world.sandbox.createGuild({ name: "Zqservername", withBot: false });
  cove.addMember(person);
  ok(
    await world.post(
      "/blacklist",
      { kind: "server", subject_id: cove.id, category: "raiding", severity: "high", member_policy: "flag" },
      { actor: owner },
    ),
  );
  await authorize(world, person, { by: owner });
  const { id } = await world.app.database.read.match.findFirstOrThrow({ where: { userId: person.id } });
  const decided = { outcome: "acknowledge", reason: text("Zqmatchreason") };
  ok(
    await world.post(`/users/${person.id}/matches/${id}/resolution`, decided, {
      actor: owner,
      headers: { "idempotency-key": "resolve-once" },
    }),
  );
}

async function plantRecords({ world, owner, person }: Scene): Promise<void> {
  const listing = { kind: "user", subject_id: person.id, subject_name: "Zqsubjectname", category: "scam", severity: "low" };
  const reasons = { reason_public: text("Zqpublicreason"), reason_internal: text("Zqinternalreason") };
  const record = ok(
    await world.post("/blacklist", { ...listing, ...reasons }, { actor: owner, headers: { "idempotency-key": "list-once" } }),
  );
  await upload(world, `/blacklist/${String(record.number)}/evidence`, {
    actor: owner,
    bytes: Buffer.from(`proof ${text("Zqfilebytes")}`),
    name: "Zqfilename.png",
  });
  const message = world.sandbox
    .as(person)
    .in(world.guild)
    .post({ content: text("Zqmessage") });
  const address = { kind: "message", message: { channel_id: message.channelId, message_id: message.id } };
  ok(await world.post(`/blacklist/${String(record.number)}/evidence`, address, { actor: owner }));
  const subjects = [{ kind: "user", id: person.id }];
  const made = ok(await world.post("/cases", { type: "general", title: text("Zqcasetitle"), subjects }, { actor: owner }));
  ok(await world.post(`/cases/${String(made.number)}/notes`, { body: text("Zqcasenote") }, { actor: owner }));
  const action = { kind: "warning", user_id: person.id, reason: text("Zqactionreason") };
  ok(await world.post(`/cases/${String(made.number)}/actions`, action, { actor: owner }));
}

/** A request by a command, and what is said about it over HTTP. */
async function plantRequest({ world, owner, person }: Scene): Promise<void> {
  const run = await world.sandbox.as(owner).in(world.guild).runSlashCommand("request punishment", { user: person, action: "warning" });
  const form = { reason: text("Zqrequestreason"), summary: text("Zqrequestsummary"), evidence: text("Zqrequestevidence") };
  expect((await (await run.submitModal(form)).reply()).content).toContain("is filed");
  const { reference } = await world.app.database.read.workflowRequest.findFirstOrThrow({ where: { type: "punishment" } });
  ok(await world.post(`/workflows/punishment/${reference}/comments`, { body: text("Zqcomment") }, { actor: owner }));
}

async function plantStaff({ world, owner, second, person }: Scene): Promise<void> {
  const hired = { user_id: person.id, staff_role: "moderator", reason: text("Zqrosterreason"), notes: text("Zqrosternote") };
  ok(await world.post("/roster", hired, { actor: owner }));
  const sync = { discord_user_id: person.id, direction: "from_discord" };
  ok(await world.post("/roster/sync-member", sync, { actor: owner }));
  world.guild.setNick(person, "Zqrosternick");
  ok(await world.post("/roster/sync-member", sync, { actor: owner }));
  const line = await world.app.database.read.rosterEvent.findFirstOrThrow({ where: { userId: person.id }, orderBy: { id: "desc" } });
  expect(line.after).toMatchObject({ nickname: "Zqrosternick" });
  world.guild.setNick(person, "Zqnickname");
  ok(await world.patch(`/staff/${person.id}`, { department: "Zqdepartment" }, { actor: owner }));
  world.guild.setRoles(person, [world.roles.moderator, world.guild.createRole("typist", { permissions: ["Administrator"] })]);
  expect(await world.slash(person, "staff loa start", { reason: text("Zqleavereason") })).not.toContain("refused");
  await world.app.database.read.staffProfile.findFirstOrThrow({ where: { leaveReason: text("Zqleavereason") } });
  const change = (reason: string, key = "cases.read") => ({ overrides: [{ key, effect: "deny", reason }] });
  ok(await world.patch(`/permissions/users/${person.id}`, change(text("Zqpermission")), { actor: owner }));
  const granting = { overrides: [{ key: "staff.suspend", effect: "allow", reason: text("Zqheldreason") }] };
  const held = await world.patch(`/permissions/users/${person.id}`, granting, { actor: owner, signed: true });
  expect(held.status, JSON.stringify(held.body)).toBe(202);
  const declined = { reason: text("Zqdeclined") };
  ok(await world.post(`/confirmations/${String(held.body.data.code)}/decline`, declined, { actor: second, signed: true }));
  const basis = [{ type: "other", note: text("Zqlinkbasis") }];
  ok(
    await world.post(
      `/users/${person.id}/links`,
      { user_id: world.member().id, confidence: "suspected", kind: "suspected_evasion", basis },
      { actor: owner },
    ),
  );
  const { findings } = ok(await world.post("/roster/audit", { checks: ["blacklisted_staff"] }, { actor: owner }));
  const named = { findings: findings.map(({ id }: { id: string }) => id), reason: text("Zqacknowledged") };
  ok(await world.post("/roster/audit/acknowledgements", named, { actor: owner }));
}

const foundIn = (text: string): string[] => wordsIn(text, words);
async function found({ world }: Scene): Promise<string[]> {
  const places = await everythingStored(world);
  return words.filter((word) => [...places.values()].some((place) => wordsIn(place, [word]).length > 0));
}

test("what is found of a person in any file, row, log line or backup is what docs/privacy.md says, before and after", async () => {
  const scene = await createScene();
  const { world, log, owner, second, person } = scene;
  await plantShared(scene);
  await plantRecords(scene);
  await plantRequest(scene);
  await plantStaff(scene);
  const sealed = new Set<string>(["Zqservername"]);
  expect(await found(scene)).toEqual(words.filter((word) => !sealed.has(word)));

  await world.app.privacy.erase(asPerson(person.id), person.id);
  const left = words.filter((word) => !("own" in planted[word]));
  expect(await found(scene)).toEqual(left);

  world.guild.setRoles(person, []);
  await world.sandbox.waitFor(() => !world.app.access.of(person.id).isStaff);
  const asked = { reason: "Zqredaction was asked for by mail." };
  const held = await world.post(`/users/${person.id}/redaction`, asked, { actor: owner });
  ok(await world.post(`/confirmations/${String(held.body.data.code)}/confirm`, {}, { signed: true, actor: second }));
  const kept = words.filter(stays);
  expect(await found(scene)).toEqual(kept);
  expect(foundIn(await backupOf(world))).toEqual(kept.filter((word) => word !== "Zqfilebytes"));
  expect(wordsIn(log.join("\n"), words)).toEqual([]);
  // Why the person was redacted stays: in the confirmation and in the audit.
  expect(wordsIn(await backupOf(world), ["Zqredaction"])).toEqual(["Zqredaction"]);
});
