import { say, term } from "../../../kit/say.ts";
import type { Tx } from "../../../database/database.ts";
import { insertRows } from "../../../database/insert.ts";
import type { Prisma, WorkflowEffect } from "../../../generated/sqlite/client.ts";
import { fieldError } from "../../../kernel/errors.ts";
import type { WorkflowKind } from "../../../kernel/vocabulary.ts";
import type { EffectInputs, EffectKey, Use } from "./inputs.ts";
import type {
  Approval as Approving,
  Blocker,
  Done,
  Due as DueEffect,
  Earlier,
  Effect,
  EffectTable,
  EffectUndone,
  Json,
  Reversal,
} from "./types.ts";
import { RESTJSONErrorCodes as Codes } from "discord-api-types/v10";
import {
  amendsKeyOf,
  calledOff,
  Delivered,
  DiscordEffectInput,
  isAmends,
  refusalOf,
  type Amended,
  type Compensating,
} from "./discord-effect.ts";
import type { EventsService } from "../../events/events.service.ts";
import { createLaterGiving, type LaterGivingDeps } from "./giving.ts";
import type { NoticeTexts } from "./notice-texts.ts";
import { tellRecoveredEffect } from "./request-causes.ts";
import { takenBackOf, type Causes } from "./shared-actions.ts";
import type { Kind } from "../kinds/kind.ts";
import { kinds } from "../kinds/kinds.ts";
import { guildOf } from "../requests/fields.ts";
import type { Request } from "../requests/workflows.policy.ts";
import type { effectErrors, EffectView } from "../requests/workflows.schema.ts";

export interface Effects {
  /** How an effect that was left for a date is done; undefined when nothing is known of it any more. */
  dueOf(given: Pick<Due, "type" | "payload">, name: string): Bound["run"];
  /** Call `work` after each commit that left something to be done. */
  onLeft(work: () => void): void;
  /** Have what is left to be done looked at now. */
  wake(): void;
  preview(
    kind: Kind,
    payload: Record<string, unknown>,
  ): {
    key: keyof EffectInputs;
    detail: string;
  }[];
  /** Everything that keeps an approval from taking effect now. */
  check(approval: Approval): Promise<Blocker[]>;
  /** Do everything an approval of this kind does; whatever throws undoes the approval. @throws ProblemError */
  apply(approval: Approval): Promise<WorkflowEffect[]>;
  /** Take back what an approval did, the last first. What somebody changed since stays, and its effect says so. */
  undo(reversal: Reversal): Promise<WorkflowEffect[]>;
  append(tx: Tx, request: Pick<Request, "id" | "effects">, done: Earlier): Promise<WorkflowEffect[]>;
  /** What is left to be done for a delivered effect whose ground is gone. */
  takenBack(row: WorkflowEffect, reversal: Compensating): Promise<Amended | undefined>;
  /**
   * Why a role that was decided to be given is not given now; null: nothing is in the way. The rule is asked again of the person who decided
   * it, or who had it tried again since: they may have lost the right, and the role may have gained permissions.
   */
  whyNotGiven(request: Request, row: WorkflowEffect): string | null;
}

/** An approval with what it approves. */
export interface Approval extends Approving {
  type: WorkflowKind;
  /** As it is approved: with the length that the decision says. */
  payload: Record<string, unknown>;
}
/** What was left for a date, with the request it is of. */
export interface Due extends DueEffect {
  type: WorkflowKind;
  payload: Record<string, unknown>;
}

/** An effect of one request: everything it can do, told what it is to know. */
interface Bound {
  key: EffectKey;
  preview: string;
  isOptional: boolean;
  check(approval: Approving): Promise<readonly Blocker[]>;
  apply(approval: Approving, earlier: Earlier): Promise<readonly Done[]>;
  run?(due: DueEffect, row: WorkflowEffect): Promise<Done>;
}

/** Names that say more closely what an effect did. */
const sameEffect: Readonly<Record<string, EffectKey>> = {
  "account_link.merge": "account_link.create",
  "blacklist.merge": "blacklist.create",
};

/** Carries out what approvals do and takes it back, by the table. */
export function createEffects(
  table: EffectTable,
  notices: Pick<NoticeTexts, "withReason">,
  causes: Causes,
  events: Pick<EventsService, "emit">,
  later: LaterGivingDeps,
): Effects {
  const keyOf = (name: string): EffectKey | undefined => {
    const key = sameEffect[name] ?? name;
    return isEffect(table, key) ? key : undefined;
  };
  const usesOf = (kind: Kind, payload: Record<string, unknown>): Bound[] => kind.effects(payload).map((use) => bind(table, use));
  let listener: () => void = () => undefined;
  const wake = (): void => listener();
  const takenBack: TakenBack = (row, reversal) => takenBackOf(causes, row, reversal);

  /** Keep what was done, and what is left to be done, behind the request's earlier effects. */
  async function append(tx: Tx, request: Pick<Request, "id" | "effects">, done: Earlier): Promise<WorkflowEffect[]> {
    const last = Math.max(0, ...request.effects.map(({ place }) => place));
    const rows = done.map((one, index) => rowOf(tx, request.id, last + 1 + index, one));
    await insertRows(tx, "WorkflowEffect", rows);
    if (rows.some(({ dueAt }) => dueAt !== null)) tx.afterCommit(wake);
    return rows;
  }

  return {
    ...createLaterGiving(later),
    dueOf({ type, payload }: Pick<Due, "type" | "payload">, name: string): Bound["run"] {
      const key = keyOf(name);
      return usesOf(kinds[type], payload).find((use) => use.key === key)?.run;
    },
    onLeft(work: () => void): void {
      listener = work;
    },
    wake,

    preview: (kind: Kind, payload: Record<string, unknown>) => usesOf(kind, payload).map(({ key, preview }) => ({ key, detail: preview })),

    async check(approval: Approval): Promise<Blocker[]> {
      const blockers: Blocker[] = [];
      for (const use of wanted(usesOf(kinds[approval.type], approval.payload), approval)) blockers.push(...(await use.check(approval)));
      return blockers;
    },

    async apply(approval: Approval): Promise<WorkflowEffect[]> {
      const { request, input } = approval;
      const all = usesOf(kinds[approval.type], approval.payload);
      const kept = wanted(all, approval);
      const earlier: (Done & { key: string })[] = [];
      for (const use of all) {
        const { key } = use;
        if (kept.includes(use)) for (const done of await use.apply(approval, earlier)) earlier.push({ key, ...done });
        else
          earlier.push({
            key,
            status: "skipped",
            detail: say("workflows.switched-off-in-the-decision-of", { action: term(input.action) }),
          });
      }
      return await append(approval.tx, request, earlier);
    },

    async undo(reversal: Reversal): Promise<WorkflowEffect[]> {
      const { tx, request } = reversal;
      const rows = request.effects.toReversed();
      const { reason } = reversal;
      const guildId = guildOf(request.origin);
      const reworded = (amends: string): string => (reason === "" ? amends : notices.withReason(amends, { guildId, reason }));
      const amends: (Done & { key: string })[] = [];
      const taken: WorkflowEffect[] = [];
      for (const row of rows) {
        const change = await undoneBy({ undo: undoOf(table, keyOf(row.key)), takenBack }, { ...reversal, reworded }, row);
        if (change === null) continue;
        amends.push(...(change.amends ?? []).map((done) => ({ key: amendsKeyOf(row.key), ...done })));
        const { status, detail, dueAt = null, undo } = change;
        tellRecoveredEffect(events, tx, { request, row, status });
        const where = { requestId_place: { requestId: row.requestId, place: row.place } };
        taken.push(await tx.db.workflowEffect.update({ where, data: { status, detail, dueAt, updatedAt: tx.now, ...(undo && { undo }) } }));
        if (dueAt !== null) tx.afterCommit(wake);
      }
      return [...taken.toReversed(), ...(await append(tx, request, amends))];
    },

    append,

    takenBack,
  };
}

type TakenBack = (row: WorkflowEffect, reversal: Compensating) => Promise<Amended | undefined>;

function rowOf(tx: Tx, requestId: string, place: number, done: Done & { key: string }): WorkflowEffect {
  const { key, status, target, detail, input, undo, dueAt } = done;
  return {
    requestId,
    place,
    key,
    status,
    targetKind: target?.kind ?? null,
    targetId: target?.id ?? null,
    targetReference: target?.reference ?? null,
    detail,
    input: input === undefined ? null : stored(input),
    undo: undo === undefined ? null : stored(undo),
    attempts: 0,
    lastError: null,
    dueAt: status === "pending" ? (dueAt ?? tx.now) : null,
    at: tx.now,
    updatedAt: tx.now,
  };
}

/** As it is read back later: without what JSON leaves out. */
function stored(json: Json): Prisma.JsonValue {
  return JSON.parse(JSON.stringify(json)) as Prisma.JsonValue;
}

interface Change {
  status: string;
  detail: string;
  /** When it is looked at once more. */
  dueAt?: Date;
  amends?: readonly Done[];
  /** What is known of an action of the bot from now on. */
  undo?: Delivered;
}

const keyOfEnd: EffectKey = "discord.ban_end";

/** How an effect stands once its approval is taken back; null: as before. */
async function undoneBy(
  { undo, takenBack }: { undo: UndoOf; takenBack: TakenBack },
  reversal: Reversal & Compensating,
  row: WorkflowEffect,
): Promise<Change | null> {
  if (isAmends(row)) return null;
  // The lift that a reversal would leave is on its way already, or has failed and can be tried again.
  if (keyOfEnd === row.key && row.input !== null) return null;
  if (row.status === "pending" || row.status === "failed") return calledOff(row, reversal.tx.now);
  // What a punishment's length ended is over, and is not begun again.
  if (row.status !== "done" || keyOfEnd === row.key) return null;
  const amended = await takenBack(row, reversal);
  if (amended !== undefined) return amended;
  if (undo === undefined) return null;
  const { restored, detail, amends } = await undo(reversal, row);
  return {
    status: restored ? "reversed" : "done",
    detail: restored ? detail : `${row.detail} ${detail}`,
    ...(amends !== undefined && { amends }),
  };
}

/** The effects that the decision leaves on. @throws ProblemError for those nobody switches off */
function wanted(all: readonly Bound[], { input }: Approval): Bound[] {
  const choices = Object.entries(input.body.effects ?? {});
  for (const [key, isOn] of choices) {
    const known = all.find((use) => use.key === key);
    if (known === undefined) {
      const keys = all.map((use) => use.key);
      throw fieldError(`/effects/${key}`, "unknown_effect", say("workflows.an-approval-of-this-request-does", { keys: keys.join(", ") }));
    }
    if (!isOn && !known.isOptional) throw fieldError(`/effects/${key}`, "not_optional", say("workflows.this-effect-is-the-point-of-the"));
  }
  return all.filter(({ key }) => !choices.some(([off, isOn]) => off === key && !isOn));
}

function bind<Key extends EffectKey>(table: { [Each in Key]: Effect<EffectInputs[Each]> }, { key, input }: Use<Key>): Bound {
  const { preview, isOptional, check, apply, run }: Effect<EffectInputs[Key]> = table[key];
  return {
    key,
    preview: typeof preview === "function" ? preview(input) : preview,
    isOptional: isOptional === true,
    check: async (approval) => (await check?.(approval, input)) ?? [],
    apply: (approval, earlier) => apply(approval, input, earlier),
    ...(run !== undefined && { run: (due: DueEffect, row: WorkflowEffect) => run(due, row, input) }),
  };
}

type UndoOf = ((reversal: Reversal, row: WorkflowEffect) => Promise<EffectUndone>) | undefined;

function undoOf(table: EffectTable, key: EffectKey | undefined): UndoOf {
  return key === undefined ? undefined : table[key].undo?.bind(table[key]);
}

function isEffect(table: EffectTable, name: string): name is EffectKey {
  return Object.hasOwn(table, name);
}

export function presentEffect(row: WorkflowEffect): EffectView {
  return {
    key: row.key,
    status: row.status as EffectView["status"],
    target:
      row.targetKind === null || row.targetId === null
        ? null
        : { kind: row.targetKind, id: row.targetId, ...(row.targetReference !== null && { reference: row.targetReference }) },
    detail: row.detail,
    attempts: row.attempts,
    last_error: row.lastError,
    ...(row.lastError !== null && { error: errorOf(row, row.lastError) }),
    ...changedIn(row),
    due_at: row.dueAt?.toISOString() ?? null,
  };
}

const errors: Readonly<Record<number, (typeof effectErrors)[number]>> = {
  [Codes.MissingPermissions]: "missing_permission",
  [Codes.MissingAccess]: "missing_permission",
  [Codes.TwoFactorAuthenticationIsRequired]: "missing_permission",
  [Codes.UnknownMember]: "not_a_member",
  [Codes.UnknownUser]: "unknown_user",
  [Codes.InvalidRecipients]: "unknown_user",
  [Codes.CannotSendMessagesToThisUser]: "messages_refused",
  [Codes.CannotSendMessagesToThisUserDueToHavingNoMutualGuilds]: "messages_refused",
  [Codes.OpeningDirectMessagesTooFast]: "rate_limited",
  [Codes.MaximumNumberOfNonGuildMemberBansHasBeenExceeded]: "rate_limited",
  [Codes.ServiceResourceIsBeingRateLimited]: "rate_limited",
  [Codes.UnknownGuild]: "not_found",
  [Codes.UnknownRole]: "not_found",
  [Codes.UnknownChannel]: "not_found",
};

function errorOf(row: WorkflowEffect, detail: string): NonNullable<EffectView["error"]> {
  const code = refusalOf(row);
  const isForBot = DiscordEffectInput.safeParse(row.input).success;
  const other = !isForBot ? "not_done" : code === null ? "unavailable" : "discord_refused";
  return { code: errors[code ?? -1] ?? other, discord_code: code, detail };
}

function changedIn({ status, undo }: WorkflowEffect): { changed?: boolean } {
  const delivered = status === "done" ? Delivered.safeParse(undo) : undefined;
  return delivered?.success === true ? { changed: delivered.data.changed } : {};
}
