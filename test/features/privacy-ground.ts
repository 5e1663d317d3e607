import { expect } from "vitest";
import type { Tx } from "../../src/database/database.ts";
import { webCall, systemCall } from "../../src/kernel/call.ts";
import { uuid7 } from "../../src/kernel/ids.ts";
import type { GuildHandle, User } from "../../sandbox/index.ts";
import type { Answer, World } from "../support/world.ts";
import { filing } from "../contract/document.ts";
import { authorize } from "../contract/world.ts";

/** The call of a person at the pages. */
export const asPerson = (userId: string) => webCall(uuid7(), userId);
export const cli = () => systemCall("cli", uuid7());
export const job = () => systemCall("job", uuid7());

/** Change rows as another part of the service would. */
export const write = <T>(world: World, work: (tx: Tx) => Promise<T>): Promise<T> => world.app.database.write(job(), work);

/** Texts that are told apart from everything else. */
export const words = {
  name: "mallory-the-planted",
  server: "Smugglers Cove Planted",
  internal: "planted internal reason",
  staffNote: "planted note of staff",
  permission: "planted reason of a permission",
  public: "planted public reason",
  secretServer: "Secret Isle Planted",
} as const;

export interface Planted {
  person: User;
  /** Somebody else with the same of everything. */
  other: User;
  cove: GuildHandle;
  moderator: User;
  admin: User;
  owner: User;
  /** An account staff suspect to be the person's, and one that is confirmed. */
  suspected: User;
  confirmed: User;
  /** References of a request the person has filed, one about them, and a confidential one about them. */
  filed: string;
  about: string;
  confidential: string;
}

const ok = ({ status, body }: Answer): any => {
  expect({ isDone: status < 300, body }).toEqual({ isDone: true, body });
  return body;
};

/** A person about whom every table holds something, beside another one. */
export async function plant(world: World): Promise<Planted> {
  const [moderator, admin, owner] = [await world.staff("moderator"), await world.staff("admin"), await world.staff("owner")];
  const [person, other] = [world.member(words.name), world.member("eve-the-other")];
  const [suspected, confirmed] = [world.member("suspected-alt"), world.member("confirmed-alt")];
  const cove = world.sandbox.createGuild({ name: words.server, withBot: false });
  cove.addMember(person);
  const isle = world.sandbox.createGuild({ name: words.secretServer, withBot: false });
  isle.addMember(other);
  for (const one of [person, other]) await authorize(world, one, { by: moderator });
  ok(await world.post("/authorize/sessions", { discord_user_id: person.id }, { actor: moderator }));
  const raid = { kind: "server", subject_id: cove.id, category: "raiding", severity: "high", member_policy: "flag" };
  ok(await world.post("/blacklist", raid, { actor: admin }));
  const listing = { kind: "user", subject_id: person.id, subject_name: words.name, category: "scam", severity: "low" };
  ok(await world.post("/blacklist", { ...listing, reason_public: words.public, reason_internal: words.internal }, { actor: admin }));
  const strike = { ...filing("punishment"), user_id: person.id };
  const about = ok(await world.post("/workflows/punishment", strike, { actor: moderator })).reference;
  const hidden = { subject: { kind: "user", id: person.id }, allegation: "Sold the list of staff.", confidential: true };
  const confidential = ok(await world.post("/workflows/investigation", hidden, { actor: admin })).reference;
  await write(world, (tx) => plantRows(tx, { person, suspected, confirmed, moderator }));
  const filed = "PCH-REQ-000001";
  return { person, other, cove, moderator, admin, owner, suspected, confirmed, filed, about, confidential };
}

/** What only other rooms write. */
async function plantRows(
  tx: Tx,
  { person, suspected, confirmed, moderator }: Pick<Planted, "person" | "suspected" | "confirmed" | "moderator">,
) {
  const { db, now } = tx;
  const link = { propagates: false, status: "active", createdBy: moderator.id, createdAt: now, updatedAt: now };
  const pairOf = (a: string, b: string) => (a < b ? { userA: a, userB: b } : { userA: b, userB: a });
  for (const [user, confidence] of [
    [suspected, "suspected"],
    [confirmed, "confirmed"],
  ] as const) {
    const pair = pairOf(person.id, user.id);
    const activeKey = `${pair.userA}:${pair.userB}`;
    await db.accountLink.create({
      data: { ...link, ...pair, activeKey, confidence, kind: "suspected_evasion", basis: [{ type: "other", note: words.staffNote }] },
    });
  }
  await db.guildMember.create({
    data: {
      guildId: "613425648685547000",
      userId: person.id,
      username: words.name,
      nick: words.name,
      roleIds: [],
      present: false,
      updatedAt: now,
    },
  });
  await db.staffProfile.create({ data: { userId: person.id, department: "Quay", timezone: "UTC", updatedAt: now } });
  const entry = { permission: "staff.read", effect: "deny", reason: words.permission, createdBy: moderator.id, createdAt: now };
  await db.userPermission.create({ data: { userId: person.id, ...entry } });
  await db.userPermissionSet.upsert({ where: { userId: person.id }, create: { userId: person.id, updatedAt: now }, update: {} });
  await db.privacySession.create({ data: { cookieHash: "cookie", userId: person.id, createdAt: now, expiresAt: now } });
  await db.workflowRequest.create({
    data: {
      reference: "PCH-REQ-000001",
      type: "poach",
      status: "pending",
      priority: "normal",
      urgent: false,
      title: "Poaching",
      summary: "",
      payload: {},
      extra: {},
      requesterId: person.id,
      requesterName: words.name,
      requestedVia: "slash",
      evidence: [],
      related: [],
      approvalsRequired: 1,
      links: [],
      createdAt: now,
      updatedAt: now,
    },
  });
}
