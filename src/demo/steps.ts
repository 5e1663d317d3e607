import type { Role, User } from "../sandbox/index.ts";
import type { Stage } from "./stage.ts";

interface Step {
  title: string;
  play(stage: Stage): Promise<void>;
}

const staffRoles = [
  { key: "owner", name: "Owner", rank: 100, level: "owner", role: "owner" },
  { key: "admin", name: "Admin", rank: 80, level: "admin", role: "admin" },
  { key: "senior-moderator", name: "Senior Moderator", rank: 60, level: "senior", role: "seniorModerator" },
  { key: "moderator", name: "Moderator", rank: 40, level: "moderator", role: "moderator" },
  { key: "viewer", name: "Viewer", rank: 10, level: "viewer", role: "viewer" },
] as const;

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
  { title: "Refresh reads the servers again", play: refresh },
  { title: "In Discord: /blacklist check and /staff access", play: slashCommands },
  { title: "A request over REST, decided in Discord, read over REST", play: secondDoor },
  { title: "Every kind of request is taken", play: everyKind },
  { title: "Bad input and missing rights are refused, and change nothing", play: refusals },
  { title: "A role removed in Discord ends access", play: removeRole },
  { title: "The audit trail holds it all, and verifies", play: audit },
];

async function isUp({ ask, check, until }: Stage): Promise<void> {
  const took = await until(async () => (await ready(ask)) === "pass", 10_000, "the guild state");
  const { body } = await ask("GET", "/health");
  check(`ready ${took.toFixed(0)} ms after the server, status ${String(body.status)}`, body.status === "ok");
  check(`${String(body.routes.length)} routes are listed, callsigns and roster as not supported`, body.routes.some((entry: any) => entry.path === "/callsigns/next" && !entry.supported));
}

async function ready(ask: Stage["ask"]): Promise<string> {
  return (await ask("GET", "/health")).body.checks.guild_state.status;
}

async function setUpStaffRoles(stage: Stage): Promise<void> {
  const guild = stage.sandbox.seeded.guilds["harbour"]?.id;
  for (const { role, key, ...body } of staffRoles) {
    const discord = [{ guild_id: guild, role_id: roleOf(stage, role).id }];
    await stage.ask("PUT", `/staffroles/${key}`, { actor: user(stage, "olivia").id, body: { ...body, discord } });
  }
  const { body } = await stage.ask("GET", "/staffroles");
  stage.check("five staff roles, none with a missing Discord role", body.data.length === 5 && body.data.every((entry: any) => !entry.discord[0].missing));
}

async function mapPermissions({ ask, check, ...stage }: Stage): Promise<void> {
  const { olivia } = stage.sandbox.seeded.users;
  await ask("PUT", "/permissions/roles/viewer", { actor: olivia?.id ?? "", body: { allow: ["blacklist.read"], deny: [] } });
  const catalog = await ask("GET", "/permissions/catalog?limit=200");
  check(`${String(catalog.body.data.length)} permissions in the catalog`, catalog.body.data.length > 80);
}

async function readStaff(stage: Stage): Promise<void> {
  const mona = user(stage, "mona").id;
  const access = await stage.ask("GET", `/staff/${mona}/access`);
  stage.check("mona is a moderator by her Discord role", access.body.data.level === "moderator" && access.body.data.reasons[0].code === "role_mapping");
  await stage.ask("GET", `/staff/${mona}/profile`);
  const list = await stage.ask("GET", "/staff");
  stage.check("five people are staff", list.body.data.length === 5);
  const stranger = await stage.ask("GET", `/staff/${user(stage, "rogue").id}/access`);
  stage.check("a member without a staff role has no access, and is told why", !stranger.body.data.allowed && stranger.body.data.reasons[0].code === "not_member");
}

async function authorize(stage: Stage): Promise<void> {
  const rogue = user(stage, "rogue");
  await stage.ask("GET", `/users/${rogue.id}/servers`, { expect: 409 });
  const session = await stage.ask("POST", "/authorize/sessions", {
    actor: user(stage, "mona").id,
    body: { discord_user_id: rogue.id },
    expect: 201,
  });
  const { hops, status } = await stage.sandbox.as(rogue).authorize(session.body.url, { approve: true });
  for (const hop of hops) stage.say(`   browser: ${hop.method} ${hop.url.replace(/\?.*/, "?…").replace(/(authorize\/)[\w-]{30,}/, "$1…")} -> ${hop.status.toString()}`);
  stage.check("the person ended on our page", status === 200);
  const again = await stage.ask("POST", "/authorize/sessions", { actor: user(stage, "mona").id, body: { discord_user_id: rogue.id }, expect: 201 });
  const wrong = await stage.sandbox.as(user(stage, "helen")).authorize(again.body.url, { approve: true });
  stage.check("another account that finishes the session is refused", wrong.status !== 200 || /wrong-account/.test(wrong.redirectedTo));
}

async function readServers(stage: Stage): Promise<void> {
  const rogue = user(stage, "rogue").id;
  const status = await stage.ask("GET", `/users/${rogue}/authorization`);
  stage.check("the grant is active", status.body.data.status === "active");
  const servers = await stage.ask("GET", `/users/${rogue}/servers`, { actor: user(stage, "mona").id });
  stage.check("three servers are known", servers.body.data.length === 3);
}

async function blacklistServer(stage: Stage): Promise<void> {
  const quarry = stage.sandbox.seeded.guilds["quarry"];
  const body = {
    server_id: quarry?.id,
    server_name: quarry?.name,
    category: "raiding",
    severity: "high",
    member_policy: "flag",
    reason: "Organised three raids on us this month.",
  };
  const made = await stage.ask("POST", "/workflows/blacklist-server", { actor: user(stage, "mona").id, body, expect: 201 });
  stage.check(`reference ${String(made.body.reference)}, status pending`, made.body.reference === "BLS-REQ-000001" && made.body.status === "pending");
  const path = `/workflows/blacklist-server/${String(made.body.reference)}/decision`;
  const refused = await stage.ask("POST", path, { actor: user(stage, "mona").id, body: { decision: "approve" }, expect: 403 });
  stage.check(`the requester cannot decide (${String(refused.body.code)})`, true);
  const first = await stage.ask("POST", path, { actor: user(stage, "adam").id, body: { decision: "approve" } });
  stage.check("one of two approvals", !first.body.final && first.body.approvals.have === 1);
  const second = await stage.ask("POST", path, { actor: user(stage, "olivia").id, body: { decision: "approved" } });
  stage.check("approved by the second", second.body.final && second.body.status === "approved");
  const check = await stage.ask("POST", "/blacklist/check", { actor: user(stage, "mona").id, body: { server_ids: [quarry?.id] } });
  stage.check("the server is listed", check.body.data.servers[0].listed);
}

async function readMatches(stage: Stage): Promise<void> {
  const { body } = await stage.ask("GET", `/users/${user(stage, "rogue").id}/matches`, { actor: user(stage, "mona").id });
  stage.check("one match, with the rule that fired", body.data.length === 1 && body.data[0].kind === "server_blacklist" && body.data[0].why.length > 0);
}

async function refresh(stage: Stage): Promise<void> {
  const rogue = user(stage, "rogue").id;
  const actor = user(stage, "mona").id;
  const done = await stage.ask("POST", `/users/${rogue}/refresh`, { actor: user(stage, "olivia").id, body: { force: true } });
  stage.check("three servers still", done.body.data.servers.total === 3);
  const again = await stage.ask("POST", `/users/${rogue}/refresh`, { actor, expect: 429 });
  stage.check(`a second one has to wait (${String(again.body.code)})`, again.body.code === "refresh_cooldown");
}

async function slashCommands(stage: Stage): Promise<void> {
  const harbour = stage.sandbox.seeded.guilds["harbour"];
  if (harbour === undefined) throw new Error("the seed has no harbour");
  const quarry = stage.sandbox.seeded.guilds["quarry"]?.id ?? "";
  const adam = stage.sandbox.as(user(stage, "adam")).in(harbour);
  const listed = await command(stage, adam, "blacklist check", { ids: quarry });
  stage.check("the answer names the record", listed.includes("BL-000001"));
  const access = await command(stage, adam, "staff access", { user: user(stage, "mona") });
  stage.check("the answer names the level", /moderator/i.test(access));
}

async function secondDoor(stage: Stage): Promise<void> {
  const harbour = stage.sandbox.seeded.guilds["harbour"];
  if (harbour === undefined) throw new Error("the seed has no harbour");
  const body = { user_id: user(stage, "rogue").id, category: "raid", severity: "high", reason: "Led the raids from Quarry." };
  const made = await stage.ask("POST", "/workflows/blacklist-user", { actor: user(stage, "mona").id, body, expect: 201 });
  const adam = stage.sandbox.as(user(stage, "adam")).in(harbour);
  const first = await command(stage, adam, "review approve", { reference: String(made.body.reference) });
  stage.check("adam's vote is the first of two", /1 of 2/.test(first));
  const olivia = stage.sandbox.as(user(stage, "olivia")).in(harbour);
  const second = await command(stage, olivia, "review approve", { reference: String(made.body.reference) });
  stage.check("approved in Discord", /approved/i.test(second));
  const read = await stage.ask("GET", `/workflows/blacklist-user/${String(made.body.reference)}`, { actor: user(stage, "adam").id });
  stage.check("REST tells the same", read.body.data.status === "approved" && read.body.data.decision.by === user(stage, "olivia").id);
}

async function everyKind(stage: Stage): Promise<void> {
  const [harbour, lighthouse, quarry] = (["harbour", "lighthouse", "quarry"] as const).map((name) => stage.sandbox.seeded.guilds[name]?.id);
  const [one, two] = stage.sandbox.seeded.residents.map(({ id }) => id);
  const bodies: Record<string, object> = {
    investigation: { subject: { kind: "user", id: one }, allegation: "Repeated pings after being asked to stop." },
    recruitment: { user_id: two, position: "moderator" },
    "server-merge": { source_server_id: lighthouse, target_server_id: harbour, effective_at: "2030-01-01T00:00:00.000Z" },
    "alt-request": { user_ids: [one, two], confidence: "suspected", basis: [{ type: "behaviour", note: "Same phrases, same hours." }] },
    punishment: { user_id: one, action: "warning", reason: "Pings after being asked to stop." },
    poach: { kind: "report", offending_server_id: quarry, victim_server_id: harbour, occurred_at: "2026-01-01T00:00:00.000Z", reason: "Offered roles to our moderators." },
  };
  for (const [kind, body] of Object.entries(bodies)) {
    const made = await stage.ask("POST", `/workflows/${kind}`, { actor: user(stage, "mona").id, body, expect: 201 });
    stage.check(String(made.body.reference), /^[A-Z]{3}-REQ-000001$/.test(made.body.reference));
  }
}

async function refusals(stage: Stage): Promise<void> {
  const mona = user(stage, "mona").id;
  const before = await stage.ask("GET", "/workflows?limit=200", { actor: mona });
  const bad = await stage.ask("POST", "/workflows/blacklist-user", { actor: mona, body: { user_id: 42, category: "nonsense" }, expect: 422 });
  stage.check(`pointers: ${bad.body.errors.map((entry: any) => entry.pointer).join(" ")}`, bad.body.errors.length >= 2);
  await stage.ask("PUT", "/staffroles/moderator", { actor: mona, body: { name: "Mine", rank: 99, level: "admin", discord: [] }, expect: 403 });
  await stage.ask("POST", "/workflows/investigation", { body: { subject: { kind: "user", id: mona }, allegation: "No acting user here." }, expect: 403 });
  const after = await stage.ask("GET", "/workflows?limit=200", { actor: mona });
  stage.check("nothing was written", before.body.data.length === after.body.data.length);
}

async function removeRole(stage: Stage): Promise<void> {
  const mona = user(stage, "mona");
  stage.sandbox.seeded.guilds["harbour"]?.setRoles(mona, []);
  const took = await stage.until(async () => !(await stage.ask("GET", `/staff/${mona.id}/access`)).body.data.allowed, 1000, "the end of access");
  stage.check(`access ended ${took.toFixed(0)} ms after the role was removed in Discord`, took < 1000);
  const refused = await stage.ask("GET", "/blacklist", { actor: mona.id, expect: 403 });
  stage.check(`and her calls are refused (${String(refused.body.code)})`, refused.body.code === "acting_user_not_staff");
}

async function audit(stage: Stage): Promise<void> {
  const olivia = user(stage, "olivia").id;
  const list = await stage.ask("GET", "/audit?limit=200", { actor: olivia });
  const actions = new Set(list.body.data.map((entry: any) => String(entry.action)));
  stage.say(`   ${[...actions].toSorted().join(", ")}`);
  stage.check("decisions from both doors are in it", ["rest", "slash"].every((via) => list.body.data.some((entry: any) => entry.via === via)));
  const verified = await stage.ask("GET", "/audit/verify", { actor: olivia });
  stage.check(`the chain of ${String(verified.body.data.entries)} entries is whole`, verified.body.data.ok);
}

async function command(stage: Stage, who: ReturnType<ReturnType<Stage["sandbox"]["as"]>["in"]>, words: string, options: Record<string, string | User>): Promise<string> {
  const started = performance.now();
  const run = await who.runSlashCommand(words, options);
  const reply = await run.reply();
  const text = [reply.content, JSON.stringify(reply.embeds)].join(" ");
  stage.say(`   /${words} -> ${(performance.now() - started).toFixed(0)} ms  ${reply.content.replaceAll("\n", " | ")}`);
  return text;
}

function user(stage: Stage, name: string): User {
  const found = (stage.sandbox.seeded.users as Record<string, User>)[name];
  if (found === undefined) throw new Error(`the seed has no ${name}`);
  return found;
}

function roleOf(stage: Stage, name: string): Role {
  const found = (stage.sandbox.seeded.roles as Record<string, Role>)[name];
  if (found === undefined) throw new Error(`the seed has no role ${name}`);
  return found;
}
