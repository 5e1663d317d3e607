import { insertRows } from "../../database/insert.ts";
import type { Logger, Tx } from "../../database/database.ts";
import type { WebhookDelivery } from "../../generated/sqlite/client.ts";
import { systemCall } from "../../kernel/call.ts";
import { uuid7 } from "../../kernel/ids.ts";
import type { Deps } from "../deps.ts";
import type { Run } from "./schedule.ts";

/** How far a web-hook came by an attempt. */
interface Step {
  id: string;
  position: number;
  run: Run;
  row: WebhookDelivery;
}

export interface Progress {
  flush(): Promise<void>;
  /** Note an attempt. It resolves at once unless too much waits to be written. */
  note(step: Step): Promise<void>;
  /** Note that events were not meant for a web-hook. They may be looked at again, so this waits for whatever is written next. */
  skip(id: string, position: number): void;
}

/** What is noted waits so long, or until there is so much of it; of more than the last, web-hooks wait for the database. */
const flushMs = 250;
const [enough, tooMuch] = [50, 500];

/** Writes down how far web-hooks came, and their attempts: many together, as a receiver that answers is sent a thousand a second. */
export function createProgress({ database, logger }: Deps<"database"> & { logger: Pick<Logger, "warn"> }): Progress {
  const last = new Map<string, Step>();
  const passed = new Map<string, number>();
  let rows: WebhookDelivery[] = [];
  let timer: NodeJS.Timeout | undefined;
  let writing = Promise.resolve();
  /** A write that has not begun. */
  let next: Promise<void> | undefined;

  async function store(tx: Tx, steps: readonly Step[], positions: ReadonlyMap<string, number>, told: readonly WebhookDelivery[]) {
    const ids = [...new Set([...steps.map(({ id }) => id), ...positions.keys()])];
    const found = await tx.db.webhook.findMany({ where: { id: { in: ids } }, select: { id: true, failures: true } });
    const failuresOf = new Map(found.map(({ id, failures }) => [id, failures]));
    for (const { id, position, run, row } of steps) {
      const failures = failuresOf.get(id);
      if (failures === undefined) continue;
      if (failures === 0 && run.failures === 0) await tx.db.$executeRaw`UPDATE webhooks SET position = ${position} WHERE id = ${id}`;
      else await tx.db.webhook.update({ where: { id }, data: { position, ...run, problem: row.problem } });
    }
    for (const [id, position] of positions)
      await tx.db.$executeRaw`UPDATE webhooks SET position = ${position} WHERE id = ${id} AND position < ${position}`;
    await insertRows(
      tx,
      "WebhookDelivery",
      told.filter(({ webhookId }) => failuresOf.has(webhookId)),
    );
  }

  async function write(): Promise<void> {
    clearTimeout(timer);
    timer = undefined;
    const [steps, positions, told] = [[...last.values()], new Map(passed), rows];
    if (steps.length + positions.size === 0) return;
    last.clear();
    passed.clear();
    rows = [];
    try {
      await database.write(systemCall("job", uuid7()), (tx) => store(tx, steps, positions, told));
    } catch (error) {
      for (const step of steps) if (!last.has(step.id)) last.set(step.id, step);
      rows = [...told, ...rows];
      logger.warn({ err: error }, "the progress of web-hooks could not be written; it is tried again");
      plan();
    }
  }

  function plan(): void {
    timer ??= setTimeout(() => void flush(), flushMs).unref();
  }

  /** Write what was noted until now, after what is being written. */
  function flush(): Promise<void> {
    next ??= writing.then(() => {
      next = undefined;
      return (writing = write());
    });
    return next;
  }

  return {
    flush,
    async note(step: Step): Promise<void> {
      last.set(step.id, step);
      passed.delete(step.id);
      rows.push(step.row);
      plan();
      if (rows.length >= tooMuch) await flush();
      else if (rows.length >= enough) void flush();
    },
    skip: (id: string, position: number): void => void passed.set(id, position),
  };
}
