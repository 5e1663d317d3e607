import { blacklistServer, everyKind, secondDoor, slashCommands } from "./steps-requests.ts";
import type { Stage, List, Problem, Single } from "./stage.ts";
import type { AuditView } from "../features/audit/audit.schema.ts";
import type { AccessView, StaffEntryView } from "../features/staff/staff.schema.ts";
import type { AuthorizationView, RefreshView, SessionCreatedView } from "../features/authorization/authorization.schema.ts";
import type { MatchView, UserServerView } from "../features/intelligence/intelligence.schema.ts";
import type { HealthView } from "../features/health/health.schema.ts";
import type { CatalogView } from "../features/permissions/permissions.schema.ts";
import type { StaffRoleView } from "../features/staff/roles/roles.schema.ts";

interface Step {
  title: string;
  play(stage: Stage): Promise<void>;
}

/** The main job, from an empty installation to a verified audit trail. */
export const steps: readonly Step[] = [
  { title: "The service is up, and Discord is connected", play: isUp },
  { title: "Staff roles: Discord roles get a meaning", play: setUpStaffRoles },
  { title: "Permissions: one role gets one more", play: mapPermissions },
  { title: "Staff, from live guild state", play: readStaff },
  { title: "A person grants access: session, consent page, Discord, callback", play: authorize },
  { title: "Status and servers, as far as the consent goes", play: readServers },
  { title: "A server is proposed for the blacklist and approved by two", play: blacklistServer },
  { title: "Matches follow the decision at once", play: readMatches },
  { title: "A match is looked into", play: resolveMatch },
  { title: "Refresh reads the servers again", play: refresh },
  { title: "In Discord: /blacklist check and /staff access", play: slashCommands },
  { title: "A request over REST, decided in Discord, read over REST", play: secondDoor },
  { title: "Every kind of request is taken", play: everyKind },
  { title: "Bad input and missing rights are refused, and change nothing", play: refusals },
  { title: "A role removed in Discord ends access, and comes back with it", play: removeRole },
  { title: "The person takes their consent back", play: takeBack },
  { title: "The audit trail holds it all, and verifies", play: audit },
];

export async function refusals({ ask, check, sandbox }: Stage): Promise<void> {
  const { mona } = sandbox.seeded.users;
  const count = async (): Promise<number> => (await ask<List<unknown>>("GET", "/workflows?limit=200", { actor: mona.id })).body.data.length;
  const before = await count();
  const bad = await ask<Problem>("POST", "/workflows/blacklist-user", {
    actor: mona.id,
    body: { user_id: 42, category: "nonsense" },
    expect: 422,
  });
  const pointers = bad.body.errors.map(({ pointer }) => pointer);
  check(`pointers: ${pointers.join(" ")}`, pointers.includes("/user_id") && pointers.includes("/category"));
  const climb = { name: "Mine", rank: 99, level: "admin", discord: [] };
  await ask("PUT", "/staffroles/moderator", { actor: mona.id, body: climb, expect: 403 });
  const nobody = { subject: { kind: "user", id: mona.id }, allegation: "No acting user here." };
  await ask("POST", "/workflows/investigation", { body: nobody, expect: 403 });
  check("nothing was written", (await count()) === before);
}

export async function removeRole({ ask, peek, check, until, sandbox }: Stage): Promise<void> {
  const { guilds, users, roles } = sandbox.seeded;
  const path = `/staff/${users.mona.id}/access`;
  await ask("GET", path);
  guilds.harbour.setRoles(users.mona, []);
  const isAllowed = async (): Promise<boolean> => (await peek<Single<AccessView>>(path)).data.allowed;
  const took = await until(async () => !(await isAllowed()), 1000, "the end of access");
  await ask("GET", path);
  check(`access ended ${took.toFixed(0)} ms after the role was removed in Discord`, took < 1000);
  const refused = (await ask<Problem>("GET", "/blacklist", { actor: users.mona.id, expect: 403 })).body;
  check(`and her calls are refused (${refused.code})`, refused.code === "acting_user_not_staff");
  guilds.harbour.setRoles(users.mona, [roles.moderator]);
  await until(isAllowed, 1000, "access with the role that is back");
  await ask("GET", "/blacklist", { actor: users.mona.id });
  check("with the role she has access again", await isAllowed());
}

export async function audit({ ask, check, say, sandbox }: Stage): Promise<void> {
  const actor = sandbox.seeded.users.olivia.id;
  const entries = (await ask<List<AuditView>>("GET", "/audit?limit=200", { actor })).body.data;
  say(`   ${[...new Set(entries.map(({ action }) => action))].toSorted((a, b) => a.localeCompare(b)).join(", ")}`);
  const hasBoth = (["rest", "slash"] as const).every((door) => entries.some(({ via }) => via === door));
  check("decisions from both doors are in it", hasBoth);
  const verified = (await ask<Single<{ ok: boolean; entries: number }>>("GET", "/audit/verify", { actor })).body.data;
  check(`the chain of ${verified.entries.toString()} entries is whole`, verified.ok);
}

export async function authorize({ ask, check, say, sandbox }: Stage): Promise<void> {
  const { rogue, mona, helen } = sandbox.seeded.users;
  await ask("GET", `/users/${rogue.id}/servers`, { expect: 409 });
  const open = async (): Promise<string> =>
    (await ask<SessionCreatedView>("POST", "/authorize/sessions", { actor: mona.id, body: { discord_user_id: rogue.id }, expect: 201 }))
      .body.url;
  const done = await sandbox.as(rogue).authorize(await open(), { approve: true });
  for (const { method, url, status } of done.hops) say(`   browser: ${method} ${withoutSecrets(url)} -> ${status.toString()}`);
  check("the person ended on our page", done.status === 200 && done.redirectedTo.endsWith("/authorize/result/done"));
  const wrong = await sandbox.as(helen).authorize(await open(), { approve: true });
  check("another account that finishes a session is refused", wrong.redirectedTo.endsWith("/authorize/result/wrong-account"));
}

export async function readServers({ ask, check, sandbox }: Stage): Promise<void> {
  const { rogue, mona } = sandbox.seeded.users;
  const { status } = (await ask<Single<AuthorizationView>>("GET", `/users/${rogue.id}/authorization`)).body.data;
  check("the grant is active", status === "active");
  const servers = (await ask<List<UserServerView>>("GET", `/users/${rogue.id}/servers`, { actor: mona.id })).body.data;
  check("three servers are known", servers.length === 3);
}

export async function readMatches({ ask, check, sandbox }: Stage): Promise<void> {
  const { rogue, mona } = sandbox.seeded.users;
  const [match, ...others] = (await ask<List<MatchView>>("GET", `/users/${rogue.id}/matches`, { actor: mona.id })).body.data;
  check("one match, with the rule that fired", match?.kind === "server_blacklist" && match.why.length > 0 && others.length === 0);
}

export async function resolveMatch({ ask, check, sandbox }: Stage): Promise<void> {
  const { rogue, olivia } = sandbox.seeded.users;
  const path = `/users/${rogue.id}/matches`;
  const [match] = (await ask<List<MatchView>>("GET", path, { actor: olivia.id })).body.data;
  const body = { outcome: "acknowledge", reason: "Asked the person to leave." };
  const { status } = (await ask<Single<MatchView>>("POST", `${path}/${match?.id ?? ""}/resolution`, { actor: olivia.id, body })).body.data;
  check("a person's word about it is kept", status === "acknowledged");
}

/** Last of all: what was read is gone at once. */
export async function takeBack({ ask, check, sandbox }: Stage): Promise<void> {
  const { rogue } = sandbox.seeded.users;
  const { status } = (await ask<Single<AuthorizationView>>("DELETE", `/users/${rogue.id}/authorization`, { actor: rogue.id })).body.data;
  check("the grant is over", status === "revoked");
  await ask("GET", `/users/${rogue.id}/servers`, { expect: 409 });
}

export async function refresh({ ask, check, sandbox }: Stage): Promise<void> {
  const { rogue, mona, olivia } = sandbox.seeded.users;
  const path = `/users/${rogue.id}/refresh`;
  const done = (await ask<Single<RefreshView>>("POST", path, { actor: olivia.id, body: { force: true } })).body.data;
  check("three servers still", done.servers.total === 3);
  const again = (await ask<Problem>("POST", path, { actor: mona.id, expect: 429 })).body;
  check(`a second one has to wait (${again.code})`, again.code === "refresh_cooldown");
}

function withoutSecrets(url: string): string {
  return url.replace(/\?.*/, "?…").replace(/(authorize\/)[\w-]{30,}/, "$1…");
}

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
