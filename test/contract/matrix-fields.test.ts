// @module-tag sqlite
import { beforeAll, expect, test } from "vitest";
import { document } from "./document.ts";
import { outcomeOf, policyRoutes, type Caller } from "./policy.ts";
import { createPeople, type Person } from "./policy-cast.ts";
import { holds, matching, namesIn, policyFields, without, type PolicyFields } from "./policy-fields.ts";
import { createGround, scenesOf, type Scene } from "./policy-scenes.ts";
import { tier } from "../support/size.ts";
import { shareWorld } from "./world.ts";

const shared = shareWorld({ env: { SECOND_PERSON_FOR_DANGER: "true" } });
let people: Person[] = [];
let scenes: Scene[] = [];
beforeAll(async () => {
  people = await createPeople(shared.world);
  scenes = scenesOf(await createGround(shared.world, people));
});

const told = "audit.see_redactions";
/** Nothing in a world that is well has these. */
const neverStaged = new Set(["checks.*.reason", "service.commit"]);
const withRedacted = Object.entries(document.components.schemas).flatMap(([name, schema]) =>
  schema["properties"]?.redacted === undefined ? [] : [name],
);
const resources = [...new Set([...withRedacted, ...policyFields.map(({ resource }) => resource)])].toSorted();

/** Somebody who may pass the door of a scene. */
interface Viewer {
  caller: Caller;
  person: Person;
  scopes: string[];
  isAbout: boolean;
  /** Whether the quick tier asks for them, too, where there are many: it spreads keys with parts of what the fields depend on over the people. */
  isTelling: boolean;
}
const many = 20;

function subsets(items: readonly string[]): string[][] {
  return Array.from({ length: 2 ** items.length }, (_, bits) => items.filter((_item, place) => ((bits >> place) & 1) === 1));
}

const withType = (text: string, { type = "" }: Scene): string => text.replace("{type}", type);

/** The lines of the page about what a scene shows, for its kind of request. */
function rowsFor(scene: Scene): PolicyFields[] {
  return policyFields
    .filter(({ resource, isOfBlacklist }) => resource === scene.resource && (!isOfBlacklist || scene.type?.startsWith("blacklist")))
    .map((row) => ({ ...row, permissions: row.permissions.map((permission) => withType(permission, scene)) }));
}

/** Everybody who may pass the door, with keys that hold every part of what the fields depend on. */
function viewersOf(scene: Scene, rows: readonly PolicyFields[]): Viewer[] {
  const route = policyRoutes.find(({ method, path }) => `${method} ${path}` === scene.route);
  if (route === undefined) throw new Error(`${scene.route} is not on the page`);
  const permission = route.permission === null ? null : withType(route.permission, scene);
  const door = permission === null ? [] : [permission];
  const parts = new Set([told, ...(scene.dependsOn ?? []), ...rows.flatMap(({ permissions }) => permissions)]);
  parts.delete(permission ?? "");
  const kinds = [["*"], ...subsets([...parts]).map((part) => [...door, ...part])].filter((scopes) => scopes.length > 0);
  const viewers = kinds.flatMap((scopes, turn) =>
    people.flatMap((person, index) => {
      const caller: Caller = { key: { scopes, delegation: "trusted", isProved: false, refusal: null }, actor: person.actor };
      const isAbout = person.id !== null && person.id === scene.about;
      // Where everybody is answered about their own, those who may read the rest are asked.
      const isReader = !route.isPersonal || permission === null || holds(caller, permission);
      const isIn = isReader && outcomeOf(route, permission, caller, isAbout) === "allowed" && (scene.isAsked?.(caller, person) ?? true);
      const isTelling = isAbout || turn === 0 || turn === kinds.length - 1 || (index + turn) % 3 === 0;
      return isIn ? [{ caller, person, scopes, isAbout, isTelling }] : [];
    }),
  );
  return tier === "quick" && viewers.length > many ? viewers.filter(({ isTelling }) => isTelling) : viewers;
}

const keys = new Map<string, Promise<string>>();
async function look(scene: Scene, { id }: Person, scopes: string[]): Promise<Record<string, unknown>> {
  const { world } = shared;
  const name = scopes.join(", ");
  const key = keys.get(name) ?? world.makeKey(scopes);
  keys.set(name, key);
  const { status, body } = await scene.ask(world, { key: await key, ...(id !== null && { actor: id }) });
  expect(status, JSON.stringify(body)).toBeLessThan(300);
  return scene.pick(body) as Record<string, unknown>;
}

/** @returns the names there are in all, seen by an owner, and how many looked */
async function play(scene: Scene): Promise<{ full: Set<string>; looks: number }> {
  const owner = people.find(({ name }) => name === "owner");
  if (owner === undefined) throw new Error("there is no owner");
  const full = namesIn(await look(scene, owner, ["*"]));
  const rows = rowsFor(scene);
  const viewers = viewersOf(scene, rows);
  for (const { caller, person, scopes, isAbout } of viewers) {
    const isSeen = ({ isForPerson, permissions }: PolicyFields): boolean => {
      if (isForPerson && isAbout) return true;
      return permissions.length === 0 ? scene.isSeen?.(caller) === true : permissions.every((permission) => holds(caller, permission));
    };
    const hidden = rows.flatMap((row) => (isSeen(row) ? [] : row.names.flatMap((name) => matching(full, name)))).toSorted();
    const isTold = scene.isSilent !== true && hidden.length > 0 && holds(caller, told);
    const { redacted, ...view } = await look(scene, person, scopes);
    const who = `${scene.route}: ${person.name} with ${scopes.join(", ")}`;
    expect({ who, names: [...namesIn(view)].toSorted(), redacted }).toEqual({
      who,
      names: without(full, hidden),
      redacted: isTold ? [...new Set(hidden)] : undefined,
    });
  }
  return { full, looks: viewers.length };
}

test.each(resources)("%s shows every caller exactly the fields that the page gives them", async (resource) => {
  const shown: string[] = [];
  let looks = 0;
  for (const scene of scenes.filter((one) => one.resource === resource)) {
    const played = await play(scene);
    shown.push(...played.full);
    looks += played.looks;
  }
  expect(looks).toBeGreaterThanOrEqual(5);
  expect(shown).not.toContain("redacted");
  const listed = policyFields.flatMap((row) => (row.resource === resource ? row.names : []));
  expect(listed.filter((name) => !neverStaged.has(name) && matching(new Set(shown), name).length === 0)).toEqual([]);
});
