import { systemCall } from "../../src/kernel/call.ts";
import { uuid7 } from "../../src/kernel/ids.ts";
import { workflowKinds } from "../../src/kernel/vocabulary.ts";
import type { GuildHandle, User } from "../../sandbox/index.ts";
import type { World } from "../support/world.ts";
import { filing, freshExample, freshId, routeOf } from "./document.ts";
import { accept } from "./policy-cast.ts";
import { authorize } from "./world.ts";

/** A change that an operation can make once: its address and its body. */
export interface Change {
  path: string;
  body?: unknown;
  /** Whether the change makes something that is not there yet. */
  isNew?: true;
  /** Whether it waits for somebody else first, and the same can be asked again. */
  isHeld?: true;
}

export interface Ground {
  world: World;
  owner: User;
  /** A server of the community of which nothing is set yet, another one for each change of an operation. */
  nextGuild: (operation: string) => GuildHandle;
  /** A number nobody had before. */
  count: () => number;
}

type Fixture = (ground: Ground) => Promise<Change>;

const why = { reason: "It was a mistake of ours." };

async function make({ world, owner }: Ground, path: string, body: unknown): Promise<any> {
  const answer = await accept(world.post(path, body, { actor: owner }));
  return answer.body.data ?? answer.body;
}

async function record(ground: Ground): Promise<any> {
  return await make(ground, "/blacklist", { kind: "user", subject_id: freshId() });
}
async function openCase(ground: Ground): Promise<string> {
  const { id } = await make(ground, "/cases", { title: "A quarrel", subjects: [{ kind: "user", id: freshId() }] });
  return `/cases/${id as string}`;
}
async function request(ground: Ground, kind = "poach"): Promise<string> {
  const { world } = ground;
  const { body } = await accept(world.post(`/workflows/${kind}`, filing(kind), { actor: await world.staff("senior") }));
  return `/workflows/${kind}/${body.id as string}`;
}
async function link(ground: Ground): Promise<string> {
  const userId = freshId();
  const about = { user_id: freshId(), confidence: "probable", kind: "declared_alt", basis: [{ type: "admission", note: "Said so." }] };
  const { id } = await make(ground, `/users/${userId}/links`, about);
  return `/users/${userId}/links/${id as string}`;
}
async function staffRole({ world, owner, count }: Ground): Promise<string> {
  const key = `team-${count().toString()}`;
  await accept(world.put(`/staffroles/${key}`, { name: key, rank: 5, level: "viewer", discord: [] }, { actor: owner }));
  return key;
}
async function key(ground: Ground): Promise<string> {
  return `/keys/${(await make(ground, "/keys", { name: "conditional", scopes: ["staff.read"] })).id as string}`;
}
async function fileList(ground: Ground): Promise<string> {
  const name = `List ${ground.count().toString()}`;
  return `/lists/${(await make(ground, "/lists", { name, kind: "file" })).id as string}`;
}
async function webhook(ground: Ground): Promise<string> {
  // Of a type that nothing here is told of: nothing is sent meanwhile.
  return `/webhooks/${(await make(ground, "/webhooks", { types: ["blacklist.purged"], name: `Desk ${ground.count().toString()}`, url: "https://client.invalid/" })).id as string}`;
}
async function pool(ground: Ground): Promise<string> {
  const name = `p${ground.count().toString()}`;
  const template = { key: name, name, department: name.toUpperCase(), template: "{dept}-{n:03}", ranges: [[1, 99]] };
  await make(ground, "/callsigns/pools", template);
  return name;
}
async function callsign(ground: Ground): Promise<string> {
  const name = await pool(ground);
  return (await make(ground, "/callsigns/next", { pool: name, user_id: freshId() })).callsign;
}
async function draft({ world }: Ground): Promise<string> {
  const { database, draftRecords } = world.app;
  const userId = freshId();
  const payload = { user_id: userId, action: "probation", reason: "3 points are in force." };
  const suggestion = { type: "punishment", payload, subject: { kind: "user", id: userId }, cause: "3 points.", openKey: userId } as const;
  const made = await database.write(systemCall("job", uuid7()), (tx) => draftRecords.suggestInTx(tx, suggestion));
  return `/workflows/drafts/${made?.id ?? ""}`;
}
async function authorized(ground: Ground): Promise<User> {
  const { world, owner } = ground;
  const [person, listed] = [world.member(), world.sandbox.createGuild({ name: "Raid Base", withBot: false })];
  listed.addMember(person);
  await make(ground, "/blacklist", { kind: "server", subject_id: listed.id });
  await authorize(world, person, { by: owner });
  return person;
}
async function onLeave(ground: Ground): Promise<string> {
  const { id } = await ground.world.staff("viewer");
  await make(ground, `/staff/${id}/loa`, { reason: "Away for a while.", duration: "30d" });
  return id;
}
async function exempted(ground: Ground): Promise<{ guildId: string; userId: string }> {
  const [{ id: guildId }, userId] = [ground.world.guild, freshId()];
  await make(ground, `/guilds/${guildId}/exemptions`, { user_id: userId, reason: "A friend of the house." });
  return { guildId, userId };
}
/** A change of another owner that waits for a second person. */
async function held({ world }: Ground): Promise<string> {
  const [other, person] = [await world.staff("owner"), await world.staff("viewer")];
  const { body } = await accept(world.patch(`/permissions/users/${person.id}`, grant("staff.suspend"), { actor: other }));
  return `/confirmations/${body.data.id as string}`;
}
const grant = (permission: string) => ({ overrides: [{ key: permission, effect: "allow", reason: "On call tonight." }] });

/** The example of an operation as its body. */
const example = (method: string, path: string): any => freshExample(routeOf(method, path));

/** An operation on something whose address is that of the thing and an end. */
const on =
  (thing: (ground: Ground) => Promise<string>, body?: unknown, end = ""): Fixture =>
  async (ground) => ({ path: `${await thing(ground)}${end}`, ...(body !== undefined && { body }) });

/** Every operation that says it compares revisions, with what it changes. One that is missing is red. */
export const fixtures: Readonly<Record<string, Fixture>> = {
  revokeAuthorization: async (ground) => ({ path: `/users/${(await authorized(ground)).id}/authorization`, body: why }),
  async resolveUserMatch(ground) {
    const { id } = await authorized(ground);
    const { body } = await ground.world.get(`/users/${id}/matches`, { actor: ground.owner });
    return { path: `/users/${id}/matches/${body.data[0].id as string}/resolution`, body: { outcome: "acknowledge", ...why } };
  },
  updateServer: on(async (ground) => `/servers/${(await make(ground, "/servers", { id: freshId() })).id as string}`, { tags: ["raids"] }),
  updateUserLink: on(link, { confidence: "confirmed", add_basis: [{ type: "admission", note: "Said so in a ticket." }] }),
  endUserLink: on(link, why),
  updateStaffProfile: async ({ world }) => ({ path: `/staff/${(await world.staff("viewer")).id}`, body: { timezone: "Europe/Berlin" } }),
  endStaffLeave: on(async (ground) => `/staff/${await onLeave(ground)}/loa`, { reason: "Back early." }),
  async putStaffRole(ground) {
    const key = `new-${ground.count().toString()}`;
    return { path: `/staffroles/${key}`, body: { name: key, rank: 5, level: "viewer", discord: [] }, isNew: true };
  },
  updateStaffRole: on(async (ground) => `/staffroles/${await staffRole(ground)}`, { capacity: 12 }),
  deleteStaffRole: on(async (ground) => `/staffroles/${await staffRole(ground)}`, why),
  replaceRolePermissions: on(async (ground) => `/permissions/roles/${await staffRole(ground)}`, { allow: ["audit.read"], deny: [] }),
  updateRolePermissions: on(async (ground) => `/permissions/roles/${await staffRole(ground)}`, { allow: ["audit.read"] }),
  updateUserPermissions: async ({ world }) => ({
    path: `/permissions/users/${(await world.staff("viewer")).id}`,
    body: grant("audit.read"),
  }),
  async clearUserPermissions({ world, owner }) {
    const path = `/permissions/users/${(await world.staff("viewer")).id}`;
    await accept(world.patch(path, grant("audit.read"), { actor: owner }));
    return { path, body: why };
  },
  updateKey: on(key, { name: "renamed" }),
  revokeKey: on(key),
  rotateKey: on(key, { grace_seconds: 86_400 }, "/rotate"),
  putChannels: async ({ nextGuild }) => {
    const guild = nextGuild("putChannels");
    return { path: `/channels/${guild.id}`, body: { review: guild.createChannel("review").id } };
  },
  confirmChange: on(held, undefined, "/confirm"),
  declineChange: on(held, why, "/decline"),
  updateBlacklistRecord: on(async (ground) => `/blacklist/${(await record(ground)).id as string}`, { severity: "critical" }),
  revokeBlacklistRecord: on(async (ground) => `/blacklist/${(await record(ground)).id as string}`, why),
  async purgeBlacklistRecord(ground) {
    const path = `/blacklist/${(await record(ground)).id as string}`;
    await accept(ground.world.delete(path, why, { actor: ground.owner }));
    return { path: `${path}/purge`, body: why, isHeld: true };
  },
  updateFollowedList: on(fileList, { trust: "low" }),
  unfollowList: on(fileList),
  resetFollowedList: on(fileList, undefined, "/reset"),
  sendListFile: async (ground) => {
    return { path: `${await fileList(ground)}/file`, body: { records: [{ kind: "user", subject_id: freshId(), number: "N1" }] } };
  },
  putStance: async ({ nextGuild }) => ({
    path: `/guilds/${nextGuild("putStance").id}/stance`,
    body: { rules: [{ category: "raid", stance: "propose", action: "ban" }] },
  }),
  async removeExemption(ground) {
    const { guildId, userId } = await exempted(ground);
    return { path: `/guilds/${guildId}/exemptions/${userId}` };
  },
  putCaseTemplate: async ({ count }) => ({ path: `/cases/templates/new-${count().toString()}`, body: { title: "A report" }, isNew: true }),
  async deleteCaseTemplate({ world, owner, count }) {
    const path = `/cases/templates/old-${count().toString()}`;
    await accept(world.put(path, { title: "A report" }, { actor: owner }));
    return { path };
  },
  updateCase: on(openCase, { priority: "high" }),
  deleteCase: on(openCase, why),
  closeCase: on(openCase, { outcome: "resolved" }, "/close"),
  async reopenCase(ground) {
    const path = await openCase(ground);
    await make(ground, `${path}/close`, { outcome: "resolved" });
    return { path: `${path}/reopen`, body: { reason: "A new witness." } };
  },
  async restoreCase(ground) {
    const path = await openCase(ground);
    await accept(ground.world.delete(path, why, { actor: ground.owner }));
    return { path: `${path}/restore` };
  },
  async deleteCaseLink(ground) {
    const [path, other] = [await openCase(ground), await openCase(ground)];
    const { number } = (await ground.world.get(other, { actor: ground.owner })).body.data;
    const { id } = await make(ground, `${path}/links`, { rel: "spawned", reference: number });
    return { path: `${path}/links/${id as string}` };
  },
  async updateCaseNote(ground) {
    const path = `${await openCase(ground)}/notes`;
    const { id } = await make(ground, path, { body: "Looked at it." });
    return { path: `${path}/${id as string}`, body: { body: "Spoke with the reporter." } };
  },
  async redactEvidence(ground) {
    const { id } = await make(ground, `${await openCase(ground)}/evidence`, { kind: "text", note: "Three people saw it." });
    return { path: `/evidence/${id as string}/redact`, body: why };
  },
  decideWorkflow: on(request, { decision: "deny", reason: "There is not enough evidence." }, "/decision"),
  amendWorkflow: on(request, { summary: "Led both raids of last night." }),
  async editWorkflowComment(ground) {
    const path = `${await request(ground)}/comments`;
    const { id } = await make(ground, path, { body: "Looked at it." });
    return { path: `${path}/${id as string}`, body: { body: "Both witnesses answered." } };
  },
  updateWorkflowPolicy: async ({ count }) => ({
    path: `/workflows/policies/${workflowKinds[count() % workflowKinds.length] ?? ""}`,
    body: { first_touch_seconds: 7200 + count() },
  }),
  async resetWorkflowPolicy({ world, owner, count }) {
    const path = `/workflows/policies/${workflowKinds[count() % workflowKinds.length] ?? ""}`;
    await accept(world.patch(path, { first_touch_seconds: 7200 + count() }, { actor: owner }));
    return { path };
  },
  dismissRequestDraft: on(draft, why),
  fileRequestDraft: on(draft, undefined, "/file"),
  putDirectModeration: async ({ nextGuild }) => ({
    path: `/guilds/${nextGuild("putDirectModeration").id}/direct`,
    body: { warning: { level: "moderator" } },
  }),
  putReasonTemplates: async ({ nextGuild }) => ({
    path: `/guilds/${nextGuild("putReasonTemplates").id}/reasons`,
    body: example("PUT", "/guilds/{guild_id}/reasons"),
  }),
  putAppealQuestions: async ({ count }) => ({
    path: "/appeals/questions",
    body: { questions: [{ question: `What happened at ${count().toString()}?` }] },
  }),
  updateWebhook: on(webhook, { state: "paused" }),
  deleteWebhook: on(webhook),
  rotateWebhookSecret: on(webhook, undefined, "/rotate"),
  releaseCallsign: on(async (ground) => `/callsigns/${await callsign(ground)}`, why, "/release"),
  transferCallsign: async (ground) => ({
    path: `/callsigns/${await callsign(ground)}/transfer`,
    body: { user_id: freshId(), reason: "They lead the unit now." },
  }),
  retireCallsign: on(async (ground) => `/callsigns/${await callsign(ground)}`, why, "/retire"),
  async unretireCallsign(ground) {
    const path = `/callsigns/${await callsign(ground)}`;
    await make(ground, `${path}/retire`, why);
    return { path: `${path}/unretire`, body: why };
  },
  updateCallsignPool: on(async (ground) => `/callsigns/pools/${await pool(ground)}`, { ranges: [[1, 199]] }),
  deleteCallsignPool: on(async (ground) => `/callsigns/pools/${await pool(ground)}`),
  async updateRosterEntry(ground) {
    const { id } = await make(ground, "/roster", { user_id: freshId(), reason: "Was chosen." });
    return { path: `/roster/${id as string}`, body: { department: "south" } };
  },
};
