const quietMs = 10_000;

/** Of a flood one line every ten seconds, with how many there were. */
export function createSparseLog(logger: { info(details: object, text: string): void }, text: string) {
  let unlogged = 0;
  let loggedAt = -quietMs;
  return (details: object): void => {
    unlogged += 1;
    if (performance.now() - loggedAt < quietMs) return;
    logger.info({ ...details, count: unlogged }, text);
    unlogged = 0;
    loggedAt = performance.now();
  };
}
