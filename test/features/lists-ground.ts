import { systemCall } from "../../src/kernel/call.ts";
import type { User } from "../../sandbox/index.ts";
import { authorize, staffAtConsole } from "../contract/world.ts";
import { failAction } from "./stances-community.ts";
import { settled } from "./native-actions-ground.ts";
import type { World } from "../support/world.ts";

/** What commands take: text, numbers, and people. */
export type Given = Record<string, string | number | boolean | User>;

export interface PlayedWorld {
  owner: User;
  moderator: User;
  /** Somebody about whom there is something of everything. */
  ann: User;
  /** What the lists that belong to something are asked about, by the entry. */
  given: Readonly<Record<string, Given>>;
}

const reason = "Insulted three people in the trade channel.";
const [here, there] = ["80351110224678912", "80351110224678913"];

/** A community in which every list has something to show. */
export async function playAll(world: World): Promise<PlayedWorld> {
  const { app, sandbox } = world;
  const [owner, admin, moderator] = [
    await staffAtConsole(world, "owner"),
    await staffAtConsole(world, "admin"),
    await staffAtConsole(world, "moderator"),
  ];
  const [ann, bob] = [world.member("ann"), world.member("bob")];
  const made = async (path: string, body: object, actor = owner) => {
    const answer = await world.post(path, body, { actor });
    if (answer.status >= 300) throw new Error(`${path}: ${JSON.stringify(answer.body)}`);
    return answer.body.data ?? answer.body;
  };
  const file = async (type: string, body: object, actor = moderator): Promise<string> =>
    (await made(`/workflows/${type}`, body, actor)).reference as string;
  const decide = (type: string, reference: string, body: object, actor = owner) =>
    made(`/workflows/${type}/${reference}/decision`, body, actor);

  await made("/callsigns/pools", { key: "north_side", name: "North", template: "N-{n:03}", ranges: [[1, 30]] });
  await made("/callsigns/next", { pool: "north_side", user_id: moderator.id });
  await made("/servers", { id: here, name: "Quarry", status: "partner" });
  await made("/servers", { id: there, name: "Delta", status: "watched", tags: ["mining"] });
  await made("/roster", { user_id: moderator.id, staff_role: "moderator", department: "north", reason: "Joined the staff" });
  await made("/callsigns/next", { pool: "north_side", user_id: owner.id });
  const repair = await made("/callsigns/repair", {});
  await made("/callsigns/repair", { dry_run: false, plan_hash: repair.plan_hash as string });
  await made("/roster/audit", {});
  const template = { title: "First contact", type: "punishment", due: "P7D", points: 2 };
  const put = await world.put("/cases/templates/first_contact", template, { actor: owner });
  if (put.status >= 300) throw new Error(JSON.stringify(put.body));
  const rules = await world.put(`/guilds/${world.guild.id}/direct`, { warning: { level: "moderator" } }, { actor: owner });
  if (rules.status >= 300) throw new Error(JSON.stringify(rules.body));
  await made(`/guilds/${world.guild.id}/moderation`, { action: "warning", user_id: bob.id, reason }, moderator);
  const followed = (await made("/lists", { name: "Harbour Watch", kind: "file" })).id as string;
  const entry = { kind: "user", subject_id: bob.id, number: "HW-1", category: "ban_evasion", severity: "high" };
  const sent = await world.put(`/lists/${followed}/file`, { records: [entry] }, { actor: owner });
  if (sent.status >= 300) throw new Error(JSON.stringify(sent.body));
  await made(`/guilds/${world.guild.id}/exemptions`, { user_id: ann.id, reason: "A friend of the house." });
  await made("/keys", { name: "site", scopes: ["staff.*"], delegation: "trusted" });

  await made(`/users/${ann.id}/links`, {
    user_id: bob.id,
    confidence: "confirmed",
    kind: "declared_alt",
    basis: [{ type: "admission", note: "Said so" }],
  });
  const listed = await made("/blacklist", {
    kind: "user",
    subject_id: bob.id,
    category: "ban_evasion",
    severity: "high",
    reason_public: reason,
  });
  await made("/blacklist", {
    kind: "server",
    subject_id: there,
    category: "ban_evasion_hub",
    severity: "low",
    member_policy: "deny_staff",
  });
  await world.patch(`/blacklist/${listed.number as string}`, { category: "staff_abuse" }, { actor: owner });

  const past = new Date("2026-01-01T00:00:00.000Z");
  await app.database.write(systemCall("job", "plant"), ({ db }) =>
    db.blacklistRecord.updateMany({ where: { severity: "high" }, data: { reviewAt: past, reviewToldFor: past } }),
  );

  const base = sandbox.createGuild({ name: "Raid Base", withBot: false });
  base.addMember(ann);
  await made("/blacklist", { kind: "server", subject_id: base.id, category: "raiding", severity: "high", member_policy: "flag" });
  await authorize(world, ann, { by: owner });

  const referred = await file("punishment", { user_id: ann.id, action: "blacklist_referral", reason });
  await decide("punishment", referred, { decision: "approve" });
  const struck = await file("punishment", { user_id: ann.id, action: "strike", points: 2, reason });
  await decide("punishment", struck, { decision: "approve", reason });
  const warned = await file("punishment", { user_id: ann.id, action: "warning", reason });
  await made(`/workflows/punishment/${warned}/comments`, { body: "Is there a picture of it?" }, admin);
  await decide("punishment", warned, { decision: "claim" }, admin);
  await file("blacklist-user", { user_id: ann.id, category: "ban_evasion", severity: "high", reason });
  await file("blacklist-server", { server_id: here, category: "stolen_assets", severity: "low", member_policy: "deny_entry", reason });
  await file("investigation", { subject: { kind: "staff", id: admin.id }, allegation: reason, category: "abuse_of_power" });
  await file("recruitment", { user_id: bob.id, position: "moderator", reason });
  await file("server-merge", { source_server_id: here, target_server_id: there, effective_at: "2030-01-01T00:00:00.000Z", reason }, owner);
  await file("alt-request", { user_ids: [ann.id, world.member("eve").id], confidence: "suspected", basis: [], reason });
  await file("appeal", { target: struck, grounds: reason, user_id: ann.id }, owner);
  const agreed = await file("poach", { kind: "agreement", party_server_ids: [here, there], reason });
  for (const decider of [owner, admin]) await decide("poach", agreed, { decision: "approve" }, decider);
  const report = await file("poach", {
    kind: "report",
    offending_server_id: there,
    victim_server_id: here,
    offender_user_ids: [bob.id],
    occurred_at: "2026-11-20T10:00:00.000Z",
    method: "role_offer",
    reason,
  });
  await decide("poach", report, { decision: "approve", reason });

  await app.database.write(systemCall("job", "plant"), (tx) =>
    app.registry.grantClearanceInTx(tx, {
      userId: ann.id,
      fromServerId: here,
      toServerId: there,
      validUntil: new Date("2030-01-01T00:00:00.000Z"),
      originReference: report,
      permission: "workflows.poach.decide",
    }),
  );

  const opened = await made("/cases", { title: "Raid", type: "blacklist", subjects: [{ kind: "user", id: ann.id }], lead: admin.id });
  const number = opened.number as string;
  const note = await made(`/cases/${number}/notes`, { body: "Two people saw it." });
  await world.patch(`/cases/${number}/notes/${note.id as string}`, { body: "Three people saw it." }, { actor: owner });
  await made(`/cases/${number}/actions`, { kind: "strike", points: 2, reason, user_id: ann.id });
  await made(`/cases/${number}/evidence`, { kind: "text", note: "A text" });
  await made(`/blacklist/${listed.number as string}/evidence`, { kind: "text", note: "A text" });
  const override = [{ key: "staff.suspend", effect: "allow", reason: "While the lead is away" }];
  await world.patch(`/permissions/users/${moderator.id}`, { overrides: override }, { actor: admin });

  // Nobody is there: what is shown of the attempt says so.
  const { id: webhook } = await made("/webhooks", { name: "desk", url: "https://client.invalid/" });
  await world.post(`/webhooks/${webhook as string}/test`, undefined, { actor: owner });

  world.guild.timeout(ann, 60, { by: owner, reason });
  await failAction(world, ann.id);
  await settled(world);
  const run = (await world.get("/roster/audits", { actor: owner })).body.data[0]?.id as string;
  const inCase = { case: number };
  const byUser = { user: ann };
  const byReference = { reference: warned };
  return {
    owner,
    moderator,
    ann,
    given: {
      "review history": byReference,
      "review comments": byReference,
      "blacklist history": { record: listed.number as string },
      "blacklist files": { record: listed.number as string },
      "case notes": inCase,
      "case note-history": { ...inCase, note: note.id as string },
      "case actions": inCase,
      "case files": inCase,
      "case history": inCase,
      "case timeline": byUser,
      history: byUser,
      "follows entries": { list: followed },
      "intel servers": byUser,
      "intel matches": byUser,
      "intel strikes": byUser,
      "intel clearances": byUser,
      "intel by-hand": byUser,
      "intel server agreements": { server: there },
      "intel server incidents": { server: there },
      "alts list": byUser,
      "audit show": { record: number },
      "roster audit findings": { audit: run },
      "setup webhooks deliveries": { webhook: webhook as string },
    },
  };
}
