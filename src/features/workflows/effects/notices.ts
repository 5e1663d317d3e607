import { say } from "../../../kit/say.ts";
import type { GuildState } from "../../../discord/guild-state.ts";
import { addSeconds } from "../../../kernel/clock.ts";
import { parseDuration } from "../../../kernel/fields.ts";
import type { CausesInForce } from "../../../discord-actions/in-force.ts";
import type { AccessDirectory } from "../../permissions/access/access-directory.ts";
import type { RosterService } from "../../roster/roster.service.ts";
import type { StaffService } from "../../staff/staff.service.ts";
import { guildOf } from "../requests/fields.ts";
import { memberKey } from "../../../discord-actions/returns.ts";
import { discordEffect } from "./discord-effect.ts";
import type { EffectInputs } from "./inputs.ts";
import { isAnnounced, type Letter, type Notice, type NoticeTexts, type PunishmentNotice } from "./notice-texts.ts";
import type { Approval, Done, SomeEffects } from "./types.ts";
import { penaltyEnd, untilOf } from "./words.ts";

export type NoticeKeys = "notice.owner" | "notice.subject" | "notice.trial_review" | "notice.welcome";
type Punishment = EffectInputs["notice.subject"];

export interface NoticeEffectDeps {
  staff: Pick<StaffService, "staffRoleOf">;
  access: Pick<AccessDirectory, "of">;
  guildState: Pick<GuildState, "guilds">;
  roster: Pick<RosterService, "find">;
  notices: NoticeTexts;
  causes: Pick<CausesInForce, "of" | "timedOutUntil" | "endInTx" | "isUnderWay" | "afterWithdrawing" | "afterTimeoutChange">;
}

const day = 86_400;
/** What takes nothing from a staff member that an appeal by command needs. */
const leavesAccess: ReadonlySet<Punishment["action"]> = new Set<Punishment["action"]>(["warning", "strike", "probation"]);

/** What approvals write to people. */
export function createNoticeEffects({ staff, access, guildState, roster, notices, causes }: NoticeEffectDeps): SomeEffects<NoticeKeys> {
  /** What the bot does in Discord for the same approval, unless the decision switched that off. */
  async function penaltyOf(
    { tx, input }: Approval,
    { userId, discordAction, guildIds, length }: Punishment,
  ): Promise<PunishmentNotice["discord"]> {
    if (
      discordAction === "none" ||
      discordAction === "untimeout" ||
      discordAction === "unban" ||
      input.body.effects?.["discord.punish"] === false
    )
      return null;
    const ours = guildState.guilds().flatMap(({ id, present }) => (present ? [id] : []));
    const named = guildIds.length === 0 ? ours : guildIds.filter((id) => ours.includes(id));
    if (named.length === 0) return null;
    const own = penaltyEnd(length, tx.now);
    let until = own;
    // A longer timeout stays: the message says when the person can write again.
    if (discordAction === "timeout") for (const guildId of named) until = later(until, await causes.timedOutUntil(tx, { guildId, userId }));
    return { action: discordAction, guildIds: named, until, isEarlierLonger: until > own };
  }

  return {
    "notice.subject": {
      preview: say("workflows.on-approval-message-to-the-person"),
      isOptional: true,
      async apply(approval, input) {
        const { action, userId, roleKey, points, guildIds } = input;
        if (!isAnnounced(action)) return await skipped(say("workflows.the-person-gets-no-message-this-stays"));
        const { now } = approval.tx;
        const until = untilOf(input.length, approval.from);
        const appealUntil = appealEnd(input.appealUntil, now);
        const discord = await penaltyOf(approval, input);
        const letter = notices.punishment({
          ...noticeOf(approval),
          // Filed over HTTP it comes from no channel, but may be about one server alone.
          guildId: guildOf(approval.request.origin) ?? (guildIds.length === 1 ? guildIds[0] : undefined),
          action,
          role: roleKey === undefined ? undefined : (staff.staffRoleOf(roleKey)?.name ?? roleKey),
          points,
          length: typeof input.length === "string" ? (parseDuration(input.length) ?? null) : null,
          until,
          discord,
          appealUntil: appealUntil <= now ? null : appealUntil,
          hasCommands: discord === null && leavesAccess.has(action) && access.of(userId).decide("workflows.appeal.create").allowed,
        });
        const [first] = discord?.guildIds ?? [];
        // Whoever was removed can no longer be written to.
        const isRemoved = first !== undefined && (discord?.action === "kick" || discord?.action === "ban");
        const before = isRemoved ? memberKey({ guildId: first, userId }) : undefined;
        return await send(approval, "notice.subject", { userId, letter, detail: say("workflows.message-to-the-person"), before });
      },
    },
    "notice.owner": {
      preview: say("workflows.the-owner-of-the-offending-server-is"),
      isOptional: true,
      async apply(approval, { serverId }) {
        const where = { OR: [{ id: serverId }, { aliases: { some: { aliasId: serverId } } }] };
        const server = await approval.tx.db.server.findFirst({ where, select: { name: true, ownerUserId: true } });
        if (server === null || server.ownerUserId === null) return skipped(say("workflows.the-register-names-no-owner-of-the"));
        const letter = notices.owner({ ...noticeOf(approval), server: { id: serverId, name: server.name } });
        return send(approval, "notice.owner", {
          userId: server.ownerUserId,
          letter,
          detail: say("workflows.warning-to-the-owner-of-the-server"),
        });
      },
    },
    "notice.trial_review": {
      preview: ({ trialDays: days }) =>
        days === 0 ? say("workflows.there-is-no-trial-to-look-back") : say("workflows.the-requester-is-reminded-to-decide-when"),
      isOptional: true,
      apply(approval, { trialDays }) {
        if (trialDays === 0) return skipped(say("workflows.there-is-no-trial-to-look-back"));
        const dueAt = addSeconds(approval.from, trialDays * day);
        return Promise.resolve([{ status: "pending", detail: say("workflows.the-requester-is-reminded-to-decide-when"), dueAt }]);
      },
      async run({ tx, request }, _effect, { userId, roleKey, availability, timezone }) {
        const entry = await roster.find(tx.db, userId);
        const isOnTrial = entry?.status === "trial" && entry.originReference === request.reference;
        if (!isOnTrial || request.requesterId === null)
          return { status: "skipped", detail: say("workflows.nobody-had-to-be-reminded-the-trial") };
        const { trialEndsAt } = entry;
        if (trialEndsAt !== null && trialEndsAt > tx.now)
          return { status: "pending", detail: say("workflows.the-trial-was-made-longer-the-requester"), dueAt: trialEndsAt };
        const role = staff.staffRoleOf(roleKey)?.name ?? roleKey;
        const { reference } = request;
        const content = notices.trialReview({ reference, guildId: guildOf(request.origin), userId, role, availability, timezone });
        const action = { kind: "message_user", userId: request.requesterId, content, reason: reference } as const;
        return discordEffect(action, {
          id: `${request.id}:notice.trial_review`,
          detail: say("workflows.the-requester-is-reminded-to-decide-about"),
        });
      },
    },
    "notice.welcome": {
      preview: say("workflows.on-approval-welcome-message"),
      isOptional: true,
      apply(approval, { userId, roleKey, trialDays }, earlier) {
        const callsign = earlier.find(({ key, memo }) => key === "callsign.allocate" && typeof memo === "string")?.memo;
        const seconds = trialDays * day;
        const letter = notices.welcome({
          ...noticeOf(approval),
          role: staff.staffRoleOf(roleKey)?.name ?? roleKey,
          trial: trialDays === 0 ? null : { seconds, until: addSeconds(approval.from, seconds) },
          callsign: typeof callsign === "string" ? callsign : null,
        });
        return send(approval, "notice.welcome", { userId, letter, detail: say("workflows.welcome-message") });
      },
    },
  };
}

function later(one: Date, other: Date | null): Date {
  return other !== null && other > one ? other : one;
}

function noticeOf({ request, input }: Approval): Notice {
  return { reference: request.reference, guildId: guildOf(request.origin), reason: input.reasonPublic };
}

interface Message {
  userId: string;
  letter: Letter;
  detail: string;
  before?: string | undefined;
}

function send({ request }: Approval, key: NoticeKeys, { userId, letter, detail, before }: Message): Promise<Done[]> {
  const action = { kind: "message_user", userId, content: letter.content, reason: request.reference } as const;
  const id = `${request.id}:${request.revision.toString()}:${key}`;
  return Promise.resolve([discordEffect(action, { id, detail, before, amends: letter.amends, correction: letter.correction })]);
}

function skipped(detail: string): Promise<Done[]> {
  return Promise.resolve([{ status: "skipped", detail }]);
}

/** Of a length or a point in time. */
function appealEnd(text: string, now: Date): Date {
  const seconds = parseDuration(text);
  return seconds === undefined ? new Date(text) : addSeconds(now, seconds);
}
