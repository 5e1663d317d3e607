import { open } from "node:fs/promises";
import { dirname } from "node:path";
import { ifMissing } from "../kernel/files.ts";

/**
 * Flush a file to the disk, beside the event loop. Those who ask while it is being flushed share the next time.
 * @returns resolves when what was written before the call survives a power loss @throws Error of the file
 */
export function createFlush(file: string): () => Promise<void> {
  let running: Promise<void> | undefined;
  let next: Promise<void> | undefined;

  let isListed = false;

  async function flush(): Promise<void> {
    await synced(file);
    // That there is such a file is kept in its folder; some systems do not open one.
    if (!isListed) await synced(dirname(file)).catch(() => undefined);
    isListed = true;
  }

  function start(): Promise<void> {
    next = undefined;
    running = flush().finally(() => (running = undefined));
    return running;
  }

  return () => {
    if (running === undefined) return start();
    return (next ??= running.then(start, start));
  };
}

/** A log that is gone was folded into the database, which is flushed then. */
async function synced(path: string): Promise<void> {
  const handle = await open(path, "r").catch(ifMissing(undefined));
  if (handle === undefined) return;
  try {
    await handle.datasync();
  } finally {
    await handle.close();
  }
}
