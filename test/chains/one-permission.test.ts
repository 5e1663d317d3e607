// @module-tag sqlite
// @module-tag slow
import { expect, test } from "vitest";
import { createDice } from "../support/dice.ts";
import { seedOf, sizeOf, tier, type Tier } from "../support/size.ts";
import type { PermissionKey } from "../../src/kernel/permissions.ts";
import { createCommunity, everyPermission, type Community } from "./community.ts";
import { createPlayer, gained, heldBy, keysOf, within, type KeyState, type Player, type Step } from "./play.ts";
import type { Climber, Dice } from "./steps.ts";

/** The permissions that say what others may do. */
const giving: readonly PermissionKey[] = [
  "clients.manage",
  "permissions.roles.manage",
  "permissions.users.manage",
  "staff.suspend",
  "staffroles.manage",
  "system.settings.manage",
];
/** How many chains of up to three calls are made for each permission of the catalog. */
const perPermission = sizeOf({ quick: 1, all: 2, long: 120 });
/** Those that could give something away are tried more often. */
const grave = (key: string): boolean => /^(clients|permissions|staffroles|staff\.suspend|system|users\.redact)|\.decide$/.test(key);
const givingWeight: Readonly<Record<Tier, number>> = { quick: 12, all: 36, long: 18 };
/** How often in proportion; the quick tier spares those that say nothing of what others may do, and tries one in three of the rest. */
function weightOf(key: string, index: number): number {
  if (giving.some((one) => one === key)) return givingWeight[tier];
  if (tier !== "quick") return grave(key) ? 6 : 1;
  return grave(key) || index % 3 === 0 ? 1 : 0;
}
const chainsOf = (key: string, index: number): number => perPermission * weightOf(key, index);
const total = everyPermission.reduce((sum, key, index) => sum + chainsOf(key, index), 0);
const seed = seedOf(20_261_125);
/** How many permissions are to be found from which chains go one, two and three successful writes far. */
const leastReaching: Readonly<Record<Tier, [one: number, two: number, three: number]>> = {
  quick: [12, 3, 1],
  all: [38, 13, 2],
  long: [60, 45, 25],
};
/** Of a hundred steps, so many are slash commands. */
const inDiscord = 0.08;
const settings: Record<string, string>[] = [{}, { SECOND_PERSON_FOR_DANGER: "true", CONFIRM_IN_DISCORD: "permissions,keys,erasure" }];

/** What is compared before and after a chain. */
interface Snapshot {
  version: number;
  held: Map<string, Set<string>>;
  owners: string[];
  keys: Map<string, KeyState>;
  confirmations: string;
}

async function confirmationsOf({ world }: Community): Promise<string> {
  const rows = await world.app.database.read.confirmation.findMany({ orderBy: { id: "asc" }, where: { NOT: { status: "pending" } } });
  return JSON.stringify(rows.map(({ id, status }) => [id, status]));
}

async function look(community: Community, climber: Climber): Promise<Snapshot> {
  const { access } = community.world.app;
  return {
    version: access.version,
    held: new Map([...community.people.values(), climber.id].map((id) => [id, heldBy(community, id)])),
    owners: access.listOwners().toSorted(),
    keys: await keysOf(community),
    confirmations: await confirmationsOf(community),
  };
}

/** What somebody with one permission must not have brought about. */
async function breaches(community: Community, climber: Climber, before: Snapshot, after: Snapshot): Promise<string[]> {
  const [only = ""] = climber.held;
  const found: string[] = [];
  for (const [id, now] of after.held) {
    const more = gained(before.held.get(id) ?? new Set(), now).filter((key) => key !== only);
    // To end a suspension gives back what was held before it.
    const isGivenBack = only === "staff.suspend" && id === community.suspendedId;
    if (more.length > 0 && !isGivenBack) found.push(`${id === climber.id ? "the climber" : id} gained ${more.join(", ")}`);
  }
  if (after.owners.join() !== before.owners.join()) found.push(`owners are ${after.owners.join()}`);
  if (after.confirmations !== before.confirmations) found.push("a change that waited has ended");
  for (const [id, key] of after.keys) found.push(...keyBreaches(before.keys.get(id), key, only));
  for (const { text } of climber.credentials.filter(({ name }) => name === "learned")) {
    const key = [...after.keys.values()].find(({ keyId }) => keyId === text.slice(9, 21));
    const more = within(key?.scopes ?? []).filter((one) => one !== only);
    if (more.length > 0) found.push(`they know the secret of a key that may ${more.join(", ")}`);
  }
  const { body } = await community.world.get(`/staff/${climber.id}/access`);
  const shown = (body.data.permissions as string[]).filter((key) => key !== only);
  if (shown.length > 0) found.push(`their access shows ${shown.join(", ")}`);
  return found;
}

function keyBreaches(before: KeyState | undefined, after: KeyState, only: string): string[] {
  const more = within(after.scopes).filter((key) => key !== only && !within(before?.scopes ?? []).includes(key));
  if (more.length > 0) return [`the key ${after.keyId} may ${more.join(", ")}`];
  if (before === undefined) return [];
  const isBeyond = within(after.scopes).some((key) => key !== only);
  const isWider =
    (after.delegation !== before.delegation && after.delegation !== "none") ||
    after.publicKey !== before.publicKey ||
    after.expiresAt > before.expiresAt ||
    (after.isActive && !before.isActive);
  return isBeyond && isWider ? [`the key ${after.keyId}, which may more, was widened`] : [];
}

/** How far the chains of a permission came: by the number of writes that were carried out. */
type Depths = [none: number, one: number, two: number, three: number];

async function playChain(dice: Dice, player: Player, climber: Climber): Promise<{ steps: Step[]; problems: string[] }> {
  const steps: Step[] = [];
  const problems: string[] = [];
  for (let left = dice.pick([1, 2, 3, 3, 3]); left > 0; left -= 1) {
    const { step, problems: wrong } = await (dice.chance(inDiscord) ? player.command(dice, climber) : player.ask(dice, climber));
    steps.push(step);
    problems.push(...wrong);
  }
  return { steps, problems };
}

/** The chains of one permission in one community. @throws Error that names the first chain which reached more */
async function climb(community: Community, permission: string, chains: number, dice: Dice, counts: Counts): Promise<void> {
  const held = permission === "system.act" ? [] : [permission];
  const player = createPlayer(community);
  await community.restore(held);
  const { id } = await community.newcomer();
  const own = [
    await community.makeKey([permission], "anybody", "exactly it"),
    await community.makeKey([permission], "nobody", "exactly it, for nobody"),
    await community.makeKey(["*"], "holder", "everything, for themself"),
  ];
  // The key that the test looks with is not among those they find.
  const isOurs = ({ keyId }: KeyState): boolean => keyId === community.world.key.slice(9, 21);
  const keyIds = [...(await keysOf(community)).values()].flatMap((key) => (isOurs(key) ? [] : [key.keyId])).slice(-8);
  const fresh = (): Climber => ({ id, held: [permission], credentials: [...own], keyIds: [...keyIds], confirmations: [] });
  let before = await look(community, fresh());
  expect([permission, [...(before.held.get(id) ?? [])]]).toEqual([permission, held]);
  for (let number = 0; number < chains; number += 1) {
    const climber = fresh();
    const { steps, problems } = await playChain(dice, player, climber);
    const done = steps.filter(({ status }) => status < 300).length as 0 | 1 | 2 | 3;
    counts.note(permission, done, steps);
    if (done > 0) {
      const after = await look(community, climber);
      problems.push(...(await breaches(community, climber, before, after)));
      if (after.version !== before.version) await community.restore(held);
      before = after.version === before.version ? after : await look(community, climber);
    }
    const told = steps.map(({ did, status, code }) => `${did} → ${status.toString()} ${code}`);
    if (problems.length > 0) throw new Error([`${permission}, chain ${number.toString()}: ${problems.join("; ")}`, ...told].join("\n"));
  }
}

type Counts = ReturnType<typeof createCounts>;

function createCounts() {
  const depths = new Map<string, Depths>();
  const codes = new Map<string, number>();
  return {
    codes,
    note(permission: string, done: 0 | 1 | 2 | 3, steps: readonly Step[]): void {
      const counted = depths.get(permission) ?? [0, 0, 0, 0];
      counted[done] += 1;
      depths.set(permission, counted);
      for (const { status, code } of steps) codes.set(`${status.toString()} ${code}`, (codes.get(`${status.toString()} ${code}`) ?? 0) + 1);
    },
    /** The permissions of which a chain came so far. */
    reaching: (least: 1 | 2 | 3): string[] =>
      [...depths].flatMap(([key, [, ...far]]) => (far.slice(least - 1).some((count) => count > 0) ? [key] : [])),
    depths,
  };
}

test(
  `nobody who holds one permission reaches more by ${total.toString()} chains of up to three calls (SEED=${seed.toString()})`,
  async () => {
    const counts = createCounts();
    const ends: (() => Promise<void>)[] = [];
    try {
      const communities = await Promise.all(settings.map((env) => createCommunity(env, (end) => ends.push(end))));
      await Promise.all(
        communities.map(async (community, turn) => {
          const dice = createDice(seed + turn);
          for (const [index, permission] of everyPermission.entries()) {
            // An odd chain goes to either by turns.
            const chains = Math.floor((chainsOf(permission, index) + ((index + turn) % 2)) / 2);
            if (chains > 0) await climb(community, permission, chains, dice, counts);
          }
        }),
      );
    } finally {
      for (const end of ends) await end();
    }
    const told = JSON.stringify([...counts.depths, ...counts.codes]);
    // Chains that are refused at their first step find nothing: of so many permissions they go one, two and three steps far.
    for (const [index, least] of leastReaching[tier].entries())
      expect([told, index + 1, counts.reaching((index + 1) as 1 | 2 | 3).length >= least]).toEqual([told, index + 1, true]);
    if (tier === "quick") return;
    // With some dice one of them gets no further than a step.
    expect([told, giving.filter((key) => !counts.reaching(2).includes(key)).slice(1)]).toEqual([told, []]);
  },
  600_000 + total * 2000,
);
