import { blacklistServer, everyKind, secondDoor, slashCommands } from "./steps-requests.ts";
import type { Stage } from "./stage.ts";

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

export async function refusals({ client, as, refused, check, sandbox }: Stage): Promise<void> {
  const { mona } = sandbox.seeded.users;
  const count = async (): Promise<number> => (await as(mona).GET("/workflows", { params: { query: { limit: 200 } } })).data.data.length;
  const before = await count();
  const wrong = { user_id: 42, category: "nonsense" } as never;
  const { errors } = await refused(422, as(mona).POST("/workflows/blacklist-user", { body: wrong }));
  const pointers = errors.map(({ pointer }) => pointer);
  check(`pointers: ${pointers.join(" ")}`, pointers.includes("/user_id") && pointers.includes("/category"));
  const climb = { name: "Mine", rank: 99, level: "admin" as const, discord: [] };
  await refused(403, as(mona).PUT("/staffroles/{key}", { params: { path: { key: "moderator" } }, body: climb }));
  const nobody = { subject: { kind: "user", id: mona.id }, allegation: "No acting user here." } as const;
  await refused(403, client.POST("/workflows/investigation", { body: nobody }));
  check("nothing was written", (await count()) === before);
}

export async function removeRole({ client, as, quiet, refused, check, until, sandbox }: Stage): Promise<void> {
  const { guilds, users, roles } = sandbox.seeded;
  const params = { path: { discord_user_id: users.mona.id } };
  await client.GET("/staff/{discord_user_id}/access", { params });
  guilds.harbour.setRoles(users.mona, []);
  const isAllowed = async (): Promise<boolean> => (await quiet.GET("/staff/{discord_user_id}/access", { params })).data.data.allowed;
  const took = await until(async () => !(await isAllowed()), 10_000, "the end of access");
  const { allowed } = (await client.GET("/staff/{discord_user_id}/access", { params })).data.data;
  check(`access ended ${took.toFixed(0)} ms after the role was removed in Discord`, !allowed);
  const { code } = await refused(403, as(users.mona).GET("/blacklist"));
  check(`and her calls are refused (${code})`, code === "acting_user_not_staff");
  guilds.harbour.setRoles(users.mona, [roles.moderator]);
  await until(isAllowed, 10_000, "access with the role that is back");
  await as(users.mona).GET("/blacklist");
  check("with the role she has access again", await isAllowed());
}

export async function audit({ as, check, say, sandbox }: Stage): Promise<void> {
  const olivia = as(sandbox.seeded.users.olivia);
  const entries = (await olivia.GET("/audit", { params: { query: { limit: 200 } } })).data.data;
  say(`   ${[...new Set(entries.map(({ action }) => action))].toSorted((a, b) => a.localeCompare(b)).join(", ")}`);
  const hasBoth = (["rest", "slash"] as const).every((door) => entries.some(({ via }) => via === door));
  check("decisions from both doors are in it", hasBoth);
  const verified = (await olivia.GET("/audit/verify")).data.data;
  check(`the chain of ${verified.entries.toString()} entries is whole`, verified.ok);
}

export async function authorize({ client, as, refused, check, say, sandbox }: Stage): Promise<void> {
  const { rogue, mona, helen } = sandbox.seeded.users;
  await refused(409, client.GET("/users/{discord_user_id}/servers", of(rogue)));
  const open = async (): Promise<string> => (await as(mona).POST("/authorize/sessions", { body: { discord_user_id: rogue.id } })).data.url;
  const done = await sandbox.as(rogue).authorize(await open(), { approve: true });
  for (const { method, url, status } of done.hops) say(`   browser: ${method} ${withoutSecrets(url)} -> ${status.toString()}`);
  check("the person ended on our page", done.status === 200 && done.redirectedTo.endsWith("/authorize/result/done"));
  const wrong = await sandbox.as(helen).authorize(await open(), { approve: true });
  check("another account that finishes a session is refused", wrong.redirectedTo.endsWith("/authorize/result/wrong-account"));
}

export async function readServers({ client, as, check, sandbox }: Stage): Promise<void> {
  const { rogue, mona } = sandbox.seeded.users;
  const { status } = (await client.GET("/users/{discord_user_id}/authorization", of(rogue))).data.data;
  check("the grant is active", status === "active");
  const servers = (await as(mona).GET("/users/{discord_user_id}/servers", of(rogue))).data.data;
  check("three servers are known", servers.length === 3);
}

export async function readMatches({ as, check, sandbox }: Stage): Promise<void> {
  const { rogue, mona } = sandbox.seeded.users;
  const [match, ...others] = (await as(mona).GET("/users/{discord_user_id}/matches", of(rogue))).data.data;
  check("one match, with the rule that fired", match?.kind === "server_blacklist" && match.why.length > 0 && others.length === 0);
}

export async function resolveMatch({ as, check, sandbox }: Stage): Promise<void> {
  const { rogue, olivia } = sandbox.seeded.users;
  const [match] = (await as(olivia).GET("/users/{discord_user_id}/matches", of(rogue))).data.data;
  const resolved = await as(olivia).POST("/users/{discord_user_id}/matches/{match_id}/resolution", {
    params: { path: { discord_user_id: rogue.id, match_id: match?.id ?? "" } },
    body: { outcome: "acknowledge", reason: "Asked the person to leave." },
  });
  check("a person's word about it is kept", resolved.data.data.status === "acknowledged");
}

/** Last of all: what was read is gone at once. */
export async function takeBack({ client, as, refused, check, sandbox }: Stage): Promise<void> {
  const { rogue } = sandbox.seeded.users;
  const { status } = (await as(rogue).DELETE("/users/{discord_user_id}/authorization", of(rogue))).data.data;
  check("the grant is over", status === "revoked");
  await refused(409, client.GET("/users/{discord_user_id}/servers", of(rogue)));
}

export async function refresh({ as, refused, check, sandbox }: Stage): Promise<void> {
  const { rogue, mona, olivia } = sandbox.seeded.users;
  const done = await as(olivia).POST("/users/{discord_user_id}/refresh", { ...of(rogue), body: { force: true } });
  check("three servers still", done.data.data.servers.total === 3);
  const { code } = await refused(429, as(mona).POST("/users/{discord_user_id}/refresh", of(rogue)));
  check(`a second one has to wait (${code})`, code === "refresh_cooldown");
}

const of = ({ id }: { id: string }) => ({ params: { path: { discord_user_id: id } } });

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

export async function isUp({ client, quiet, check, until }: Stage): Promise<void> {
  const isLive = async (): Promise<boolean> => (await quiet.GET("/health")).data.checks.guild_state.status === "pass";
  const took = await until(isLive, 10_000, "the guild state");
  const { data } = await client.GET("/health");
  check(`live ${took.toFixed(0)} ms after the server, status ${data.status}`, data.status === "ok");
  const optional = data.routes.filter(({ path }) => path.startsWith("/callsigns") || path.startsWith("/roster"));
  const isMarked = optional.length > 0 && optional.every(({ supported }) => supported);
  check(`${data.routes.length.toString()} routes are listed, callsigns and roster as supported`, isMarked);
}

export async function setUpStaffRoles({ client, as, check, sandbox }: Stage): Promise<void> {
  const { guilds, roles, users } = sandbox.seeded;
  for (const { role, key, ...body } of ladder) {
    const discord = [{ guild_id: guilds.harbour.id, role_id: roles[role].id }];
    await as(users.olivia).PUT("/staffroles/{key}", { params: { path: { key } }, body: { ...body, discord } });
  }
  const { data } = (await client.GET("/staffroles")).data;
  const isWhole = data.every(({ discord }) => discord.every(({ missing }) => !missing));
  check("five staff roles, none with a missing Discord role", data.length === ladder.length && isWhole);
}

export async function mapPermissions({ client, as, check, sandbox }: Stage): Promise<void> {
  const body = { allow: ["blacklist.read"], deny: [] };
  await as(sandbox.seeded.users.olivia).PUT("/permissions/roles/{role_key}", { params: { path: { role_key: "viewer" } }, body });
  const { data } = (await client.GET("/permissions/catalog", { params: { query: { limit: 200 } } })).data;
  check(`${data.length.toString()} permissions in the catalog`, data.length > 80);
}

export async function readStaff({ client, check, sandbox }: Stage): Promise<void> {
  const { mona, rogue } = sandbox.seeded.users;
  const access = (await client.GET("/staff/{discord_user_id}/access", of(mona))).data.data;
  check("mona is a moderator by her Discord role", access.level === "moderator" && access.reasons[0]?.code === "role_mapping");
  await client.GET("/staff/{discord_user_id}/profile", of(mona));
  const staff = (await client.GET("/staff")).data.data;
  check("five people are staff", staff.length === ladder.length);
  const stranger = (await client.GET("/staff/{discord_user_id}/access", of(rogue))).data.data;
  check("a member without a staff role has no access, and is told why", !stranger.allowed && stranger.reasons[0]?.code === "not_member");
}
