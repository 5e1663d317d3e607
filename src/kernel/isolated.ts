import { ProblemError, type ProblemCode } from "./errors.ts";

/** An item whose work threw. */
export interface FailedItem<T> {
  item: T;
  error: unknown;
}

export interface Isolation<T> {
  logger: { error(details: object, message: string): void };
  /** What the log says where an item fails, such as `a grant could not be ended`. */
  failure: string;
  /** Which item it is, for the log: ids, and nothing of what others wrote. */
  idsOf: (item: T) => Readonly<Record<string, unknown>>;
  /** How many are worked on at the same time; 1 by default. */
  places?: number;
  /** Aborted when nothing more is to be begun. */
  signal?: AbortSignal;
}

/** What concerns the service and no single item: with the next item it would be no better. */
const ofEverything: ReadonlySet<ProblemCode> = new Set(["storage_busy", "storage_full", "storage_readonly", "shutting_down"]);

const isOfEverything = (error: unknown): error is ProblemError => error instanceof ProblemError && ofEverything.has(error.code);

/**
 * Do something for each of some items of others. One whose work throws is logged with its reason and returned, and the rest goes on.
 * @throws ProblemError where the storage takes nothing or the service ends: then nothing more is begun
 */
export async function forEachIsolated<T>(
  items: Iterable<T> | AsyncIterable<T>,
  work: (item: T) => unknown,
  { logger, failure, idsOf, places = 1, signal }: Isolation<T>,
): Promise<FailedItem<T>[]> {
  const failed: FailedItem<T>[] = [];
  const underWay = new Set<Promise<void>>();
  let trouble: ProblemError | undefined;

  async function attempt(item: T): Promise<void> {
    try {
      await work(item);
    } catch (error) {
      if (isOfEverything(error)) {
        trouble ??= error;
        return;
      }
      failed.push({ item, error });
      logger.error({ ...idsOf(item), err: error }, failure);
    }
  }

  const isOver = (): boolean => trouble !== undefined || signal?.aborted === true;

  for await (const item of items) {
    if (isOver()) break;
    const one = attempt(item).finally(() => underWay.delete(one));
    underWay.add(one);
    if (underWay.size >= places) await Promise.race(underWay);
  }
  await Promise.all(underWay);
  if (trouble !== undefined) throw trouble;
  return failed;
}

/** Something that is due in pages, in the order of its keys. */
export interface Due<T> extends Isolation<T> {
  /** How many a page has, which are done in one transaction. */
  size: number;
  /** The next page behind an item; a page that is not full is the last one. */
  find: (after: T | undefined) => Promise<readonly T[]>;
  /** Do it for some items, all or none of them. @returns how many it was done for */
  work: (items: readonly T[]) => Promise<number>;
}

/**
 * Do everything that is due, a page at a time. Where a page fails it is done item by item, and only what fails by itself is left.
 * @returns how many it was done for
 * @throws Error when everything else is done, so that health and metrics show that something was left
 */
export async function sweepIsolated<T>({ size, find, work, ...isolation }: Due<T>): Promise<number> {
  const failed: FailedItem<T>[] = [];
  let done = 0;
  let page: readonly T[] = [];
  do {
    page = await find(page.at(-1));
    if (page.length === 0) break;
    try {
      done += await work(page);
    } catch (error) {
      if (isOfEverything(error)) throw error;
      failed.push(...(await forEachIsolated(page, async (item) => void (done += await work([item])), isolation)));
    }
  } while (page.length === size);
  requireNoneFailed(failed);
  return done;
}

/**
 * Do the parts of a job in their order. One that throws holds up none of those behind it.
 * @returns how many each of them did something for
 * @throws what a part threw, when all were done; at once where the storage takes nothing or the service ends
 */
export async function partByPart<Part extends string>(parts: Readonly<Record<Part, () => Promise<number>>>): Promise<Record<Part, number>> {
  const done = {} as Record<Part, number>;
  const errors: unknown[] = [];
  for (const [part, run] of Object.entries(parts) as [Part, () => Promise<number>][]) {
    try {
      done[part] = await run();
    } catch (error) {
      if (isOfEverything(error)) throw error;
      errors.push(error);
    }
  }
  if (errors.length > 1) throw new AggregateError(errors, `parts of the job failed: ${errors.length.toString()}`);
  if (errors.length === 1) throw errors[0];
  return done;
}

/**
 * Have what runs a job know that some of its items failed, so that health and metrics show it. The rest is done.
 * @throws Error if there are any; its cause is the first reason
 */
export function requireNoneFailed(failed: readonly FailedItem<unknown>[]): void {
  const [first] = failed;
  if (first !== undefined) throw new Error(`what failed for itself: ${failed.length.toString()}; the rest is done`, { cause: first.error });
}
