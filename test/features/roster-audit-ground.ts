import { expect } from "vitest";
import type { Tx } from "../../src/database/database.ts";
import { systemCall } from "../../src/kernel/call.ts";
import { uuid7 } from "../../src/kernel/ids.ts";
import type { User } from "../../sandbox/index.ts";
import type { Answer, Level, World } from "../support/world.ts";

/** No follower and no night between what a test plants and what it asks. */
export const still = { ROSTER_FOLLOWS_DISCORD: "false", ROSTER_AUDIT_HOUR: "off" } as const;
export const cause = { causeReference: null, permission: "system.act" } as const;
export const dayMs = 86_400_000;
export const ago = (days: number): Date => new Date(Date.now() - days * dayMs);

export const job = () => systemCall("job", uuid7());

/** Change rows as another part of the service would. */
export const write = <T>(world: World, work: (tx: Tx) => Promise<T>): Promise<T> => world.app.database.write(job(), work);

export const ok = ({ status, body }: Answer): any => {
  expect({ isDone: status < 300, body }).toEqual({ isDone: true, body });
  return body;
};

/** Put somebody on the roster, as a request would. */
export async function employ(world: World, { id: userId }: User, staffRole: string | null, trialDays = 0): Promise<void> {
  await write(world, (tx) => world.app.roster.beginTrialInTx(tx, { ...cause, userId, staffRole, trialDays }));
}

/** Somebody who holds the Discord role of their staff role and stands on the roster with it. */
export async function hire(world: World, level: Level, name?: string): Promise<User> {
  const user = await world.staff(level, name);
  await employ(world, user, level);
  return user;
}

export async function addPool(world: World, key: string, nicknameTemplate: string | null = null, template = "M-{n:03}"): Promise<void> {
  const shape = { template, ranges: [[1, 99]], reserved: [], skip: [], rankBands: {} };
  await write(world, ({ db, now }) =>
    db.callsignPool.create({ data: { key, name: key, ...shape, nicknameTemplate, createdAt: now, updatedAt: now } }),
  );
}

export async function giveCallsign(world: World, { id: userId }: User, pool: string): Promise<string> {
  const { slot } = await write(world, (tx) => world.app.callsigns.allocateInTx(tx, { ...cause, userId, pool }));
  return slot.callsign;
}

/** A staff role as the operator sets it. */
export async function setRole(world: World, level: Level, more: { capacity?: number; callsign_pool?: string }): Promise<void> {
  const { key, name, rank, level: grade, discord } = world.app.access.role(level) ?? expect.fail(level);
  const mapped = discord.map(({ guildId, roleId }) => ({ guild_id: guildId, role_id: roleId }));
  await world.app.staff.roles.put(systemCall("cli", uuid7()), key, { name, rank, level: grade, discord: mapped, ...more });
}

/** Change an entry behind the back of the roster. */
export async function change(world: World, { id: userId }: User, data: object): Promise<void> {
  await write(world, ({ db }) => db.rosterEntry.update({ where: { userId }, data }));
}

/** Whatever is planted, by the kind of finding it is. Each answers whom the finding is about. */
export const plants: Record<string, (world: World) => Promise<string | null>> = {
  async left_guild(world) {
    const user = await hire(world, "viewer");
    world.guild.kick(user);
    await world.sandbox.waitFor(() => !world.app.access.of(user.id).isInGuild, 60_000);
    return user.id;
  },
  async missing_role(world) {
    const user = await hire(world, "viewer");
    world.guild.setRoles(user, []);
    await world.sandbox.waitFor(() => world.app.access.of(user.id).held.length === 0, 60_000);
    return user.id;
  },
  async extra_role(world) {
    const user = await hire(world, "viewer");
    world.guild.setRoles(user, [world.roles.viewer, world.roles.moderator]);
    await world.sandbox.waitFor(() => world.app.access.of(user.id).held.length === 2, 60_000);
    return user.id;
  },
  async unmapped_staff_role(world) {
    const user = world.member();
    await employ(world, user, "ghost");
    return user.id;
  },
  role_without_entry: async (world) => (await world.staff("viewer")).id,
  callsign_missing: async (world) => (await hire(world, "moderator")).id,
  async callsign_duplicate(world) {
    for (const pool of ["copy-a", "copy-b"]) {
      await addPool(world, pool, null, "C-{n:03}");
      await giveCallsign(world, await hire(world, "viewer"), pool);
    }
    return null;
  },
  async nickname_mismatch(world) {
    const user = await hire(world, "moderator", "wrongly-named");
    await giveCallsign(world, user, "main");
    return user.id;
  },
  async trial_overdue(world) {
    const user = await world.staff("viewer");
    await employ(world, user, "viewer", 7);
    await change(world, user, { trialEndsAt: ago(2) });
    return user.id;
  },
  async loa_overdue(world) {
    const user = await hire(world, "viewer");
    await change(world, user, { status: "loa" });
    return user.id;
  },
  async inactive_n_days(world) {
    const user = await hire(world, "viewer");
    await change(world, user, { joinedAt: ago(100) });
    await write(world, ({ db }) => db.rosterEvent.updateMany({ where: { userId: user.id }, data: { recordedAt: ago(100) } }));
    return user.id;
  },
  async suspended_with_access(world) {
    const user = await hire(world, "viewer");
    await write(world, (tx) => world.app.roster.moveInTx(tx, user.id, { ...cause, event: "suspended" }));
    return user.id;
  },
  async blacklisted_staff(world) {
    const user = await hire(world, "viewer");
    const shape = {
      kind: "user",
      subjectId: user.id,
      scope: "servers",
      category: "other",
      severity: "low",
      severityOrder: 0,
      source: "direct",
    };
    const lists = { serverIds: [], exemptUserIds: [], evidence: [], tags: [], approvedBy: [] };
    await write(world, ({ db, now }) =>
      db.blacklistRecord.create({
        data: { ...shape, ...lists, number: 900, status: "active", startsAt: now, createdAt: now, updatedAt: now },
      }),
    );
    return user.id;
  },
  async open_match_on_staff(world) {
    const user = await hire(world, "viewer");
    const shape = { kind: "server", recordId: uuid7(), recordReference: "BL-000901", recordRevision: 1, severity: "high", confidence: 90 };
    await write(world, ({ db, now }) =>
      db.match.create({ data: { ...shape, userId: user.id, status: "open", why: [], firstSeenAt: now, lastSeenAt: now } }),
    );
    return user.id;
  },
  async stale_authorization(world) {
    const user = await hire(world, "viewer");
    const shape = { status: "expired", scopes: ["guilds"], purposes: [], consentVersion: "2" };
    await write(world, ({ db }) => db.authorization.create({ data: { ...shape, userId: user.id, grantedAt: ago(60) } }));
    return user.id;
  },
  async rank_over_capacity(world) {
    await setRole(world, "senior", { capacity: 1 });
    await hire(world, "senior");
    await hire(world, "senior");
    return null;
  },
  async override_expiring(world) {
    const user = await hire(world, "viewer");
    const owner = await hire(world, "owner");
    const entry = {
      key: "users.refresh",
      effect: "allow",
      expires_at: new Date(Date.now() + 3 * dayMs).toISOString(),
      reason: "for a while",
    };
    ok(await world.patch(`/permissions/users/${user.id}`, { overrides: [entry] }, { actor: owner }));
    return user.id;
  },
  async linked_alt_on_roster(world) {
    const pair = [await hire(world, "viewer"), await hire(world, "viewer")].map(({ id }) => id).toSorted();
    const [userA = "", userB = ""] = pair;
    const shape = {
      confidence: "confirmed",
      kind: "declared_alt",
      basis: [],
      propagates: false,
      status: "active",
      activeKey: pair.join(":"),
    };
    await write(world, ({ db, now }) => db.accountLink.create({ data: { ...shape, userA, userB, createdAt: now, updatedAt: now } }));
    return userA;
  },
};

/** Run the audit as somebody. */
export const run = async (world: World, actor: User, body: object = {}) => ok(await world.post("/roster/audit", body, { actor })).data;

/** The findings of one person, or of nobody, as `code`. */
export const codesAbout = (report: any, userId: string | null): string[] =>
  report.findings.flatMap((one: any) => ((one.user?.id ?? null) === userId ? [one.code] : []));

export const findingOf = (report: any, code: string, userId: string | null): any =>
  report.findings.find((one: any) => one.code === code && (one.user?.id ?? null) === userId) ?? expect.fail(`no ${code}`);
