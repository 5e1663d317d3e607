import fc from "fast-check";
import { expect, test } from "vitest";
import type { RegistryService } from "../../src/features/servers/servers.service.ts";
import { ProblemError } from "../../src/kernel/errors.ts";
import { freshId } from "../contract/document.ts";
import { call, createRegister, hashOf } from "./servers-ground.ts";
import { runsOf } from "../support/size.ts";

type Register = Awaited<ReturnType<typeof createRegister>>;

/** Lines such as `1 alias 2`: members of 1 are concerned by records about 2. */
async function relationsOf({ facts, database }: Register, ids: readonly string[]): Promise<string[]> {
  const related = await facts.relatedTo(database.read, ids.map(hashOf));
  return related.map(({ of, serverId, hash, how }) => {
    expect(hash).toBe(hashOf(serverId));
    return `${of.slice("hash-".length)} ${how} ${serverId}`;
  });
}

/** The register as the rules have it: who is registered with which further ids, and what is part of what. */
type Model = Map<string, { aliases: string[]; into: string | null }>;

function expectedRelations(model: Model): string[] {
  const group = (id: string): string[] => [id, ...(model.get(id)?.aliases ?? [])];
  const above = (id: string): string[] => {
    const into = model.get(id)?.into ?? null;
    return into === null ? [] : [into, ...above(into)];
  };
  return [...model.keys()].flatMap((id) => {
    const merged = [...model.keys()].filter((other) => above(id).includes(other) || above(other).includes(id));
    return group(id).flatMap((of) => [
      ...group(id).flatMap((other) => (other === of ? [] : [`${of} alias ${other}`])),
      ...merged.flatMap(group).map((other) => `${of} merged ${other}`),
    ]);
  });
}

const server = fc.nat(6);
const aliases = fc.uniqueArray(server, { maxLength: 2 });
const step = fc.oneof(
  { weight: 1, arbitrary: fc.record({ kind: fc.constant("register" as const), server, aliases }) },
  { weight: 2, arbitrary: fc.record({ kind: fc.constant("alias" as const), server, aliases }) },
  { weight: 4, arbitrary: fc.record({ kind: fc.constant("merge" as const), server: fc.nat(4), into: fc.nat(4) }) },
  { weight: 1, arbitrary: fc.record({ kind: fc.constant("part" as const), server }) },
);
/** Enough servers for chains; some ids are left for aliases. */
const firstSteps: Step[] = [0, 1, 2, 3].map((index) => ({ kind: "register", server: index, aliases: [] }));
type Step = typeof step extends fc.Arbitrary<infer T> ? T : never;

test("whatever is registered, merged and parted: relations hold both ways, never with oneself, and whoever's changed is compared again", async () => {
  const register = await createRegister();
  const { registry, compared } = register;
  await fc.assert(
    fc.asyncProperty(fc.array(step, { minLength: 6, maxLength: 16 }), async (steps) => {
      const ids = Array.from({ length: 7 }, freshId);
      const model: Model = new Map();
      let before: string[] = [];
      for (const one of [...firstSteps, ...steps]) {
        compared.clear();
        const allowed = follow(model, ids, one);
        expect(await attempt(registry, ids, one), JSON.stringify([steps, one])).toBe(allowed);
        const relations = await relationsOf(register, ids);
        expect(relations.toSorted()).toEqual(expectedRelations(model).toSorted());
        expect(new Set(relations).size).toBe(relations.length);
        const turned = relations.map((line) => line.split(" ").toReversed().join(" "));
        expect(turned.toSorted()).toEqual(relations.toSorted());
        expect(relations.filter((line) => line.split(" ")[0] === line.split(" ")[2])).toEqual([]);
        const changed = [...relations.filter((line) => !before.includes(line)), ...before.filter((line) => !relations.includes(line))];
        expect([...new Set(changed.map((line) => line.split(" ")[0] ?? ""))].filter((id) => !compared.has(id))).toEqual([]);
        if (!allowed) expect([...compared]).toEqual([]);
        before = relations;
      }
    }),
    { numRuns: runsOf(20) },
  );
});

/** Apply a step to the model. @returns whether the rules allow it */
function follow(model: Model, ids: readonly string[], one: Step): boolean {
  const id = ids[one.server] ?? "";
  const known = model.get(id);
  const owner = (other: string) => [...model].find(([main, { aliases }]) => main === other || aliases.includes(other))?.[0];
  const aliases = "aliases" in one ? one.aliases.map((index) => ids[index] ?? "") : [];
  switch (one.kind) {
    case "register":
      if (aliases.includes(id) || [id, ...aliases].some((other) => owner(other) !== undefined)) return false;
      model.set(id, { aliases, into: null });
      return true;
    case "alias":
      if (known === undefined || aliases.includes(id) || aliases.some((other) => ![undefined, id].includes(owner(other)))) return false;
      known.aliases = aliases;
      return true;
    case "merge": {
      const into = ids[one.into] ?? "";
      if (known === undefined) return false;
      if (into === known.into) return true;
      if (into === id || model.get(into) === undefined || model.get(into)?.into !== null) return false;
      known.into = into;
      return true;
    }
    case "part":
      if (known === undefined) return false;
      known.into = null;
      return true;
  }
}

async function attempt(registry: RegistryService, ids: readonly string[], one: Step): Promise<boolean> {
  const id = ids[one.server] ?? "";
  const aliases = "aliases" in one ? one.aliases.map((index) => ids[index] ?? "") : [];
  try {
    // An alias answers for its server: the steps are about servers themselves.
    if (one.kind !== "register" && (await registry.get(call, id)).id !== id) return false;
    if (one.kind === "register") await registry.create(call, { id, aliases });
    else if (one.kind === "alias") await registry.update(call, id, { aliases });
    else if (one.kind === "merge") await registry.update(call, id, { status: "merged", merged_into: ids[one.into] ?? "" });
    else await registry.update(call, id, { status: "known" });
    return true;
  } catch (error) {
    if (error instanceof ProblemError && ["validation_failed", "duplicate_active_record", "record_not_found"].includes(error.code))
      return false;
    throw error;
  }
}

test("mergers that cross, asked for at once, never go round in a circle", async () => {
  const register = await createRegister();
  const { registry } = register;
  for (let round = 0; round < 10; round += 1) {
    const ids = [freshId(), freshId(), freshId()];
    for (const id of ids) await registry.create(call, { id });
    const tries = ids.map((id, index) => registry.update(call, id, { status: "merged", merged_into: ids[(index + 1) % 3] ?? "" }));
    const made = (await Promise.allSettled(tries)).filter(({ status }) => status === "fulfilled");
    expect(made.length).toBeLessThan(3);
    expect(made.length).toBeGreaterThan(0);
    expect((await relationsOf(register, ids)).filter((line) => line.split(" ")[0] === line.split(" ")[2])).toEqual([]);
  }
});

test("a chain of mergers is followed to its end and back", async () => {
  const register = await createRegister();
  const { registry } = register;
  const ids = Array.from({ length: 6 }, freshId);
  for (const id of ids) await registry.create(call, { id });
  for (let at = 0; at < 5; at += 1) await registry.update(call, ids[at] ?? "", { status: "merged", merged_into: ids[at + 1] ?? "" });
  const [first = "", last = ""] = [ids[0], ids[5]];
  expect(await relationsOf(register, [first])).toEqual(ids.slice(1).map((id) => `${first} merged ${id}`));
  expect(await relationsOf(register, [last])).toEqual(
    ids
      .slice(0, 5)
      .toReversed()
      .map((id) => `${last} merged ${id}`),
  );
});
