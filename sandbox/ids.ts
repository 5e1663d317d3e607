const discordEpoch = 1_420_070_400_000;

/**
 * A source of snowflakes: strictly increasing, made from the given clock.
 * @param now milliseconds since 1970
 */
export function createIds(now: () => number): () => string {
  let last = 0n;
  return () => {
    const candidate = BigInt(Math.max(0, now() - discordEpoch)) << 22n;
    last = candidate > last ? candidate : last + 1n;
    return last.toString();
  };
}

/** Order of two snowflakes as numbers, without parsing them. */
export function compareIds(a: string, b: string): number {
  if (a.length !== b.length) return a.length - b.length;
  if (a === b) return 0;
  return a < b ? -1 : 1;
}
