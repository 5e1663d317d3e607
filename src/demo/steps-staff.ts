import type { HealthView } from "../features/health/health.schema.ts";
import type { CatalogView } from "../features/permissions/permissions.schema.ts";
import type { StaffRoleView } from "../features/staff/roles/roles.schema.ts";
import type { AccessView, StaffEntryView } from "../features/staff/staff.schema.ts";
import type { List, Single, Stage } from "./stage.ts";

const ladder = [
  { key: "owner", name: "Owner", rank: 100, level: "owner", role: "owner" },
  { key: "admin", name: "Admin", rank: 80, level: "admin", role: "admin" },
  { key: "senior-moderator", name: "Senior Moderator", rank: 60, level: "senior", role: "seniorModerator" },
  { key: "moderator", name: "Moderator", rank: 40, level: "moderator", role: "moderator" },
  { key: "viewer", name: "Viewer", rank: 10, level: "viewer", role: "viewer" },
] as const;

export async function isUp({ ask, peek, check, until }: Stage): Promise<void> {
  const isLive = async (): Promise<boolean> => (await peek<HealthView>("/health")).checks.guild_state.status === "pass";
  const took = await until(isLive, 10_000, "the guild state");
  const { body } = await ask<HealthView>("GET", "/health");
  check(`live ${took.toFixed(0)} ms after the server, status ${body.status}`, body.status === "ok");
  const optional = body.routes.filter(({ path }) => path.startsWith("/callsigns") || path.startsWith("/roster"));
  const isMarked = optional.length > 0 && optional.every(({ supported }) => supported);
  check(`${body.routes.length.toString()} routes are listed, callsigns and roster as supported`, isMarked);
}

export async function setUpStaffRoles({ ask, check, sandbox }: Stage): Promise<void> {
  const { guilds, roles, users } = sandbox.seeded;
  for (const { role, key, ...body } of ladder) {
    const discord = [{ guild_id: guilds.harbour.id, role_id: roles[role].id }];
    await ask("PUT", `/staffroles/${key}`, { actor: users.olivia.id, body: { ...body, discord } });
  }
  const { data } = (await ask<List<StaffRoleView>>("GET", "/staffroles")).body;
  const isWhole = data.every(({ discord }) => discord.every(({ missing }) => !missing));
  check("five staff roles, none with a missing Discord role", data.length === ladder.length && isWhole);
}

export async function mapPermissions({ ask, check, sandbox }: Stage): Promise<void> {
  const actor = sandbox.seeded.users.olivia.id;
  await ask("PUT", "/permissions/roles/viewer", { actor, body: { allow: ["blacklist.read"], deny: [] } });
  const { data } = (await ask<List<CatalogView>>("GET", "/permissions/catalog?limit=200")).body;
  check(`${data.length.toString()} permissions in the catalog`, data.length > 80);
}

export async function readStaff({ ask, check, sandbox }: Stage): Promise<void> {
  const { mona, rogue } = sandbox.seeded.users;
  const access = (await ask<Single<AccessView>>("GET", `/staff/${mona.id}/access`)).body.data;
  check("mona is a moderator by her Discord role", access.level === "moderator" && access.reasons[0]?.code === "role_mapping");
  await ask("GET", `/staff/${mona.id}/profile`);
  const staff = (await ask<List<StaffEntryView>>("GET", "/staff")).body.data;
  check("five people are staff", staff.length === ladder.length);
  const stranger = (await ask<Single<AccessView>>("GET", `/staff/${rogue.id}/access`)).body.data;
  check("a member without a staff role has no access, and is told why", !stranger.allowed && stranger.reasons[0]?.code === "not_member");
}
