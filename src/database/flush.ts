/**
 * Let many callers share a flush to the disk. Callers that arrive during one share the next.
 * @param sync flushes what is written by now @returns resolves when what was written before the call survives a power loss; rejects as `sync` does
 */
export function createFlush(sync: () => Promise<void>): () => Promise<void> {
  let running: Promise<void> | undefined;
  let next: Promise<void> | undefined;

  function start(): Promise<void> {
    next = undefined;
    running = sync().finally(() => (running = undefined));
    return running;
  }

  return () => {
    if (running === undefined) return start();
    return (next ??= running.then(start, start));
  };
}
