import type { App } from "../../src/app.ts";
import { systemCall } from "../../src/kernel/call.ts";
import { type GuildHandle, type Role, type Sandbox, type User, createSandbox } from "../../sandbox/index.ts";
import { openApp } from "../targets/app.ts";
import { type Community, planCommunity } from "./community.ts";

/** A running service whose whole staff is known to it. */
export interface Staffed {
  app: App;
  sandbox: Sandbox;
  guild: GuildHandle;
  community: Community;
  /** The Discord role behind each staff role, by its key. */
  discordRoles: ReadonlyMap<string, Role>;
  /** The people of the community, in its order. */
  users: readonly User[];
  ids: readonly string[];
  /** Of a key that acts for a staff member, for reads. */
  headers: Readonly<Record<string, string>>;
  /** Of the same key acting for the owner, for writes. */
  ownerHeaders: Readonly<Record<string, string>>;
}

const patienceMs = 60_000;

/** Start the whole service on a database and a Discord of its own, with so many staff. `stop` removes everything. */
export async function startStaffed(size: number): Promise<{ staffed: Staffed; stop(): Promise<void> }> {
  const sandbox = await createSandbox({ record: false });
  const owner = sandbox.createUser("olivia");
  const guild = sandbox.createGuild({ name: "Harbour", owner });
  const community = planCommunity(size);
  const discordRoles = new Map(community.roles.map(({ key }) => [key, guild.createRole(key)]));
  const users = community.people.map(({ roles }, index) => {
    const user = sandbox.createUser(`staff${index.toString()}`);
    guild.addMember(user, { roles: rolesOf(discordRoles, roles) });
    return user;
  });
  const ids = users.map(({ id }) => id);
  const { app, stop } = await openApp(sandbox, owner.id);
  try {
    await store({ app, guild, community, discordRoles, ids });
    await app.start();
    await sandbox.waitFor(() => !app.guildState.freshness().stale && ids.every((id) => app.access.of(id).isStaff), patienceMs);
    const { key } = await app.keys.bootstrap(systemCall("cli", "bench"), { name: "bench" });
    const actingFor = (id: string) => ({ Authorization: `Bearer ${key}`, "X-Acting-User": id });
    const headers = { headers: actingFor(ids[0] ?? ""), ownerHeaders: actingFor(owner.id) };
    return { staffed: { app, sandbox, guild, community, discordRoles, users, ids, ...headers }, stop };
  } catch (error) {
    await stop();
    throw error;
  }
}

/** The Discord roles of some staff roles. */
export function rolesOf(discordRoles: ReadonlyMap<string, Role>, keys: readonly string[]): Role[] {
  return keys.flatMap((key) => discordRoles.get(key) ?? []);
}

/** Staff roles and entries as rows: ten thousand people are not set up one request at a time. */
async function store({ app, guild, community, discordRoles, ids }: Pick<Staffed, "app" | "guild" | "community" | "discordRoles" | "ids">) {
  const { roles, people } = community;
  await app.database.write(systemCall("cli", "bench"), async ({ db, now }) => {
    const times = { createdAt: now, updatedAt: now };
    await db.staffRole.createMany({ data: roles.map(({ key, rank, level }) => ({ key, name: key, rank, level, ...times })) });
    await db.staffRoleDiscordRole.createMany({
      data: [...discordRoles].map(([staffRoleKey, { id }]) => ({ staffRoleKey, guildId: guild.id, roleId: id })),
    });
    const rows = (effect: "allow" | "deny") =>
      roles.flatMap((role) => role[effect].map((permission) => ({ staffRoleKey: role.key, permission, effect })));
    await db.rolePermission.createMany({ data: [...rows("allow"), ...rows("deny")] });
    const entries = people.flatMap(({ entries }, index) =>
      entries.map(({ isLocal, ...entry }) => ({
        ...entry,
        userId: ids[index] ?? "",
        guildId: isLocal ? guild.id : null,
        reason: "made up",
        createdAt: now,
      })),
    );
    await db.userPermission.createMany({ data: entries });
  });
  await app.access.load();
}
