import type { Logger } from "pino";
import type { AuditEntry } from "../../generated/sqlite/client.ts";
import type { Clock } from "../../kernel/clock.ts";
import { operatorText, OperatorError } from "../../kernel/operator-errors.ts";
import { createCheckpointFile } from "./checkpoint-file.ts";
import { createLineCheck, type CheckpointLine, type CheckpointSigner } from "./sign.ts";

/** A position of the chain and its hash. */
export type Head = Pick<AuditEntry, "seq" | "hash">;

/** Signed positions that the chain no longer has, because a backup was put back. */
export interface LeftBehind {
  /** The last position of the chain before the first of them, and its hash. */
  to: Head;
  /** The newest of them. */
  from: number;
  /** How many lines of the file they are. */
  count: number;
  /** When the first of them was signed, and the last. */
  since: string;
  until: string;
}

export interface Checkpoints {
  key: {
    id: string;
    publicKey: string;
  };
  /** Note that the chain has grown; after enough entries its head is signed, beside the request. */
  note(given: Head): void;
  write(): Promise<CheckpointLine | undefined>;
  /** Sign that the chain goes on at a position, and that earlier lines beyond it count no longer. @throws Error of the file */
  leaveBehind(given: LeftBehind, why: string): Promise<void>;
  /** `write` when new entries have waited long enough. Never fails: what went wrong is logged and kept in `state`. */
  sweep(): Promise<void>;
  /** Add to the file what other processes have signed. */
  copy(): Promise<void>;
  latest(): Promise<CheckpointLine | undefined>;
  /** What is wrong with the file, in words for the operator. */
  state(): {
    reason?: string;
  };
  /** Sign what is new, at a clean stop. */
  close(): Promise<void>;
}

export interface CheckpointsDeps {
  path: string;
  signer: CheckpointSigner;
  /** How long at most new entries wait. */
  minutes: number;
  /** After so many entries there is a position at once; 1,000 by default. */
  entries?: number;
  /** The id of this installation. */
  origin: () => Promise<string>;
  head: () => Promise<Head | undefined>;
  /** The hash of the entry at a position. */
  hashAt: (seq: number) => Promise<string | undefined>;
  clock: Clock;
  logger: Logger;
  /** The lines of every process, where several serve together, and whether it is this one that signs without being asked. */
  shared?: { after(at: string | undefined): Promise<CheckpointLine[]>; add(line: CheckpointLine): Promise<void>; isSigner(): boolean };
}

const shorter = "The chain is shorter than its newest signed position";
const different = "The chain is another one than was signed";
const whatToDo =
  "entries are missing, or a backup was put back. If it was you, run `provost audit checkpoint --after-restore --reason <text>`.";

/** Keeps signed positions of the chain outside the database. */
export function createCheckpoints(deps: CheckpointsDeps): Checkpoints {
  const { signer, minutes, entries = 1000, origin, head, hashAt, clock, logger, shared } = deps;
  const file = createCheckpointFile(deps.path);
  const isOurs = createLineCheck([signer]);
  let known: { seq: number; at: number } = { seq: 0, at: clock.now().getTime() };
  let newest = 0;
  let reason: string | undefined;
  let turn: Promise<unknown> = Promise.resolve();
  let isWriting = false;

  /** The youngest position that this installation has signed. @throws Error of the file */
  async function latest(): Promise<CheckpointLine | undefined> {
    const from = await origin();
    const lines = (await file.tail()).filter((line) => line !== "unreadable");
    return lines.find((line) => line.origin === from && isOurs(line) === true);
  }

  /** Add to the file what other processes have signed. */
  async function copy(): Promise<void> {
    for (const line of (await shared?.after((await latest())?.at)) ?? []) await file.append(line);
  }

  async function append(): Promise<CheckpointLine | undefined> {
    await copy();
    const last = await latest();
    if (last !== undefined) known = { seq: last.seq, at: Date.parse(last.at) };
    const now = await head();
    if ((now?.seq ?? 0) < known.seq) throw new OperatorError(`${shorter}: ${whatToDo}`);
    if (last !== undefined && (await hashAt(last.seq)) !== last.hash) throw new OperatorError(`${different}: ${whatToDo}`);
    if (now === undefined || now.seq <= known.seq) return undefined;
    return add({ seq: now.seq, hash: now.hash, at: clock.now().toISOString() });
  }

  async function add(said: Pick<CheckpointLine, "seq" | "hash" | "at" | "restored">): Promise<CheckpointLine> {
    const line = signer.sign({ origin: await origin(), ...said });
    await shared?.add(line);
    await file.append(line);
    known = { seq: line.seq, at: Date.parse(line.at) };
    logger.info({ checkpoint: line }, "signed the head of the audit chain");
    return line;
  }

  /** One after the other, so that none signs a head that is behind. */
  function inTurn<T>(work: () => Promise<T>): Promise<T> {
    const mine = turn.then(work);
    turn = mine.then(
      () => (reason = undefined),
      (error: unknown) => (reason = operatorText(error) ?? (error instanceof Error ? error.message : String(error))),
    );
    return mine;
  }
  /** Sign the head of the chain if it is further than the youngest position. @throws Error of the file or the database */
  const write = (): Promise<CheckpointLine | undefined> => inTurn(append);

  const isSigner = (): boolean => shared?.isSigner() ?? true;

  const isDue = (): boolean =>
    reason !== undefined || clock.now().getTime() - known.at >= minutes * 60_000 || newest - known.seq >= entries;

  /** @param isWanted asked when the turn has come, as the turn before may have signed what was new */
  async function attempt(isWanted: () => boolean = () => true): Promise<void> {
    isWriting = true;
    try {
      await inTurn(async () => (isWanted() ? append() : undefined));
    } catch (error) {
      const reason = operatorText(error);
      const why = reason === undefined ? { err: error } : { reason };
      logger.error({ ...why, file: deps.path }, "the head of the audit chain could not be signed; it is tried again");
    } finally {
      isWriting = false;
    }
  }

  return {
    key: { id: signer.id, publicKey: signer.publicKey },
    note({ seq }: Head): void {
      newest = Math.max(newest, seq);
      // A file that refuses is asked again by the job, not by every entry.
      if (newest - known.seq >= entries && !isWriting && reason === undefined && isSigner()) void attempt();
    },
    write,
    async leaveBehind({ to, from, until }: LeftBehind, why: string): Promise<void> {
      const now = clock.now().toISOString();
      await inTurn(() => add({ ...to, at: now > until ? now : until, restored: { from, reason: why } }));
    },
    sweep: (): Promise<void> => attempt(isDue),
    copy: (): Promise<void> => inTurn(copy),
    latest,
    state: (): { reason?: string } => ({ ...(reason !== undefined && { reason }) }),
    async close(): Promise<void> {
      await turn;
      if (isSigner()) await attempt();
    },
  };
}
