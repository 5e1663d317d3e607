import { say } from "../../../kit/say.ts";
import { hash } from "node:crypto";
import type { Logger } from "pino";
import type { Database, Tx } from "../../../database/database.ts";
import type { Call } from "../../../kernel/call.ts";
import { ProblemError } from "../../../kernel/errors.ts";
import { uuid7 } from "../../../kernel/ids.ts";
import { persistently } from "../../../kernel/pause.ts";
import type { Left } from "./direct.schema.ts";

/** How many people are written in one transaction: few enough that everybody else waits for a moment only, however slow the machine is. */
export const writtenTogether = 20;
const maxTries = 4;
const words = { busy: say("workflows.there-is-a-lot-to-do-right"), broken: say("workflows.something-went-wrong-here") };

export interface PartsDeps {
  database: Pick<Database, "write">;
  logger: Logger;
}

/** What came of a write about several people, in their order. */
interface Written<Row> {
  rows: Row[];
  /** Those for whom it was not written; null: none. */
  left: Left | null;
}

/**
 * Write something about several people, some of them in each transaction, in their order. A part that the storage did not take is tried again;
 * it is kept under a key of its own, so that a part whose commit nobody knows of is not written twice, and the same request with the same
 * idempotency key goes on where it stopped. Once a part is written, nothing is thrown.
 * @param write called with those of the part, and what was written for those before them
 * @throws whatever `write` throws for the first part
 */
export async function inParts<Row>(
  { database, logger }: PartsDeps,
  call: Call,
  userIds: readonly string[],
  write: (tx: Tx, part: readonly string[], before: readonly Row[]) => Promise<Row[]>,
): Promise<Written<Row>> {
  const { scope, fingerprint, status } = call.idempotency ?? { scope: uuid7(), fingerprint: "", status: 201 };
  const rows: Row[] = [];
  for (let from = 0; from < userIds.length; from += writtenTogether) {
    const idempotency = { scope: hash("sha256", `${scope}\n${from.toString()}`), fingerprint, status };
    const part = userIds.slice(from, from + writtenTogether);
    try {
      const writePart = (): Promise<Row[]> => database.write({ ...call, idempotency, replayed: false }, (tx) => write(tx, part, rows));
      rows.push(...(await persistently(writePart, pauseOf)));
    } catch (error) {
      if (from === 0) throw error;
      if (!(error instanceof ProblemError)) logger.error({ err: error }, "the rest of several bans could not be written");
      return { rows, left: { user_ids: userIds.slice(from), ...reasonOf(error) } };
    }
  }
  return { rows, left: null };
}

/** As long as a busy storage asks to be left alone, but not after the last attempt. */
const pauseOf = (tries: number, { retryAfter = 1 }: ProblemError): number | undefined =>
  tries === maxTries ? undefined : retryAfter * 1000;

function reasonOf(error: unknown): Omit<Left, "user_ids"> {
  const problem = error instanceof ProblemError ? error : new ProblemError("internal_error");
  const { code, errors: [first] = [], message } = problem;
  if (problem.status >= 500) return { code, detail: code === "storage_busy" ? words.busy : words.broken };
  return { code, detail: first?.detail ?? message };
}
