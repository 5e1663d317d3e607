import type { LookAnswer } from "./looking.schema.ts";
import { say } from "../../../kit/say.ts";
import type { Deps } from "../../deps.ts";
import type { CausesInForce } from "../../../discord-actions/in-force.ts";
import type { Judge } from "../../../discord-actions/judge.ts";
import type { Verdict } from "../../../discord-actions/possible.ts";
import type { Tx } from "../../../database/database.ts";
import type { Level, PermissionKey } from "../../../kernel/permissions.ts";
import { requireIn, requireWrite, type Actor, type Call } from "../../../kernel/call.ts";
import { fieldError, type FieldError, ProblemError, recordNotFound, validationProblem } from "../../../kernel/errors.ts";
import { isoOrNull, parseDuration } from "../../../kernel/fields.ts";
import type { LinkReach } from "../../links/reach.ts";
import type { Ranks } from "../requests/context.ts";
import type { FileInTx } from "../requests/create.ts";
import { subjectsLock } from "../requests/filing.ts";
import { openRequest, type Acting } from "../requests/act.ts";
import { understand } from "../requests/intake.ts";
import { visibleDecision } from "../requests/visibility.ts";
import { viewerOf, type Request } from "../requests/workflows.policy.ts";
import { kindOf, kinds } from "../kinds/kinds.ts";
import { approvalsFor, policyOf } from "../policies/policies.ts";
import {
  actionSpecs,
  ModerateInput,
  nameKey,
  UndoInput,
  type ModerationAnswer,
  type UndoAnswer,
  type UndoRefusal,
  type WaitReason,
  type DirectView,
  type PutDirectInput,
  type ReasonsView,
  type PutReasonsInput,
} from "./direct.schema.ts";
import { directPolicy } from "./direct.policy.ts";
import { memberActionOf, requirePossible } from "./possible.ts";
import { inForceAgainst } from "./in-force.ts";
import { createLooking, type LookingDeps } from "./looking.ts";
import { inParts, type PartsDeps } from "./several.ts";
import { createDirectSettings, directSetting, reasonsSetting, type DirectSettingsDeps } from "./settings.service.ts";
import { refusedAsBuiltOn, undoEnd, undoReason, undoRefusal } from "./undo.ts";
import { waitOf, type Wait } from "./waiting.ts";

/** Who there is on the staff, and how they stand. */
interface DirectAccess extends Ranks {
  of(userId: string): ReturnType<Ranks["of"]> & { level: Level; explicitDenials: readonly string[] };
  people(): string[];
}

export interface DirectDeps extends DirectSettingsDeps, LookingDeps, Pick<PartsDeps, "logger">, Deps<"database" | "clock"> {
  /** Tells what Discord would refuse. */
  judge: Judge;
  causes: Pick<CausesInForce, "of" | "isUnderWay">;
  access: DirectAccess;
  reach: Pick<LinkReach, "linkedAccountsOf">;
  fileInTx: FileInTx;
  approveInTx: Acting["approveInTx"];
  undoInTx: Acting["undoInTx"];
}

/** Some of the people of one call. */
interface SomeBans {
  part: readonly string[];
  /** Whom the caller has to be able to ban, or none of these is banned. */
  toCheck: readonly string[];
  /** What Discord would say to a ban of each of them. */
  verdicts: readonly (Verdict | null)[];
  /** The request of the first one, where others were filed before. */
  first: string | undefined;
}

/** A ban of one of several people. */
interface Banned {
  user_id: string;
  id: string;
  reference: string;
  /** How many approvals it needed. */
  required: number;
}

/** Somebody who is acted on, and what makes sure that Discord would let the bot do it. */
interface One {
  userId: string;
  requireDoable: () => Promise<void>;
}

const type = "punishment";
const leastReason = 10;
const maxDeciders = 3;

/** Moderation in one step: one punishment request, filed and, where the server's rules let its requester, decided in one transaction. */
export function createDirect(parts: DirectDeps): DirectService {
  const { database, clock, judge, causes, access, reach, fileInTx, approveInTx, undoInTx } = parts;
  const settings = createDirectSettings(parts);

  /** The text of a template, where the reason names one. @throws ProblemError validation_failed for a reason that is too short */
  async function reasonFor(tx: Tx, guildId: string, said: string): Promise<string> {
    const { reasons } = (await reasonsSetting.read(tx.db, guildId)).value;
    const reason = reasons.find(({ name }) => nameKey(name) === nameKey(said))?.text ?? said;
    if (reason.length < leastReason) throw fieldError("/reason", "too_short", say("workflows.give-a-reason-of-10-characters-or"));
    return reason;
  }

  /** Why an action waits for others, for each of some people; null: it does not. */
  async function waitsFor(
    tx: Tx,
    guildId: string,
    { action, duration }: Pick<ModerateInput, "action" | "duration">,
    { approvals, userIds }: { approvals: number; userIds: readonly string[] },
  ): Promise<(Wait | null)[]> {
    const { call } = tx;
    const { rule, length, lifts } = actionSpecs[action];
    const policy = await policyOf(tx.db, type);
    const actorId = call.actor?.id ?? "";
    const actor = access.of(actorId);
    const accounts = new Set([actorId, ...(await reach.linkedAccountsOf(tx.db, actorId))]);
    const rules = (await directSetting.read(tx.db, guildId)).value;
    const isDenied = actor.explicitDenials.some((key) => key === directPolicy.decide || key === "*") || isDeniedIn(actor, guildId);
    const waits: (Wait | null)[] = [];
    for (const userId of userIds) {
      const lifted = lifts === undefined ? null : await inForceAgainst(tx.db, { guildId, userId, kind: lifts }, tx.now);
      const needed = (lifted?.payloads ?? []).map((payload) => approvalsFor(type, policy, payload));
      const subject = access.of(userId);
      const wait = waitOf({
        call,
        rule: rules[rule],
        level: actor.level,
        seconds: lifted?.seconds ?? (length === "none" ? 0 : secondsOf(duration)),
        liftedBy: lifted?.by ?? null,
        approvals: Math.max(approvals, ...needed),
        isDenied,
        isOutranked: !actor.isOwner && subject.isStaff && subject.rank >= actor.rank,
        isConflicted: accounts.has(userId),
      });
      waits.push(wait);
    }
    return waits;
  }

  /** Up to three people who may decide about somebody in a server, or reverse a decision, those of the lowest rank first. */
  function decidersOf({ actor }: Call, guildId: string, userId: string, permission: PermissionKey = directPolicy.decide): string[] {
    const subject = access.of(userId);
    const found = access.people().flatMap((id) => {
      const person = access.of(id);
      const isAbove = person.isOwner || !subject.isStaff || person.rank > subject.rank;
      const may = person.isStaff && isAbove && person.decide(permission, guildId).allowed;
      return may && id !== actor?.id && id !== userId ? [{ id, rank: person.rank }] : [];
    });
    return found
      .toSorted((a, b) => a.rank - b.rank || (a.id < b.id ? -1 : 1))
      .slice(0, maxDeciders)
      .map(({ id }) => id);
  }

  async function moderateOne(tx: Tx, guildId: string, input: ModerateInput, { userId, requireDoable }: One): Promise<ModerationAnswer> {
    const { call } = tx;
    const intake = understand(kinds[type], requestOf(guildId, input, userId));
    const required = approvalsFor(type, await policyOf(tx.db, type), intake.payload);
    const [waits = null] = await waitsFor(tx, guildId, input, { approvals: required, userIds: [userId] });
    if (waits === null) await requireDoable();
    const filed = await fileInTx(tx, type, intake, { isDirect: waits === null });
    const { id, reference, warnings } = filed;
    const told = { success: true, id, reference, warnings, requests: [{ user_id: userId, id, reference }] } as const;
    if (waits !== null) {
      const deciders = decidersOf(call, guildId, userId);
      const approvals = { have: 0, required };
      return {
        ...told,
        requests: [...told.requests],
        status: filed.status,
        direct: false,
        waits,
        deciders,
        approvals,
        undo_until: null,
        effects: [],
        left: null,
      };
    }
    const { status, approvals, effects } = visibleDecision(call, type, await approveInTx(tx, type, id, input.reason));
    const until = isoOrNull(undoEnd(input.action, tx.now));
    return {
      ...told,
      requests: [...told.requests],
      status,
      direct: true,
      waits: null,
      deciders: [],
      approvals,
      undo_until: until,
      effects,
      left: null,
    };
  }

  /** @throws ProblemError validation_failed with a pointer to everybody whom the bot could not ban */
  function requireDoableFor(verdicts: readonly (Verdict | null)[]): void {
    const errors = verdicts.flatMap((verdict, index): FieldError[] => {
      if (verdict?.outcome !== "impossible") return [];
      return [{ pointer: `/user_ids/${index.toString()}`, in: "body", code: verdict.code, detail: verdict.detail }];
    });
    if (errors.length > 0) throw validationProblem(errors);
  }

  /**
   * File and approve bans of some of several people: a request each, so that each can appeal and be let back in without the others.
   * @throws ProblemError permission_denied, validation_failed with a pointer to everybody whom the caller may not ban
   */
  async function banSome(tx: Tx, guildId: string, input: ModerateInput, { part, toCheck, verdicts, first }: SomeBans): Promise<Banned[]> {
    const reason = await reasonFor(tx, guildId, input.reason);
    const intakes = part.map((userId) => ({ userId, intake: understand(kinds[type], requestOf(guildId, { ...input, reason }, userId)) }));
    const required = approvalsFor(type, await policyOf(tx.db, type), intakes[0]?.intake.payload ?? {});
    requireAlone(await waitsFor(tx, guildId, input, { approvals: required, userIds: toCheck }), toCheck);
    requireDoableFor(verdicts);
    // Every lock before the first number, in one order: two who ban the same people never wait for each other.
    await tx.lock(...part.map((subjectId) => subjectsLock(type, [{ kind: "user", subjectId }])).toSorted());
    const requests: Banned[] = [];
    for (const { userId, intake } of intakes) {
      const related = [...intake.common.related, first ?? requests[0]?.reference ?? []].flat();
      const { id, reference } = await fileInTx(tx, type, { ...intake, common: { ...intake.common, related } }, { isDirect: true });
      await approveInTx(tx, type, id, reason);
      requests.push({ user_id: userId, id, reference, required });
    }
    return requests;
  }

  /**
   * Ban several people, for somebody who decides it alone. All of them are checked before anything is written. Then some are written at a
   * time: everybody else who writes waits for each of these transactions.
   * @throws ProblemError permission_denied, validation_failed with a pointer to everybody whom the caller may not ban
   */
  async function banSeveral(call: Call, guildId: string, input: ModerateInput): Promise<ModerationAnswer> {
    const { user_ids: userIds = [] } = input;
    const replay = await database.findReplay(call);
    if (replay !== undefined) return replay.value as ModerationAnswer;
    const all = await judge.known(userIds.map((userId) => ({ kind: "ban", guildId, userId })));
    const { rows, left } = await inParts<Banned>(parts, call, userIds, (tx, part, before) => {
      const isFirst = before.length === 0;
      const verdicts = all.filter((_verdict, index) => isFirst || part.includes(userIds[index] ?? ""));
      return banSome(tx, guildId, input, { part, toCheck: isFirst ? userIds : part, verdicts, first: before[0]?.reference });
    });
    const [{ id, reference, required }] = rows as [Banned, ...Banned[]];
    const answer: ModerationAnswer = {
      success: true,
      id,
      reference,
      status: "approved",
      direct: true,
      waits: null,
      deciders: [],
      approvals: { have: required, required },
      undo_until: null,
      warnings: [],
      effects: [],
      requests: rows.map((row) => ({ user_id: row.user_id, id: row.id, reference: row.reference })),
      left,
    };
    // What was left out is done by the same key, which keeps no answer before all is.
    if (left === null && call.idempotency !== null) await database.write(call, () => Promise.resolve(answer));
    return answer;
  }

  /** Why a decision is not the caller's to take back alone; null: it is. */
  async function undoRefused(tx: Tx, request: Request, actorId: string): Promise<UndoRefusal | null> {
    const refused = undoRefusal(request, actorId, tx.now) ?? (await refusedAsBuiltOn(tx.db, request, actorId));
    if (refused !== null) return refused;
    const { guildId, userId } = placeOf(request);
    const { action, duration } = request.payload as Pick<ModerateInput, "action" | "duration">;
    // Staff whom the rules of the server no longer let do it do not undo it either.
    const of = { approvals: request.approvalsRequired, userIds: [userId] };
    const [wait = null] = await waitsFor(tx, guildId, { action, duration }, of);
    return wait === null ? null : { code: "right", detail: wait.detail };
  }

  return {
    ...settings,
    ...createLooking(parts),

    async moderate(call: Call, guildId: string, body: ModerateInput): Promise<ModerationAnswer> {
      requireWrite(call, directPolicy.read);
      if (call.actor === null)
        throw new ProblemError("acting_user_required", { detail: say("workflows.a-decision-is-a-persons-name-them") });
      const input = ModerateInput.parse(body);
      settings.requireServed(guildId);
      const { user_id: userId } = input;
      if (userId === undefined) return await banSeveral(call, guildId, input);
      const action = memberActionOf(input, { guildId, userId }, clock.now());
      // Discord is asked outside of the transaction, which others wait for.
      const verdict = action === null ? null : await judge.ask(action);
      return await database.write(call, async (tx) => {
        const reason = await reasonFor(tx, guildId, input.reason);
        const worded = { ...input, reason };
        const requireDoable = async (): Promise<void> => {
          if (action !== null) await requirePossible(tx, action, verdict, causes);
        };
        return await moderateOne(tx, guildId, worded, { userId, requireDoable });
      });
    },

    async undo(call: Call, named: string, key: string, body: UndoInput): Promise<UndoAnswer> {
      requireWrite(call, directPolicy.read);
      const { reason = undoReason } = UndoInput.parse(body);
      const kind = kindOf(named);
      if (kind === undefined) throw recordNotFound();
      return await database.write(call, async (tx): Promise<UndoAnswer> => {
        const { accounts } = await viewerOf(tx.db, reach, call);
        const request = await openRequest(tx, { type: kind, key, permission: directPolicy.read, accounts });
        const actorId = call.actor?.id;
        if (actorId === undefined) throw new ProblemError("acting_user_required");
        const { guildId, userId } = placeOf(request);
        if (guildId !== "") requireIn(call, directPolicy.read, [guildId]);
        const { id, reference } = request;
        const status = request.status as UndoAnswer["status"];
        // Of one that is reversed already, the move says so.
        const refused = request.isDirect && status !== "approved" ? null : await undoRefused(tx, request, actorId);
        if (refused === null) {
          const done = visibleDecision(call, kind, await undoInTx(tx, kind, id, reason));
          const replayed = done.replayed === true && { replayed: true as const };
          return {
            success: true,
            id,
            reference,
            status: done.status,
            undone: true,
            refused,
            deciders: [],
            effects: done.effects,
            ...replayed,
          };
        }
        const deciders = decidersOf(call, guildId, userId, `workflows.${kind}.reverse`);
        return { success: true, id, reference, status, undone: false, refused, deciders, effects: [] };
      });
    },
  };
}

export interface DirectService {
  /**
   * Warn, note, time out, kick or ban somebody in a server, or take a timeout or a ban back. Done at once where the server's rules let the
   * caller decide alone; otherwise it is filed, and waits for others as every request. What Discord would refuse is refused before anything
   * is written.
   * @throws ZodError, ProblemError acting_user_required, permission_denied, record_not_found, discord_would_refuse, invalid_transition,
   * duplicate_open, rate_limited
   */
  moderate(call: Call, guildId: string, body: ModerateInput): Promise<ModerationAnswer>;
  /**
   * Take back a warning, a note or a timeout that the caller decided alone a short while ago. Where it is not theirs to take back,
   * nothing changes, and the answer says why and who may.
   * @param key id or reference, in any case
   * @throws ZodError, ProblemError acting_user_required, permission_denied, record_not_found, conflict_of_interest, hierarchy_violation,
   * invalid_transition
   */
  undo(call: Call, named: string, key: string, body: UndoInput): Promise<UndoAnswer>;
  /**
   * Note that somebody else has looked at what one person decided alone. Once more by anybody changes nothing.
   * @param key id or reference, in any case
   * @throws ProblemError acting_user_required, permission_denied, record_not_found, conflict_of_interest, invalid_transition
   */
  lookedAt(call: Call, type: string, key: string): Promise<LookAnswer>;
  /** @throws ProblemError record_not_found for a guild that is not served */
  requireServed(guildId: string): void;
  /** What somebody may do alone in a server, of what the bot does in Discord. */
  actionsIn(guildId: string): Promise<("timeout" | "kick" | "ban")[]>;
  /** What each level does alone in a server. @throws ProblemError record_not_found */
  getDirect(call: Call, guildId: string): Promise<DirectView>;
  /** Choose all rules of a server; what is left out is off. @throws ZodError, ProblemError record_not_found, precondition_failed */
  putDirect(call: Call, guildId: string, input: PutDirectInput, ifMatch?: number): Promise<DirectView>;
  /** The reason templates of a server. @throws ProblemError record_not_found */
  getReasons(call: Call, guildId: string): Promise<ReasonsView>;
  /** Replace all reason templates of a server. @throws ZodError, ProblemError record_not_found, precondition_failed */
  putReasons(call: Call, guildId: string, input: PutReasonsInput, ifMatch?: number): Promise<ReasonsView>;
}

const ofPerson: Partial<Readonly<Record<WaitReason, (userId: string) => string>>> = {
  rank: (userId) => say("workflows.is-staff-of-your-own-rank-or", { user: userId }),
  conflict: (userId) => say("workflows.is-you-or-an-account-linked-to", { user: userId }),
};

/** @throws ProblemError permission_denied, or validation_failed for each person whom the caller does not ban alone */
function requireAlone(waits: readonly (Wait | null)[], userIds: readonly string[]): void {
  const general = waits.find((wait) => wait !== null && ofPerson[wait.code] === undefined);
  if (general !== undefined && general !== null) throw new ProblemError("permission_denied", { detail: general.detail });
  const errors = waits.flatMap((wait, index) => {
    const detail = wait === null ? undefined : ofPerson[wait.code]?.(userIds[index] ?? "");
    return wait === null || detail === undefined
      ? []
      : [{ pointer: `/user_ids/${index.toString()}`, in: "body" as const, code: wait.code, detail }];
  });
  if (errors.length > 0) throw validationProblem(errors);
}

/** The server and the person that a decision is about; of one that is not direct there may be none. */
function placeOf({ payload }: Request): { guildId: string; userId: string } {
  const { user_id: userId = "", discord } = payload as unknown as { user_id?: string; discord?: { guild_ids?: readonly string[] } };
  return { guildId: discord?.guild_ids?.[0] ?? "", userId };
}

/** Without a length, and with one that is permanent, it has no end. */
function secondsOf(duration: string | null | undefined): number {
  return parseDuration(duration ?? "") ?? Infinity;
}

/** Whether an entry that counts in this server alone takes the right to decide away. */
function isDeniedIn({ decide }: Pick<Actor, "decide">, guildId: string): boolean {
  const { allowed, reasons } = decide(directPolicy.decide, guildId);
  return !allowed && reasons[0]?.code === "user_deny";
}

/** The punishment request that an action is about one person. */
function requestOf(
  guildId: string,
  { channel_id: channelId, evidence, notify_subject: isTold, delete_messages: deletion, user_ids: several, ...input }: ModerateInput,
  userId: string,
): object {
  const { isAnnounced = false } = actionSpecs[input.action];
  return {
    ...input,
    user_id: userId,
    discord: { guild_ids: [guildId], ...(deletion !== undefined && { delete_messages: deletion }) },
    notify_subject: isAnnounced && (isTold ?? several === undefined),
    ...(evidence !== undefined && { evidence }),
    ...(channelId !== undefined && { origin: { guild_id: guildId, channel_id: channelId } }),
  };
}
