import { decisionPermissions, type Community, type Credential } from "./community.ts";
import { freshExample, freshId, writeRoutes, type DocumentedRoute } from "../contract/document.ts";
import { policyRoutes, type PolicyRoute } from "../contract/policy.ts";
import type { createDice } from "../support/dice.ts";
import type { World } from "../support/world.ts";

export type Dice = ReturnType<typeof createDice>;

/** Somebody who looks for a way to more than they have, with all they have learned on the way. */
export interface Climber {
  id: string;
  /** What they hold. */
  held: readonly string[];
  credentials: Credential[];
  /** Public ids and records of keys they have seen, and codes of changes that wait. */
  keyIds: string[];
  confirmations: string[];
}

/** One call over HTTP. */
export interface Ask {
  route: PolicyRoute;
  path: string;
  body: unknown;
  credential: Credential;
  /** The acting user that is named. */
  actor: string | undefined;
  /** The kind of request in the path or the body. */
  type: string | undefined;
}

/** One slash command of the climber. */
export interface Said {
  words: string;
  options: Parameters<World["slash"]>[2];
}

const because = "Because it is needed now.";
export const policyOf = ({ method, path }: Pick<DocumentedRoute, "method" | "path">): PolicyRoute => {
  const found = policyRoutes.find((route) => route.method === method && route.path === path);
  if (found === undefined) throw new Error(`${method} ${path} is not on the page`);
  return found;
};

type Body = (dice: Dice, climber: Climber, community: Community) => unknown;

const roleKeys = ["solo", "viewer", "moderator", "senior", "admin", "owner", "mine", "other"];
const levels = ["none", "viewer", "moderator", "senior", "admin", "owner"];
const others = ["permissions.users.manage", "clients.manage", "staff.suspend", "staff.read", "audit.read", "permissions.read"];

/** What somebody would like to have: mostly what they hold, as only that leads on. */
function wish(dice: Dice, { held }: Climber): string {
  return dice.chance(0.6) && held.length > 0 ? dice.pick(held) : dice.pick([...others, "*"]);
}
const permission = (dice: Dice, climber: Climber): string => wish(dice, climber).replace("*", "system.settings.manage");

function scopes(dice: Dice, climber: Climber): string[] {
  const one = wish(dice, climber);
  if (dice.chance(0.1)) return [`${one.split(".")[0] ?? ""}.*`];
  return dice.chance(0.2) ? [...new Set([one, wish(dice, climber)])] : [one];
}

function mappings(dice: Dice, { world: { guild }, discord }: Community): object[] {
  const roles = Object.values(discord).map(({ id }) => ({ guild_id: guild.id, role_id: id }));
  const { id } = discord.spare;
  if (dice.chance(0.4)) return [{ guild_id: guild.id, role_id: id }];
  return dice.chance(0.3) ? [] : [dice.pick(roles)];
}

const rank = (dice: Dice): number => dice.pick(dice.chance(0.7) ? [1, 5, 30, 45] : [50, 51, 90, 1000]);
const reasoned: Body = () => ({ reason: because });

const keyBody: Body = (dice, climber) => ({
  name: "mine",
  scopes: scopes(dice, climber),
  ...(dice.chance(0.6) && { delegation: "trusted" }),
  ...(dice.chance(0.2) && { expires_days: dice.pick([1, 30, 3650]) }),
});

const roleBody: Body = (dice, _climber, community) => ({
  name: "Mine",
  rank: rank(dice),
  level: dice.chance(0.7) ? "none" : dice.pick(levels),
  discord: mappings(dice, community),
});

/** Bodies that try to gain something; every other route is sent its example. */
const bodies: Readonly<Record<string, Body>> = {
  "POST /keys": keyBody,
  "PATCH /keys/{id}": (dice, climber) =>
    dice.pick([
      () => ({ scopes: scopes(dice, climber) }),
      () => ({ delegation: "trusted" }),
      () => ({ expires_days: dice.pick([1, 365, 3650]) }),
      () => ({ name: "renamed" }),
      () => ({ ip_allowlist: [] }),
    ])(),
  "POST /keys/{id}/rotate": (dice) => dice.pick([{}, { grace_seconds: 0 }, { grace_seconds: 3600 }, { expires_days: 3000 }]),
  "PUT /permissions/roles/{role_key}": (dice, climber) => ({ allow: [permission(dice, climber)], deny: [] }),
  "PATCH /permissions/roles/{role_key}": (dice, climber) => ({
    [dice.pick(["allow", "allow", "allow", "deny", "clear"])]: [permission(dice, climber)],
  }),
  "PATCH /permissions/users/{discord_user_id}": (dice, climber, { world }) => ({
    overrides: [
      {
        key: permission(dice, climber),
        effect: dice.pick(["allow", "allow", "allow", "deny", "clear"]),
        reason: because,
        ...(dice.chance(0.1) && { scope: world.guild.id }),
      },
    ],
  }),
  "DELETE /permissions/users/{discord_user_id}": reasoned,
  "PUT /staffroles/{key}": roleBody,
  "PATCH /staffroles/{key}": (dice, _climber, community) =>
    dice.pick([
      () => ({ level: dice.pick(levels) }),
      () => ({ level: dice.pick(["moderator", "senior", "admin"]) }),
      () => ({ rank: rank(dice) }),
      () => ({ discord: mappings(dice, community) }),
      () => ({ name: "Renamed" }),
    ])(),
  "DELETE /staffroles/{key}": () => ({}),
  "POST /staff/{discord_user_id}/suspend": reasoned,
  "POST /staff/{discord_user_id}/reinstate": reasoned,
  "POST /users/{discord_user_id}/redaction": () => ({ reason: because }),
  "POST /workflows/recruitment": (dice, climber) => ({
    user_id: dice.chance(0.5) ? climber.id : freshId(),
    position: dice.pick(["viewer", "moderator", "admin"]),
    reason: because,
  }),
  "POST /workflows/{type}/{website_id}/decision": (dice, { held }) => {
    const [kind = ""] = kindsOf(held);
    const own = Object.keys(decisionPermissions).filter((word) => held.includes(decisionPermissions[word]?.replace("{type}", kind) ?? ""));
    const decision = dice.pick(own.length > 0 && dice.chance(0.8) ? own : Object.keys(decisionPermissions));
    return {
      decision,
      reason: because,
      ...(decision === "request_info" && { questions: ["Where was that?"] }),
      ...(decision === "provide_info" && { answer: "In the harbour." }),
      ...(decision === "assign" && { assignee: "@me" }),
      ...(dice.chance(0.1) && (decision === "approve" || decision === "deny") && { override: true }),
    };
  },
};

/** Paths of records that every climber knows, with parts that they choose. */
function pathOf(dice: Dice, { path, method }: PolicyRoute, climber: Climber, { records, people }: Community): string {
  if (path.startsWith("/keys/{id}") && climber.keyIds.length > 0) return path.replace("{id}", dice.pick(climber.keyIds));
  if (path.startsWith("/confirmations/{id}") && climber.confirmations.length > 0)
    return path.replace("{id}", dice.pick(climber.confirmations));
  if (/^\/(staffroles|permissions\/roles)\//.test(path))
    return path.replace(/\{\w+\}/, dice.pick(dice.chance(0.7) ? ["mine", "viewer", "moderator"] : roleKeys));
  if (/^\/(staff|permissions\/users)\/\{discord_user_id\}/.test(path) || (path.endsWith("/redaction") && method === "POST"))
    return path.replace("{discord_user_id}", dice.chance(0.3) ? climber.id : dice.pick([...people.values()]));
  const filled = (): string => records.fill(path, dice.below(1_000_000));
  // Somebody who may decide about one kind looks for requests of that kind.
  const [kind] = kindsOf(climber.held);
  if (kind === undefined || !path.startsWith("/workflows/{type}")) return filled();
  const tried = Array.from({ length: 12 }, filled);
  return tried.find((one) => one.startsWith(`/workflows/${kind}/`)) ?? filled();
}

/** The kinds of requests that somebody has a permission about. */
const kindsOf = (held: readonly string[]): string[] => held.flatMap((key) => /^workflows\.([a-z-]+)\.\w+$/.exec(key)?.[1] ?? []);

const writes: readonly PolicyRoute[] = writeRoutes.map(policyOf);
/** Of the routes that a permission does not open, those that could give something are tried most. */
const tempting = writes.filter(({ path, method }) => bodies[`${method} ${path}`] !== undefined || path.startsWith("/confirmations"));

/** Every permission that a route may ask for, by the page, with the kind in its path. */
export function permissionsFor({ permission, either, also }: PolicyRoute, type: string | undefined): string[] {
  return [permission, ...either, also].flatMap((key) => (key === null ? [] : [key.replace("{type}", type ?? "poach")]));
}

const opens = (route: PolicyRoute, held: readonly string[]): boolean => {
  const keys = [route.permission, ...route.either].flatMap((key) => key ?? []);
  return keys.some((key) => held.some((one) => new RegExp(`^${key.replaceAll(".", "\\.").replace("{type}", "[^.]+")}$`).test(one)));
};
const openedBy = new Map<string, readonly PolicyRoute[]>();
function routesFor(held: readonly string[]): readonly PolicyRoute[] {
  const known = openedBy.get(held.join()) ?? writes.filter((route) => opens(route, held));
  openedBy.set(held.join(), known);
  return known;
}

function typeIn(route: PolicyRoute, path: string): string | undefined {
  const at = route.path.split("/").indexOf("{type}");
  return at === -1 ? undefined : path.split("/")[at];
}

/** Who is named as acting, with a key. */
function actorFor(dice: Dice, { names }: Credential, { id }: Climber, { people }: Community): string | undefined {
  if (names === "nobody") return undefined;
  if (names === "holder" || dice.chance(0.6)) return id;
  return dice.chance(0.15) ? undefined : dice.pick([...people.values()]);
}

/** A call that may lead somewhere: mostly through what the climber may do, else through anything. */
export function nextAsk(dice: Dice, climber: Climber, community: Community): Ask {
  const open = routesFor(climber.held);
  const route = open.length > 0 && dice.chance(0.7) ? dice.pick(open) : dice.pick(dice.chance(0.6) ? tempting : writes);
  const path = pathOf(dice, route, climber, community);
  const credential = dice.chance(0.3) ? (climber.credentials.at(-1) as Credential) : dice.pick(climber.credentials);
  const documented = writeRoutes.find((one) => one.method === route.method && one.path === route.path) as DocumentedRoute;
  const chosen = bodies[`${route.method} ${route.path}`];
  const body: unknown = chosen === undefined ? freshExample(documented) : chosen(dice, climber, community);
  return { route, path, body, credential, actor: actorFor(dice, credential, climber, community), type: typeIn(route, path) };
}

/** Slash commands that could give something. */
export function nextCommand(dice: Dice, climber: Climber, { people, discord, userOf }: Community): Said {
  const user = userOf(dice.chance(0.3) ? climber.id : dice.pick([...people.values()]));
  const key = dice.pick(roleKeys);
  const role = dice.pick(Object.values(discord)) as never;
  const client = climber.keyIds.length > 0 ? dice.pick(climber.keyIds) : "none";
  const code = climber.confirmations.length > 0 ? dice.pick(climber.confirmations) : "AAAAAA";
  const reason = because;
  return dice.pick<() => Said>([
    () => ({ words: "permission grant", options: { permission: permission(dice, climber), user, reason } }),
    () => ({ words: "permission deny", options: { permission: permission(dice, climber), user, reason } }),
    () => ({ words: "permission clear", options: { permission: permission(dice, climber), user, reason } }),
    () => ({ words: "permission role allow", options: { role: key, permission: permission(dice, climber) } }),
    () => ({ words: "staffrole create", options: { key, name: "Mine", level: dice.pick(levels), rank: rank(dice), "discord-role": role } }),
    () => ({ words: "staffrole map", options: { key, "discord-role": role } }),
    () => ({ words: "staffrole edit", options: { key, level: dice.pick(levels), rank: rank(dice) } }),
    () => ({ words: "staff reinstate", options: { user, reason } }),
    () => ({ words: "setup clients create", options: { name: "mine", scopes: scopes(dice, climber).join(" "), delegation: "trusted" } }),
    () => ({ words: "setup clients edit", options: { client, scopes: scopes(dice, climber).join(" ") } }),
    () => ({ words: "confirm accept", options: { code } }),
    () => ({ words: "confirm decline", options: { code } }),
  ])();
}
