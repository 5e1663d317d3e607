import { say, term } from "../../../kit/say.ts";
import { z } from "zod";
import type { WorkflowEffect } from "../../../generated/sqlite/client.ts";
import { addSeconds } from "../../../kernel/clock.ts";
import { fieldError } from "../../../kernel/errors.ts";
import { parseDuration } from "../../../kernel/fields.ts";
import type { BlacklistService } from "../../blacklist/blacklist.service.ts";
import type { LinkReach } from "../../links/reach.ts";
import type { ActionsService } from "../../cases/actions/actions.service.ts";
import { jsonObject } from "../../../kernel/parsing.ts";
import { discordEffect } from "./discord-effect.ts";
import type { NoticeTexts } from "./notice-texts.ts";
import { guildOf } from "../requests/fields.ts";
import type { LengthChange, Lengths } from "../requests/lengths.ts";
import { findTarget, type AppealTarget } from "./appeal-target.ts";
import { reversalBlockers, type Giving } from "./giving.ts";
import type { EffectInputs } from "./inputs.ts";
import type { Approval, Blocker, Done, Json, Reversal, SomeEffects } from "./types.ts";
import type { Undone } from "../../../kernel/undo.ts";
import type { Ruling } from "../kinds/kind.ts";
import type { Overturning, OverturnNote } from "../requests/overturn.ts";
import { viewerOf } from "../requests/workflows.policy.ts";

export interface AppealEffectDeps {
  blacklist: Pick<BlacklistService, "revokeInTx" | "reduceInTx" | "undoChangeInTx">;
  actions: Pick<ActionsService, "voidInTx" | "undoVoidInTx" | "reduceInTx" | "undoReduceInTx">;
  overturning: Overturning;
  lengths: Pick<Lengths, "changeInTx" | "undoChangeInTx">;
  notices: Pick<NoticeTexts, "reduced">;
  reach: Pick<LinkReach, "linkedAccountsOf">;
  permissions: Giving;
}

type Appeal = EffectInputs["appeal.ruling"];

/** One thing a ruling did, by what takes it back. */
const Part = z.object({ what: z.enum(["blacklist", "void", "reduce", "length", "reverse", "reopen"]), undo: z.unknown() });
type Part = z.infer<typeof Part>;
const Parts = z.object({ parts: z.array(Part) });

interface Ruled {
  parts: Part[];
  detail: string;
  /** What now ends at another time. */
  lengths?: readonly LengthChange[];
}

const nothing: Ruled = { parts: [], detail: say("workflows.there-was-nothing-in-force-any-more") };

/** What an appeal that is heard does to what it is against. */
export function createAppealEffects({
  blacklist,
  actions,
  overturning,
  lengths,
  notices,
  reach,
  permissions,
}: AppealEffectDeps): SomeEffects<"appeal.ruling"> {
  const { overturn, reduce, remit } = createRulings({ blacklist, actions, overturning, lengths });
  const rulings: Readonly<Record<Ruling, (approval: Approval, target: AppealTarget, input: Appeal) => Promise<Ruled>>> = {
    overturn,
    reduce,
    remit,
  };

  /** What takes each part back. */
  const undoing: Readonly<Record<Part["what"], (reversal: Reversal, undo: unknown) => Promise<Undone>>> = {
    blacklist: async ({ tx, reason, permission }, undo) => await blacklist.undoChangeInTx(tx, undo, { reason, permission }),
    void: ({ tx, reason, permission }, undo) => actions.undoVoidInTx(tx, undo, { reason, permission }),
    reduce: ({ tx, reason, permission }, undo) => actions.undoReduceInTx(tx, undo, { reason, permission }),
    length: (reversal, undo) => lengths.undoChangeInTx(reversal.tx, undo, noteOf(reversal)),
    reverse: (reversal, undo) => overturning.reinstateInTx(reversal.tx, undo, noteOf(reversal)),
    reopen: (reversal, undo) => overturning.undoReopenInTx(reversal.tx, undo, noteOf(reversal)),
  };

  /** The person is written when it ends now, once the former end was written to them. */
  function messageAbout({ request, input }: Approval, { request: about, userId, until, isKeptLonger }: LengthChange): Done[] {
    const { action } = jsonObject(about.payload);
    if (userId === undefined || typeof action !== "string" || !about.effects.some(({ key }) => key === "notice.subject")) return [];
    const { reference } = about;
    const letter = notices.reduced({ reference, guildId: guildOf(about.origin), reason: input.reasonPublic, action, until, isKeptLonger });
    const message = { kind: "message_user", userId, content: letter.content, reason: request.reference } as const;
    const id = `${request.id}:${request.revision.toString()}:appeal.notice:${about.id}`;
    return [
      {
        key: "appeal.notice",
        ...discordEffect(message, { id, detail: say("workflows.message-to-the-person-the-new-end"), amends: letter.amends }),
      },
    ];
  }

  return {
    "appeal.ruling": {
      preview: ({ target, desired_outcome: desired }) =>
        say("workflows.is-overturned-reduced-or-sent-back-as", { reference: target, desired: term(desired) }),

      async check(approval, input): Promise<Blocker[]> {
        const target = await targetOf(approval, input, reach);
        if (target === null) return [{ code: "target_missing", detail: say("workflows.there-is-nothing-of-the-name-that") }];
        const ruling = rulingOf(approval, input);
        if (ruling === "reduce") requireReduction(approval, target);
        if (ruling === "remit" && target.kind !== "request")
          return [{ code: "not_remittable", detail: say("workflows.only-a-request-goes-back-to-those") }];
        if (ruling !== "overturn") return [];
        return await reversalBlockers(permissions, approval.tx, await effectsOf(approval, target));
      },

      async apply(approval, input): Promise<Done[]> {
        const target = await targetOf(approval, input, reach);
        const ruling = rulingOf(approval, input);
        if (target === null || ruling === undefined)
          return [{ status: "skipped", detail: say("workflows.the-appeal-was-answered-nothing-is-changed") }];
        const { parts, detail, lengths: changed = [] } = await rulings[ruling](approval, target, input);
        const named = { kind: target.kind === "request" ? "workflow" : target.kind, id: target.id, reference: target.reference };
        return [
          { status: "done", target: named, detail, undo: { parts } as unknown as Json },
          ...changed.flatMap((change) => messageAbout(approval, change)),
        ];
      },

      async undo(reversal: Reversal, { undo }: WorkflowEffect): Promise<Undone> {
        const results: Undone[] = [];
        for (const part of Parts.parse(undo).parts.toReversed()) results.push(await undoing[part.what](reversal, part.undo));
        const detail = results.map((result) => result.detail).join(" ") || say("workflows.there-was-nothing-to-take-back");
        return { restored: results.every(({ restored }) => restored), detail };
      },
    },
  };
}

const noteOf = ({ reason, permission, actorId, request }: Reversal): OverturnNote => ({
  reason,
  permission,
  actorId,
  cause: request.reference,
});

/** What the appeal is against, as far as the deciders may know of it. */
async function targetOf({ tx }: Approval, input: Appeal, reach: AppealEffectDeps["reach"]): Promise<AppealTarget | null> {
  const target = await findTarget(tx.db, input.target);
  return target?.isKnownTo(await viewerOf(tx.db, reach, tx.call)) === true ? target : null;
}

/** The effects of the approval that overturning takes back. */
async function effectsOf({ tx: { db } }: Approval, { kind, id }: AppealTarget): Promise<WorkflowEffect[]> {
  const record = kind === "blacklist" ? await db.blacklistRecord.findUnique({ where: { id }, select: { originReference: true } }) : null;
  const reference = record?.originReference ?? null;
  if (kind !== "request" && reference === null) return [];
  const request = { ...(kind === "request" ? { id } : { reference: reference ?? "" }), status: "approved" };
  return await db.workflowEffect.findMany({ where: { request } });
}

/** What the decision says, else what was asked for; an appeal for clarity is answered in words. */
function rulingOf({ input }: Approval, { desired_outcome: desired }: Appeal): Ruling | undefined {
  return input.ruling ?? (desired === "clarify" ? undefined : desired);
}

/** @throws ProblemError validation_failed when nothing says by how much */
function requireReduction({ input: { body } }: Approval, { kind }: AppealTarget): void {
  const given = { new_severity: body.new_severity, new_duration: body.new_duration, new_points: body.new_points };
  const fitting =
    kind === "strike" || kind === "case"
      ? (["new_points", "new_duration"] as const)
      : (["new_severity", "new_duration", "new_points"] as const);
  if (fitting.every((name) => given[name] === undefined))
    throw fieldError(`/${fitting[0]}`, "required", say("workflows.to-reduce-it-send", { names: fitting.join(" or ") }));
}

/** What each ruling does, to each thing there is to appeal against. */
function createRulings({ blacklist, actions, overturning, lengths }: Omit<AppealEffectDeps, "notices" | "reach" | "permissions">) {
  function noteFor({ input, permission, actorId, request }: Approval): OverturnNote {
    return {
      reason: input.reasonPublic ?? say("workflows.appeal-was-granted", { reference: request.reference }),
      permission,
      actorId,
      cause: request.reference,
    };
  }

  async function voidAll(approval: Approval, ids: readonly string[]): Promise<Ruled> {
    const parts: Part[] = [];
    for (const id of ids) {
      const voided = await actions.voidInTx(approval.tx, id, noteFor(approval));
      if (voided !== null) parts.push({ what: "void", undo: voided.undo });
    }
    return parts.length === 0 ? nothing : { parts, detail: say("workflows.recorded-actions-count-no-longer", { count: parts.length }) };
  }

  async function revoke(approval: Approval, id: string): Promise<Ruled> {
    const { tx } = approval;
    const record = await tx.db.blacklistRecord.findUniqueOrThrow({ where: { id } });
    const origin =
      record.originReference === null ? null : await tx.db.workflowRequest.findUnique({ where: { reference: record.originReference } });
    const reversed = origin?.status === "approved" ? await overturning.reverseInTx(tx, origin.id, noteFor(approval)) : null;
    const parts: Part[] = reversed === null ? [] : [{ what: "reverse", undo: reversed }];
    const revoked = await blacklist.revokeInTx(tx, id, noteFor(approval));
    if (revoked !== null) parts.push({ what: "blacklist", undo: revoked.undo });
    if (parts.length === 0) return nothing;
    return { parts, detail: reversed === null ? say("blacklist.the-record-was-revoked") : reversedText(origin?.reference ?? "") };
  }

  async function overturnRequest(approval: Approval, { id, reference }: AppealTarget): Promise<Ruled> {
    const reversed = await overturning.reverseInTx(approval.tx, id, noteFor(approval));
    if (reversed !== null) return { parts: [{ what: "reverse", undo: reversed }], detail: reversedText(reference) };
    const reopened = await overturning.reopenInTx(approval.tx, id, noteFor(approval));
    return reopened === null
      ? nothing
      : { parts: [{ what: "reopen", undo: reopened }], detail: say("workflows.is-decided-anew", { reference }) };
  }

  /** The actions of a case that an appeal is about: those against the person who appeals, else all. */
  async function actionsOf({ tx }: Approval, caseId: string, { user_id: userId }: Appeal): Promise<string[]> {
    const where = { caseId, voidedAt: null, ...(userId !== undefined && { userId }) };
    return (await tx.db.caseAction.findMany({ where, select: { id: true }, orderBy: { id: "asc" } })).map(({ id }) => id);
  }

  async function reduceRecord(approval: Approval, id: string): Promise<Ruled> {
    const { new_severity: severity, new_duration: length } = approval.input.body;
    const reduced = await blacklist.reduceInTx(approval.tx, id, { severity, expiresAt: endOf(approval, length) }, noteFor(approval));
    return reduced === null
      ? nothing
      : { parts: [{ what: "blacklist", undo: reduced.undo }], detail: say("workflows.the-record-was-reduced") };
  }

  /** What approvals did ends when the decision says, in Discord and on the staff, too. */
  async function reduceLengths(
    approval: Approval,
    requestIds: readonly string[],
  ): Promise<Pick<Ruled, "parts"> & { lengths: LengthChange[] }> {
    const until = endOf(approval, approval.input.body.new_duration);
    const parts: Part[] = [];
    const changed: LengthChange[] = [];
    if (until === undefined) return { parts, lengths: changed };
    for (const id of new Set(requestIds)) {
      const change = await lengths.changeInTx(approval.tx, id, until, noteFor(approval));
      if (change === null) continue;
      parts.push({ what: "length", undo: change.undo });
      changed.push(change);
    }
    return { parts, lengths: changed };
  }

  async function reduceRecorded(approval: Approval, ids: readonly string[]): Promise<Part[]> {
    const { new_points: points, new_duration: length } = approval.input.body;
    const parts: Part[] = [];
    for (const id of ids) {
      const reduced = await actions.reduceInTx(approval.tx, id, { points, expiresAt: endOf(approval, length) }, noteFor(approval));
      if (reduced !== null) parts.push({ what: "reduce", undo: reduced.undo });
    }
    return parts;
  }

  async function reduceActions(approval: Approval, ids: readonly string[]): Promise<Ruled> {
    const { db } = approval.tx;
    const recorded = await reduceRecorded(approval, ids);
    const found = await db.caseAction.findMany({ where: { id: { in: [...ids] } }, select: { originReference: true } });
    const references = found.flatMap(({ originReference }) => originReference ?? []);
    const where = { reference: { in: references }, type: "punishment" };
    const requests = await db.workflowRequest.findMany({ where, select: { id: true }, orderBy: { id: "asc" } });
    const { parts, lengths: changed } = await reduceLengths(
      approval,
      requests.map(({ id }) => id),
    );
    const all = [...recorded, ...parts];
    return all.length === 0 ? nothing : { parts: all, detail: say("workflows.what-was-recorded-was-reduced"), lengths: changed };
  }

  /** What a request did that can be reduced: its record or its recorded action, and what ends. */
  async function reduceRequest(approval: Approval, id: string): Promise<Ruled> {
    const made = await approval.tx.db.workflowEffect.findMany({ where: { requestId: id, status: "done" }, orderBy: { place: "asc" } });
    const ids = (kind: string): string[] => made.filter(({ targetKind }) => targetKind === kind).map(({ targetId }) => targetId ?? "");
    const done: Ruled[] = [];
    for (const recordId of ids("blacklist")) done.push(await reduceRecord(approval, recordId));
    const recorded = await reduceRecorded(approval, ids("case_action"));
    const { parts, lengths: changed } = await reduceLengths(approval, [id]);
    const own = [...recorded, ...parts];
    if (own.length > 0) done.push({ parts: own, detail: say("workflows.what-was-recorded-was-reduced") });
    const all = done.flatMap((ruled) => ruled.parts);
    return all.length === 0 ? nothing : { parts: all, detail: done.map(({ detail }) => detail).join(" "), lengths: changed };
  }

  return {
    async overturn(approval: Approval, target: AppealTarget, input: Appeal): Promise<Ruled> {
      if (target.kind === "request") return await overturnRequest(approval, target);
      if (target.kind === "blacklist") return await revoke(approval, target.id);
      return await voidAll(approval, target.kind === "case" ? await actionsOf(approval, target.id, input) : [target.id]);
    },

    async reduce(approval: Approval, target: AppealTarget, input: Appeal): Promise<Ruled> {
      if (target.kind === "request") return await reduceRequest(approval, target.id);
      if (target.kind === "blacklist") return await reduceRecord(approval, target.id);
      return await reduceActions(approval, target.kind === "case" ? await actionsOf(approval, target.id, input) : [target.id]);
    },

    /** Back to those who decided, with what they are to look at again. */
    async remit(approval: Approval, target: AppealTarget): Promise<Ruled> {
      const { tx, input, actorId, request } = approval;
      const words = input.body.instructions ?? input.reasonPublic ?? say("workflows.look-at-it-again");
      await overturning.noteInTx(tx, target.id, `${request.reference}: ${words}`.slice(0, maxComment), actorId);
      const reopened = await overturning.reopenInTx(tx, target.id, noteFor(approval));
      const parts: Part[] = reopened === null ? [] : [{ what: "reopen", undo: reopened }];
      return {
        parts,
        detail:
          reopened === null
            ? say("workflows.stands-its-panel-is-asked-to-look", { reference: target.reference })
            : say("workflows.is-decided-anew", { reference: target.reference }),
      };
    },
  };
}

const maxComment = 2000;

/** What the bot did is taken back after this: the reversed request says what came of it. */
function reversedText(reference: string): string {
  return say("workflows.was-reversed-i-take-back-what-i", { reference });
}

/** Absent: the end stays; null: no end. */
function endOf({ from }: Approval, length: string | null | undefined): Date | null | undefined {
  return typeof length === "string" ? addSeconds(from, parseDuration(length) ?? 0) : length;
}
