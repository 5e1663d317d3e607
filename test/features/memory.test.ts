// @module-tag both
import { beforeAll, describe, expect, onTestFinished, test } from "vitest";
import type { User } from "../../sandbox/index.ts";
import { systemCall } from "../../src/kernel/call.ts";
import { uuid7 } from "../../src/kernel/ids.ts";
import { execute } from "../database/sql.ts";
import { createTestDatabase } from "../support/database.ts";
import { createWorld, type World } from "../support/world.ts";

const reason = "Looking what memory does.";

let world: World;
let owner: User;
let channel: string;
beforeAll(async () => {
  let end = (): Promise<void> => Promise.resolve();
  world = await createWorld({ onEnd: (way) => (end = way) });
  owner = await world.staff("owner");
  channel = world.guild.createChannel("alerts").id;
  return () => end();
});

const sql = (text: string): Promise<void> => execute(world.databaseUrl, text);
const mayRead = async (actor: User): Promise<boolean> => (await world.get("/blacklist?limit=1", { actor })).status === 200;
const channelNow = async () => (await world.get("/channels", { actor: owner })).body.data[0].alerts;
const rulesNow = async () => (await world.get(`/guilds/${world.guild.id}/stance`, { actor: owner })).body.data.rules;
const keyStatus = async (key: string) => (await world.get("/blacklist?limit=1", { key })).status;
const deny = (userId: string, effect = "deny") =>
  world.patch(`/permissions/users/${userId}`, { overrides: [{ key: "blacklist.read", effect, reason }] }, { actor: owner });

async function makeKey() {
  const { body } = await world.post("/keys", { name: uuid7(), scopes: ["blacklist.read"] }, { actor: owner });
  expect(await keyStatus(body.data.key)).toBe(200);
  return body.data as { key: string; key_id: string };
}

interface Held {
  what: string;
  /** @returns what changes the database behind the service, and what memory says afterwards and said before */
  prepare(): Promise<{ change: string; now: () => unknown; before: unknown; after: unknown }>;
}

const held: Held[] = [
  {
    what: "what a person is denied",
    async prepare() {
      const person = await world.staff("moderator");
      await deny(person.id);
      return {
        change: `DELETE FROM user_permissions WHERE user_id = '${person.id}'`,
        now: () => mayRead(person),
        before: false,
        after: true,
      };
    },
  },
  {
    what: "a suspension",
    async prepare() {
      const person = await world.staff("moderator");
      await world.post(`/staff/${person.id}/suspend`, { reason }, { actor: owner });
      return {
        change: `DELETE FROM user_permissions WHERE user_id = '${person.id}'`,
        now: () => mayRead(person),
        before: false,
        after: true,
      };
    },
  },
  {
    what: "what a staff role is denied",
    async prepare() {
      const person = await world.staff("admin");
      const change = "INSERT INTO role_permissions (staff_role_key, permission, effect) VALUES ('admin', 'blacklist.read', 'deny')";
      return { change, now: () => mayRead(person), before: true, after: false };
    },
  },
  {
    what: "the Discord roles that stand for a staff role",
    async prepare() {
      const person = await world.staff("senior");
      const change = "DELETE FROM staff_role_discord_roles WHERE staff_role_key = 'senior'";
      return { change, now: () => mayRead(person), before: true, after: false };
    },
  },
  {
    what: "an owner",
    async prepare() {
      const person = world.member();
      await world.app.database.write(systemCall("cli", uuid7()), (tx) => world.app.permissions.addOwner(tx, person.id));
      const now = () => world.app.access.ownerSource(person.id);
      return { change: `DELETE FROM owners WHERE user_id = '${person.id}'`, now, before: "owners", after: null };
    },
  },
  {
    what: "a severe record about one of the staff",
    async prepare() {
      const person = await world.staff("moderator");
      const body = { kind: "user", subject_id: person.id, category: "raid", severity: "high", reason_public: reason };
      const { body: made } = await world.post("/blacklist", body, { actor: owner });
      const change = `UPDATE blacklist_records SET status = 'revoked' WHERE id = '${made.data.id as string}'`;
      return { change, now: () => mayRead(person), before: false, after: true };
    },
  },
  {
    what: "the channels of a guild, down to none",
    async prepare() {
      await world.put(`/channels/${world.guild.id}`, { alerts: channel }, { actor: owner });
      return { change: "DELETE FROM settings WHERE key LIKE 'channels:%'", now: channelNow, before: channel, after: null };
    },
  },
  {
    what: "the stance of a guild, down to none",
    async prepare() {
      await world.put(`/guilds/${world.guild.id}/stance`, { rules: [{ category: "raid", stance: "notify" }] }, { actor: owner });
      const now = async () => (await rulesNow()).length;
      return { change: "DELETE FROM settings WHERE key LIKE 'stance:%'", now, before: 1, after: 0 };
    },
  },
  {
    what: "a key, whose revision says nothing of it",
    async prepare() {
      const { key, key_id: id } = await makeKey();
      return {
        change: `UPDATE api_keys SET revoked_at = expires_at WHERE key_id = '${id}'`,
        now: () => keyStatus(key),
        before: 200,
        after: 401,
      };
    },
  },
  {
    what: "the name of a followed list",
    async prepare() {
      const { body } = await world.post("/lists", { name: "Harbour Watch", kind: "file" }, { actor: owner });
      const id = body.data.id as string;
      const change = `UPDATE followed_lists SET name = 'Bay Watch' WHERE id = '${id}'`;
      return { change, now: () => world.app.followedEntries.nameOf(id), before: "Harbour Watch", after: "Bay Watch" };
    },
  },
  {
    what: "somebody of whom everything was deleted",
    async prepare() {
      const person = await world.staff("viewer");
      const now = () => world.app.guildState.members(person.id).length;
      return { change: `DELETE FROM guild_members WHERE user_id = '${person.id}'`, now, before: 1, after: 0 };
    },
  },
];

describe("once a minute memory is compared with the database, and takes over", () => {
  test.each(held)("$what", async ({ prepare }) => {
    const { change, now, before, after } = await prepare();
    expect(await now()).toEqual(before);
    await sql(change);
    await world.app.runJobs();
    expect(await now()).toEqual(after);
  });

  test("who has linked accounts, whom lists may concern", async () => {
    const [one, other] = ["100000000000000001", "100000000000000002"];
    const [source] = world.app.listSources;
    expect(source?.mayList(one)).toBe(false);
    await world.app.database.write(systemCall("job", uuid7()), async ({ db, now }) => {
      const link = { userA: one, userB: other, activeKey: `${one}:${other}`, confidence: "confirmed", kind: "declared_alt", basis: [] };
      await db.accountLink.create({ data: { ...link, propagates: true, status: "active", createdAt: now, updatedAt: now } });
    });
    await world.app.runJobs();
    expect(source?.mayList(one)).toBe(true);
  });

  test("nothing where nothing differs: what was worked out stays", async () => {
    await world.app.runJobs();
    const { version } = world.app.access;
    await world.app.changes.compare();
    expect(world.app.access.version).toBe(version);
  });
});

describe("a request that finds everything as it wants it sets memory", () => {
  /** A change whose commit nobody heard of. */
  const raise = (table: string, where: string): string => `UPDATE ${table} SET revision = revision + 1 WHERE ${where}`;

  test("of what a person is denied", async () => {
    const person = await world.staff("moderator");
    await deny(person.id);
    await sql(`DELETE FROM user_permissions WHERE user_id = '${person.id}'; ${raise("user_permission_sets", `user_id = '${person.id}'`)}`);
    expect(await mayRead(person)).toBe(false);
    const again = await deny(person.id, "clear");
    expect(again.body.data).toMatchObject({ revision: 2, overrides: [] });
    expect(await mayRead(person)).toBe(true);
  });

  test("of what a staff role is denied", async () => {
    const person = await world.staff("moderator");
    const path = "/permissions/roles/moderator";
    await world.patch(path, { deny: ["blacklist.read"] }, { actor: owner });
    expect(await mayRead(person)).toBe(false);
    await sql(`DELETE FROM role_permissions WHERE staff_role_key = 'moderator'; ${raise("staff_roles", "key = 'moderator'")}`);
    expect((await world.patch(path, { clear: ["blacklist.read"] }, { actor: owner })).status).toBe(200);
    expect(await mayRead(person)).toBe(true);
  });

  test("of a staff role", async () => {
    const { name, rank, level } = (await world.get("/staffroles/admin", { actor: owner })).body.data;
    const discord = [{ guild_id: world.guild.id, role_id: world.roles.admin.id }];
    await sql(`UPDATE staff_roles SET name = 'Deck', revision = revision + 1 WHERE key = 'admin'`);
    expect(world.app.access.role("admin")?.name).toBe(name);
    const same = await world.put("/staffroles/admin", { name: "Deck", rank, level, discord }, { actor: owner });
    expect(same.status, JSON.stringify(same.body)).toBe(200);
    expect(world.app.access.role("admin")?.name).toBe("Deck");
  });

  test("of the channels and the stance of a guild", async () => {
    const updated = { updated_by: null, updated_at: "2026-01-01T00:00:00.000Z" };
    const channels = { channels: { review: null, alerts: channel, board: null }, muted_alerts: [], revision: 50, ...updated };
    await world.put(`/channels/${world.guild.id}`, {}, { actor: owner });
    await world.put(`/channels/${world.guild.id}`, { board: channel }, { actor: owner });
    await sql(`UPDATE settings SET value = '${JSON.stringify(channels)}' WHERE key LIKE 'channels:%'`);
    expect(await channelNow()).toBeNull();
    await world.put(`/channels/${world.guild.id}`, { alerts: channel }, { actor: owner });
    expect(await channelNow()).toBe(channel);

    const path = `/guilds/${world.guild.id}/stance`;
    await world.put(path, { rules: [{ category: "raid", stance: "notify" }] }, { actor: owner });
    await sql(`UPDATE settings SET value = '${JSON.stringify({ rules: [], revision: 50, ...updated })}' WHERE key LIKE 'stance:%'`);
    expect(await rulesNow()).toHaveLength(1);
    expect((await world.put(path, { rules: [] }, { actor: owner })).body.data.revision).toBe(50);
    expect(await rulesNow()).toEqual([]);
  });

  test("of a revoked key", async () => {
    const { key, key_id: id } = await makeKey();
    await sql(`UPDATE api_keys SET revoked_at = expires_at WHERE key_id = '${id}'`);
    expect((await world.delete(`/keys/${id}`, undefined, { actor: owner })).status).toBe(200);
    expect(await keyStatus(key)).toBe(401);
  });

  test("of a followed list", async () => {
    const { body } = await world.post("/lists", { name: "Cove Watch", kind: "file" }, { actor: owner });
    const id = body.data.id as string;
    await sql(`UPDATE followed_lists SET name = 'Cliff Watch', revision = revision + 1 WHERE id = '${id}'`);
    await world.patch(`/lists/${id}`, { name: "Cliff Watch" }, { actor: owner });
    expect(world.app.followedEntries.nameOf(id)).toBe("Cliff Watch");
  });
});

test("memory is compared where a commit fails that had begun, and where what it was to set fails", async () => {
  let followed = 0;
  const memory = { follow: () => void (followed += 1), caughtUp: () => Promise.resolve() };
  const { database, drop } = await createTestDatabase({ memory });
  onTestFinished(drop);
  const job = () => systemCall("job", uuid7());
  await database.write(job(), (tx) => Promise.resolve(tx.afterCommit(() => undefined)));
  await expect(database.write(job(), () => Promise.reject(new Error("no")))).rejects.toThrow("no");
  expect(followed).toBe(0);
  await database.write(job(), async (tx) => {
    await tx.db.setting.create({ data: { key: "a", value: 1 } });
    tx.afterCommit(() => {
      throw new Error("no memory");
    });
  });
  expect(followed).toBe(1);
  if (database.dialect === "postgres") return;
  const dangling = database.write(job(), async ({ db }) => {
    await db.$executeRaw`PRAGMA defer_foreign_keys = ON`;
    await db.staffRoleDiscordRole.create({ data: { guildId: "1", roleId: "1", staffRoleKey: "none" } });
  });
  await expect(dangling).rejects.toThrow();
  expect(followed).toBe(2);
});
