/**
 * How much the generated tests do: `quick` in `npm test`, `all` in `npm run test:all` and `npm run test:rest`, `long` in `npm run test:long`.
 * Fixed tests are the same in every tier.
 */
export type Tier = "quick" | "all" | "long";

const tiers: readonly Tier[] = ["quick", "all", "long"];

const named = process.env["TEST_TIER"] ?? "quick";

/** Whether only those files run that `npm test` left out, or tries with fewer cases. */
export const isRest = named === "rest";

function readTier(): Tier {
  const tier = tiers.find((one) => one === (isRest ? "all" : named));
  if (tier === undefined) throw new Error(`TEST_TIER is one of ${[...tiers, "rest"].join(", ")}, not ${named}`);
  return tier;
}

export const tier = readTier();

/** @returns how many runs a generated test makes in this tier; `RUNS=500` in the environment says another number for a single file */
export function sizeOf(sizes: Readonly<Record<Tier, number>>): number {
  return Number(process.env["RUNS"] ?? sizes[tier]);
}

/** @returns how many runs a property makes that is worth `usual` of them: a quarter in the quick tier, half of them in the whole one, ten times as many in the long one */
export function runsOf(usual: number): number {
  return sizeOf({ quick: Math.ceil(usual / 4), all: Math.ceil(usual / 2), long: usual * 10 });
}

/** @returns how many runs a property makes in which each run has a machine of others misbehave: few of them, as each takes seconds */
export function hostileRuns(usual: number): number {
  return sizeOf({ quick: Math.ceil(usual / 5), all: Math.ceil(usual / 5), long: usual * 10 });
}

/**
 * Of what is tried at many places alike.
 * @returns all of it; in the quick tier `count` of it at each place, others at the next
 */
export function inTurn<Tried>(all: readonly Tried[], place: number, count = 1): readonly Tried[] {
  if (tier !== "quick") return all;
  return all.filter((_one, index) => (index + all.length - (place % all.length)) % all.length < count);
}

/** @returns the seed of a generated test: the given one, so that `npm test` is the same each time; in the long tier another one each time. `SEED=` repeats one */
export function seedOf(usual: number): number {
  return Number(process.env["SEED"] ?? (tier === "long" ? Date.now() : usual));
}
