// @module-tag sqlite
import { expect, test } from "vitest";
import { tier } from "../support/size.ts";
import { createWorld, type World } from "../support/world.ts";
import { document } from "./document.ts";
import { createClient, type Answered, type Asked } from "../support/client.ts";
import { outcomeOf, permissionsOf, policyRoutes, type PolicyRoute } from "./policy.ts";
import { createKeyRing, createPeople, type Key, type Person } from "./policy-cast.ts";
import { everyRow } from "./world.ts";

/** One question to the service, and what the page says about it. */
interface Cell {
  name: string;
  route: PolicyRoute;
  path: string;
  person: Person;
  key: Key;
  /** Whether the person of the path asks. */
  isOwn: boolean;
  expected: string;
}

type Problem = Record<"code" | "required" | "missing_in", string>;

/** Whatever an allowed call may answer when nothing is changed: the content, the record or the state is at fault. */
const allowedStatuses = { read: [200, 404, 409, 422, 501], write: [422, 501] };
/** No route takes this body, so that an allowed write ends there. */
const impossible = '{"nonsense":1}';
/** A stream that is opened would stay open, and an export is written down. */
const queries: Record<string, string> = {
  "GET /events": "?after=nonsense",
  "GET /audit/export": "?via=nonsense",
  "GET /blacklist/export": "?format=nonsense",
};
const noRecord = "0199f3a0-0000-7000-8000-000000000000";

/** Values of the path for parameters that are neither a person nor what the permission depends on. */
const values: Record<string, string> = { key: "viewer", role_key: "viewer", type: "poach", code: "rate_limited" };
const personOf = (path: string): string | undefined => /\{(\w*user_id)\}/.exec(path)?.[1];

function fill(path: string, given: Record<string, string>): string {
  return path.replaceAll(/\{(\w+)\}/g, (_whole, name: string) => given[name] ?? values[name] ?? noRecord);
}

/** Every cell of a route, by the permission it asks for: a route about kinds of requests asks for one of each kind. */
function cellsOf(
  route: PolicyRoute,
  people: readonly Person[],
  other: string,
  keysOf: (permission: string | null) => readonly Key[],
): Cell[][] {
  const about = personOf(route.path);
  return permissionsOf(route).map(({ permission, values: given }) =>
    keysOf(permission).flatMap((key) =>
      people.flatMap((person) =>
        (about === undefined || person.id === null ? [false] : [false, true]).map((isOwn) => {
          const path = fill(route.path, { ...given, ...(about !== undefined && { [about]: isOwn ? (person.id ?? other) : other }) });
          const whose = about === undefined ? "" : isOwn ? ", their own" : ", another's";
          const expected = outcomeOf(route, permission, { key: key.key, actor: person.actor }, isOwn);
          return { name: `${route.method} ${path}: ${person.name}, ${key.name}${whose}`, route, path, person, key, isOwn, expected };
        }),
      ),
    ),
  );
}

/** Of so many cells one is asked besides. It has no divisor in common with the numbers of people and keys, so that all their pairs occur. */
const stride = 37;

/** What the quick tier asks of a route and a permission. */
function spread(cells: readonly Cell[], start: number): Cell[] {
  const exact = cells.some(({ key }) => key.name === "exactly it, trusted") ? "exactly it, trusted" : "everything, trusted";
  const isTelling = ({ person, key, isOwn }: Cell): boolean => {
    // Everybody with just this scope: whom the permission lets in.
    if (key.name === exact) return true;
    // An owner with every kind of scopes, and nobody with those that act for themselves: what of a key the route takes.
    const [isTrusted, isSystem] = [key.name.endsWith(", trusted"), key.name.includes("system.act")];
    if (person.id === null) return isTrusted && isSystem;
    return person.name === "owner" && !isOwn && (key.name === "no key" || (isTrusted && !isSystem));
  };
  const kept = cells.filter((cell, index) => (index + start) % stride === 0 || isTelling(cell));
  // Each outcome the page has for the route.
  const shown = new Set(kept.map(({ expected }) => expected));
  return [...kept, ...cells.filter(({ expected }) => !shown.has(expected) && shown.add(expected))];
}

/** What goes over the wire for a cell. */
async function requestOf({ route: { method }, path, person, key }: Cell): Promise<Asked> {
  const text = await key.text();
  const body = method === "GET" ? undefined : impossible;
  const proof = person.id === null ? undefined : key.prove?.({ method, path, userId: person.id, ...(body !== undefined && { body }) });
  const headers = {
    ...(text !== null && { authorization: `Bearer ${text}` }),
    ...(person.id !== null && { "x-acting-user": person.id }),
    ...(proof !== undefined && { "x-acting-assertion": proof }),
    ...(body !== undefined && { "content-type": "application/json", "content-length": body.length.toString() }),
  };
  return { method, headers, body };
}

/** What came of it, in the words of the page. */
function wordsFor({ method }: PolicyRoute, { status, headers, text }: Answered): string {
  const isProblem = headers["content-type"]?.includes("problem") === true;
  const { code = "", required = "", missing_in = "" } = (isProblem ? JSON.parse(text) : {}) as Partial<Problem>;
  const statuses = allowedStatuses[method === "GET" ? "read" : "write"];
  if (statuses.includes(status) && code !== "route_not_found") return "allowed";
  return code === "permission_denied" ? `403 ${code} ${required} missing in ${missing_in}` : `${status.toString()} ${code}`;
}

/** The class of the limit that an answer was counted against. */
const limitOf = ({ headers }: Answered): string | undefined => /^"(\w+)"/.exec(headers["ratelimit-policy"]?.toString() ?? "")?.[1];

/** Every row but those that follow Discord by themselves, and those that remember who looked at what. */
async function writtenRows(world: World): Promise<Record<string, string[]>> {
  const { Guild: _guilds, GuildRole: _roles, GuildMember: _members, DataRead: _reads, ...rows } = await everyRow(world);
  return rows;
}

test("every route answers every caller as the page of the policy says, and nothing changes by asking", async () => {
  const many = "100000/1";
  const limits = ["read", "write", "authorize", "export", "failed_auth"].map((name) => `${name}=${many}`).join(",");
  const world = await createWorld({ env: { RATE_LIMITS: limits } });
  const people = await createPeople(world);
  const other = await world.staff("viewer");
  const keysOf = await createKeyRing(world);
  const all = policyRoutes.flatMap((route) => cellsOf(route, people, other.id, keysOf));
  expect(all.flat().length).toBeGreaterThanOrEqual(10_000);
  const cells = all.flatMap((list, index) => (tier === "quick" ? spread(list, index) : list));
  const pairsIn = (list: readonly Cell[]) => new Set(list.map(({ person, key }) => `${person.name} ${key.name}`));
  expect(pairsIn(cells)).toEqual(pairsIn(all.flat()));
  // Keys are made before what is there is read.
  for (const { key } of cells) await key.text();

  const before = await writtenRows(world);
  const [wrong, seen] = [[] as string[], new Map<string, number>()];
  const limitsOf = new Map(policyRoutes.map((route) => [route, new Set<string>()]));
  const client = createClient(16);
  await client.each(cells, async (cell) => {
    const answered = await client.send(
      world.url + cell.path + (queries[`${cell.route.method} ${cell.route.path}`] ?? ""),
      await requestOf(cell),
    );
    const [outcome, limit] = [wordsFor(cell.route, answered), limitOf(answered)];
    if (outcome !== cell.expected) wrong.push(`${cell.name}\n    page: ${cell.expected}\n    service: ${outcome}`);
    if (limit !== undefined) limitsOf.get(cell.route)?.add(limit);
    const kind = cell.expected.replace(/ \S+ missing/, " missing");
    seen.set(kind, (seen.get(kind) ?? 0) + 1);
  });
  client.close();
  console.info(`${cells.length.toString()} cells of ${policyRoutes.length.toString()} routes:`, Object.fromEntries(seen));
  expect(wrong.length === 0 ? "" : `${wrong.length.toString()} cells differ:\n${wrong.slice(0, 20).join("\n")}`).toBe("");
  expect(await writtenRows(world)).toEqual(before);

  const counted = policyRoutes.map((route) => [`${route.method} ${route.path}`, [...(limitsOf.get(route) ?? [])]]);
  expect(counted).toEqual(policyRoutes.map((route) => [`${route.method} ${route.path}`, route.limit === null ? [] : [route.limit]]));
  expect(policyRoutes.length).toBe(Object.values(document.paths).flatMap((methods) => Object.keys(methods)).length);
});
