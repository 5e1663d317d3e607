import { say, term } from "../../kit/say.ts";
import type { Tx } from "../../database/database.ts";
import type { RosterEntry } from "../../generated/sqlite/client.ts";
import { addSeconds } from "../../kernel/clock.ts";
import { ProblemError } from "../../kernel/errors.ts";
import { isoOrNull } from "../../kernel/fields.ts";
import { factsOf, inStatus, isSame, standOf, type RosterFacts } from "./facts.ts";
import type { RosterNote, RosterRecords, RosterStep } from "./records.ts";
import { eventsFrom, isHalted, isLive, targetOf, type RosterStatus, type WantedMove } from "./states.ts";
import { RosterUndo } from "./undo.ts";

const daySeconds = 86_400;

/** Somebody who joins, or comes back. */
export interface Beginning extends RosterNote {
  userId: string;
  staffRole: string | null;
  department?: string | null | undefined;
  supervisorId?: string | null | undefined;
  /** How long the trial takes; 0 begins without one. */
  trialDays: number;
  /** Whether somebody who was terminated may come back: to put a wrong entry right. */
  isCorrection?: boolean | undefined;
}

/** What is done to somebody on the roster. */
export interface RosterMove extends RosterNote {
  /** Joining is no move. Probation is told as `suspended`, retirement as `resigned`: `to` says which. */
  event: Exclude<WantedMove["event"], "hired" | "rehired">;
  /** Where it leads; to where the event usually does by default. */
  to?: RosterStatus | undefined;
  /** The end of a suspension or probation; open without. */
  until?: Date | null | undefined;
  /** The staff role after it; the same by default. */
  staffRole?: string | null | undefined;
  department?: string | null | undefined;
}

export interface RosterChange {
  entry: RosterEntry;
  /** What `undoInTx` takes back. Plain JSON. */
  undo: RosterUndo;
}

/** Entries inside another feature's transaction. The caller has checked rights, ranks and conflicts. */
export function createRosterInTx(records: RosterRecords) {
  return {
    /**
     * Put somebody on the roster: a new entry, or the old one of who comes back.
     * @throws ProblemError invalid_transition with `from`, `action` and `allowed` when they are on it, or may not come back
     */
    async beginTrialInTx(tx: Tx, beginning: Beginning): Promise<RosterChange> {
      const { userId, trialDays } = beginning;
      await records.lock(tx, userId);
      const entry = await records.find(tx.db, userId);
      const refusal = whyNotBegin(entry, beginning);
      if (refusal !== null) {
        const from = entry?.status ?? null;
        const allowed = entry === null ? [] : eventsFrom(entry.status);
        throw new ProblemError("invalid_transition", { detail: refusal, extra: { from, action: "begin_trial", allowed } });
      }
      const before = entry === null ? null : factsOf(entry);
      const stood = entry === null ? null : await records.standAt(tx.db, entry, beginning.effectiveAt);
      const after = begun(stood, beginning, beginning.effectiveAt ?? tx.now);
      const isNew = entry === null || isLive(entry);
      const first: RosterStep = { event: isNew ? "hired" : "rehired", after };
      // The trial of who is new is a line of its own: first they were hired, then it began.
      const isTwofold = isNew && trialDays > 0;
      const steps: [RosterStep, ...RosterStep[]] = isTwofold
        ? [
            { event: "hired", after: { ...after, trial_ends_at: null } },
            { event: "trial_started", after },
          ]
        : [first];
      const made = await records.write(tx, { userId, entry }, steps, beginning, stood === null ? {} : { before: stood });
      return { entry: made, undo: { kind: "begin", user_id: userId, entry_id: made.id, before, after: factsOf(made) } };
    },

    /**
     * Move somebody who is on the roster.
     * @returns why nothing was done, as `skipped`, when there is nobody to move, the move is not legal from there, or changes nothing
     */
    async moveInTx(tx: Tx, userId: string, move: RosterMove): Promise<RosterChange | { skipped: string }> {
      await records.lock(tx, userId);
      const entry = await records.find(tx.db, userId);
      const stood = entry === null ? null : await records.standAt(tx.db, entry, move.effectiveAt);
      if (entry === null || stood === null) return { skipped: nobody };
      const skipped = whyNot(stood, move);
      if (skipped !== null) return { skipped };
      const after = moved(stood, move, move.effectiveAt ?? tx.now);
      const changed = await records.write(tx, { userId, entry }, [{ event: move.event, after }], move, { before: stood });
      return {
        entry: changed,
        undo: { kind: "move", user_id: userId, entry_id: entry.id, before: factsOf(entry), after: factsOf(changed) },
      };
    },

    /**
     * Change when a suspension or probation ends that `moveInTx` began.
     * @param undo as `moveInTx` or this method answered it
     * @param until null: until it is lifted; an end that is not ahead lifts it now
     * @returns the former end, and what takes the move back from now on; null, with nothing done, where somebody changed it since
     */
    async changeEndInTx(
      tx: Tx,
      undo: unknown,
      until: Date | null,
      note: RosterNote,
    ): Promise<{ was: Date | null; undo: RosterUndo } | null> {
      const move = RosterUndo.parse(undo);
      await records.lock(tx, move.user_id);
      const entry = await records.find(tx.db, move.user_id);
      if (entry === null || entry.id !== move.entry_id) return null;
      const stood = factsOf(entry);
      if (!isHalted(stood) || !isSame(stood, move.after, ["status", "suspended_until"])) return null;
      const isOver = until !== null && until <= tx.now;
      const after = isOver
        ? inStatus(stood, stood.status_before ?? "active", { at: tx.now })
        : { ...stood, suspended_until: isoOrNull(until) };
      if (isSame(stood, after)) return null;
      await records.write(tx, { userId: move.user_id, entry }, [{ event: isOver ? "reinstated" : "corrected", after }], note);
      const left = isOver ? move : { ...move, after: { ...move.after, suspended_until: after.suspended_until } };
      return { was: entry.suspendedUntil, undo: left };
    },
  };
}

const nobody = say("roster.this-person-is-not-on-the-roster");

/** Why somebody cannot be put on the roster; null when they can. @param entry theirs, if they have one */
export function whyNotBegin(entry: RosterEntry | null, { isCorrection }: Pick<Beginning, "isCorrection"> = {}): string | null {
  if (entry === null || targetOf(entry, { event: "hired" }) !== null) return null;
  if (isLive(entry)) return say("roster.this-person-is-on-the-roster-already", { status: term(entry.status) });
  if (targetOf(entry, { event: "rehired", isCorrection }) !== null) return null;
  return say("roster.this-person-was-on-the-roster-and", { status: term(entry.status) });
}

/** Why a move would do nothing; null when it would do something. @param entry of the person, if they have one */
export function whyNotMove(entry: RosterEntry | null, move: WantedStand): string | null {
  return entry === null ? nobody : whyNot(factsOf(entry), move);
}

type WantedStand = Pick<RosterMove, "event" | "to" | "staffRole" | "department">;

function whyNot(stood: RosterFacts, move: WantedStand): string | null {
  if (targetOf(standOf(stood), move) === null) return say("roster.the-roster-entry-is-this-does-not", { status: term(stood.status) });
  return isSame(stood, moved(stood, move, new Date(0))) ? say("roster.the-roster-entry-stands-so-already") : null;
}

function begun(before: RosterFacts | null, beginning: Beginning, at: Date): RosterFacts {
  const { trialDays, causeReference, staffRole, department, supervisorId } = beginning;
  // A recruitment whose reversal was taken back counts from when they joined by it.
  const isAgain = causeReference !== null && before?.origin_reference === causeReference;
  const joined = isAgain && before.joined_at !== null ? new Date(before.joined_at) : at;
  return {
    status: trialDays > 0 ? "trial" : "active",
    status_before: null,
    trial_ends_at: trialDays > 0 ? addSeconds(joined, trialDays * daySeconds).toISOString() : null,
    suspended_until: null,
    joined_at: joined.toISOString(),
    ended_at: null,
    origin_reference: causeReference,
    staff_role: staffRole,
    department: department === undefined ? (before?.department ?? null) : department,
    supervisor_id: supervisorId === undefined ? (before?.supervisor_id ?? null) : supervisorId,
  };
}

function moved(stood: RosterFacts, { event, to, until, staffRole, department }: Omit<RosterMove, keyof RosterNote>, at: Date): RosterFacts {
  const facts = inStatus(stood, targetOf(standOf(stood), { event, to }) ?? stood.status, { at, until: until ?? null });
  return {
    ...facts,
    ...(staffRole !== undefined && { staff_role: staffRole }),
    ...(department !== undefined && { department }),
  };
}
