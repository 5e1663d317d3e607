// @module-tag sqlite
// @module-tag slow
import { expect, test } from "vitest";
import { createDice } from "../support/dice.ts";
import { seedOf, sizeOf } from "../support/size.ts";
import { createCommunity, operator, type Community } from "./community.ts";
import { askedByColleague, createLoner, createLonerSteps, dangerous, managing, type Loner } from "./loner.ts";
import { createPlayer, gained, heldBy, keysOf, within, type KeyState, type Step } from "./play.ts";

/** How many chains of up to four calls are made with each of the settings. */
const perSetting = sizeOf({ quick: 20, all: 20, long: 4000 });
const perPerson = 20;
const seed = seedOf(20_261_126);
const both = { SECOND_PERSON_FOR_DANGER: "true", CONFIRM_IN_DISCORD: "permissions,keys,erasure" };
/** Each with what the chains have to run into, so that they are known to try it. */
const settings: [name: string, env: Record<string, string>, refusals: string[]][] = [
  ["a second person and a word in Discord", both, ["invalid_transition"]],
  ["a second person", { SECOND_PERSON_FOR_DANGER: "true" }, ["invalid_transition", "conflict_of_interest"]],
  ["neither, but for redactions", {}, ["invalid_transition"]],
];

/** What is compared before and after a chain. */
interface Snapshot {
  held: Map<string, Set<string>>;
  keys: Map<string, KeyState>;
  applied: Set<string>;
  erased: number;
}

async function look(community: Community, loner: Loner): Promise<Snapshot> {
  const { read } = community.world.app.database;
  const rows = await read.confirmation.findMany({ where: { status: "applied" } });
  return {
    held: new Map([...community.people.values(), loner.id].map((id) => [id, heldBy(community, id)])),
    keys: await keysOf(community),
    applied: new Set(rows.map(({ id }) => id)),
    erased: await read.erasure.count(),
  };
}

/** What nobody may bring about alone. @param genuine changes that a colleague has asked for themself */
async function breaches({ world }: Community, loner: Loner, before: Snapshot, after: Snapshot, env: object, genuine: ReadonlySet<string>) {
  const fresh = [...after.applied].filter((id) => !before.applied.has(id));
  const rows = await world.app.database.read.confirmation.findMany({ where: { id: { in: fresh } } });
  const found: string[] = [];
  for (const { id, action, actorId, answers } of rows) {
    const isForTwo = (answers as { as: string }[]).some(({ as }) => as === "second_person");
    const isOthers = actorId !== loner.id && "CONFIRM_IN_DISCORD" in env;
    if ((isForTwo || isOthers) && !genuine.has(id)) found.push(`${action} was carried out, asked for ${actorId}`);
  }
  if (fresh.some((id) => genuine.has(id))) return found;
  if (after.erased > before.erased) found.push("somebody was erased");
  if (!("SECOND_PERSON_FOR_DANGER" in env)) return found;
  for (const [id, now] of after.held) {
    const more = gained(before.held.get(id) ?? new Set(), now).filter((key) => dangerous.has(key));
    if (more.length > 0) found.push(`${id} gained ${more.join(", ")}`);
  }
  for (const [id, key] of after.keys) {
    const old = before.keys.get(id);
    const more = within(key.scopes).filter((one) => dangerous.has(one) && !within(old?.scopes ?? []).includes(one));
    const speaks = key.delegation !== "none" && (key.delegation !== old?.delegation || key.publicKey !== old.publicKey);
    if (more.length > 0 || speaks) found.push(`the key ${key.keyId} was given ${speaks ? "a voice" : more.join(", ")}`);
  }
  return found;
}

test.each(settings)(
  `nobody acts as two people by ${perSetting.toString()} chains of calls where grave changes need %s`,
  async (_name, env, refusals) => {
    const ends: (() => Promise<void>)[] = [];
    const dice = createDice(seed);
    const seen = new Map<string, number>();
    let byTwo = 0;
    try {
      const community = await createCommunity(env, (end) => ends.push(end));
      const steps = createLonerSteps(community, createPlayer(community));
      const colleague = await community.newcomer("owner");
      const alone = await community.newcomer("owner");
      community.people.set("colleague", colleague.id);
      community.people.set("another", alone.id);
      for (let done = 0; done < perSetting; done += perPerson) {
        const person = await createLoner(community, dice, colleague);
        let before = await look(community, person);
        for (let number = 0; number < Math.min(perPerson, perSetting - done); number += 1) {
          const genuine = dice.chance(0.3) ? [await askedByColleague(community, dice.chance(0.5) ? colleague : alone)] : [];
          const loner: Loner = { ...person, credentials: [...person.credentials], keyIds: [...person.keyIds], confirmations: [...genuine] };
          const chain: Step[] = [];
          for (let left = dice.pick([2, 3, 4, 4]); left > 0; left -= 1) {
            const kind =
              loner.confirmations.length === 0 || dice.chance(0.35) ? steps.ask : dice.chance(0.5) ? steps.say : steps.sayInDiscord;
            chain.push(await kind(dice, loner));
          }
          const after = await look(community, loner);
          const problems = await breaches(community, loner, before, after, env, new Set(genuine));
          const told = chain.map(({ did, status, code }) => `${did} → ${status.toString()} ${code}`);
          if (problems.length > 0)
            throw new Error([`chain ${(done + number).toString()} (SEED=${seed.toString()}): ${problems.join("; ")}`, ...told].join("\n"));
          if (genuine.some((id) => after.applied.has(id))) byTwo += 1;
          for (const { code } of chain) seen.set(code, (seen.get(code) ?? 0) + 1);
          // What somebody has asked for counts against them: twenty at most.
          await community.world.app.database.write(operator(), ({ db }) =>
            db.confirmation.updateMany({ where: { status: "pending" }, data: { status: "expired" } }),
          );
          await community.restore(person.held.length === 0 && heldBy(community, person.id).has("blacklist.purge") ? [] : managing);
          before = await look(community, loner);
        }
      }
    } finally {
      for (const end of ends) await end();
    }
    expect(byTwo).toBeGreaterThan(perSetting / 60);
    for (const refusal of [...refusals, "confirmation_required"])
      expect([refusal, (seen.get(refusal) ?? 0) >= perSetting / 40]).toEqual([refusal, true]);
  },
  Math.max(600_000, perSetting * 10_000),
);
