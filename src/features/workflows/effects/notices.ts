import type { StaffService } from "../../staff/staff.service.ts";
import { discordEffect } from "./discord-effect.ts";
import type { Approval, Done, SomeEffects } from "./types.ts";
import { untilOf, dayOf } from "./words.ts";
import { addSeconds } from "../../../kernel/clock.ts";
import { parseDuration } from "../../../kernel/fields.ts";
import type { EffectInputs } from "./inputs.ts";

export type NoticeKeys = "notice.owner" | "notice.subject" | "notice.welcome";

export interface NoticeEffectDeps {
  staff: Pick<StaffService, "staffRoleOf">;
}

interface Message {
  userId: string;
  content: string;
  amends: string;
  detail: string;
}

/** What approvals tell people outside the staff. */
export function createNoticeEffects({ staff }: NoticeEffectDeps): SomeEffects<NoticeKeys> {
  return {
    "notice.subject": {
      preview: "The subject is told by message.",
      isOptional: true,
      apply(approval, input) {
        const { now } = approval.tx;
        const content = punishmentText(input, aboutOf(approval), { now, until: untilOf(input.length, now) });
        if (content === null) return skipped("This is a matter of the staff: the subject is told nothing.");
        const amends = amendsOf.subject(approval.request.reference);
        return notify(approval, "notice.subject", { userId: input.userId, content, amends, detail: "The subject is told." });
      },
    },
    "notice.owner": {
      preview: "The owner of the offending server is warned by message, if the register names them.",
      isOptional: true,
      async apply(approval, { serverId }) {
        const where = { OR: [{ id: serverId }, { aliases: { some: { aliasId: serverId } } }] };
        const server = await approval.tx.db.server.findFirst({ where, select: { ownerUserId: true } });
        if (server === null || server.ownerUserId === null) return skipped("The register names no owner of the server.");
        const content = warningText(serverId, aboutOf(approval));
        const amends = amendsOf.owner(approval.request.reference);
        return notify(approval, "notice.owner", {
          userId: server.ownerUserId,
          content,
          amends,
          detail: "The owner of the server is warned.",
        });
      },
    },
    "notice.welcome": {
      preview: "They are welcomed by message.",
      isOptional: true,
      apply(approval, { userId, roleKey, trialDays }, earlier) {
        const callsign = earlier.find(({ key, memo }) => key === "callsign.allocate" && typeof memo === "string")?.memo;
        const role = staff.staffRoleOf(roleKey)?.name ?? roleKey;
        const content = welcomeText(role, { trialDays, callsign: typeof callsign === "string" ? callsign : null });
        return notify(approval, "notice.welcome", { userId, content, amends: amendsOf.welcome(), detail: "They are welcomed." });
      },
    },
  };
}

function aboutOf({ request, input }: Approval) {
  return { reference: request.reference, reason: input.reasonPublic };
}

function notify({ request }: Approval, key: NoticeKeys, { userId, content, amends, detail }: Message): Promise<Done[]> {
  const action = { kind: "message_user", userId, content, reason: request.reference } as const;
  return Promise.resolve([discordEffect(action, { id: `${request.id}:${request.revision.toString()}:${key}`, detail, amends })]);
}

function skipped(detail: string): Promise<Done[]> {
  return Promise.resolve([{ status: "skipped", detail }]);
}

type Punishment = EffectInputs["notice.subject"];

/** What somebody is told of what was decided about them; null: it is the staff's own matter, and they are told nothing. */
const punished: Readonly<Record<Punishment["action"], string | null>> = {
  note: null,
  warning: "You have received a warning.",
  strike: "You have received a strike.",
  probation: "You are on probation.",
  suspension: "You are suspended from the staff.",
  demotion: "Your role in the staff has changed.",
  termination: "You are no longer a member of the staff.",
  blacklist_referral: null,
};

const inDiscord: Readonly<Record<Punishment["discordAction"], string | null>> = {
  none: null,
  timeout: "You cannot write in Discord for a while.",
  role_remove: "Your roles in Discord are taken away.",
  kick: "You are removed from the Discord server.",
  ban: "You are banned from the Discord server.",
};

interface About {
  reference: string;
  /** What the decision says to everybody; its other reason is nobody else's. */
  reason: string | null;
}

/** What the subject of a punishment is told; null: nothing. @param until when it ends by itself */
export function punishmentText(
  payload: Punishment,
  { reference, reason }: About,
  { now, until }: { now: Date; until: Date | null },
): string | null {
  const sentence = punished[payload.action];
  if (sentence === null) return null;
  const appealUntil = appealEnd(payload.appealUntil, now);
  return lines([
    sentence,
    inDiscord[payload.discordAction],
    reason === null ? null : `Reason: ${reason}`,
    until === null ? null : `It ends on ${dayOf(until)}.`,
    appealUntil <= now ? null : `You can appeal until ${dayOf(appealUntil)}: ask the staff for it, and name ${reference}.`,
    `Reference: ${reference}`,
  ]);
}

/** What the owner of a server is told of a report of poaching that was approved. */
export function warningText(serverId: string, { reference, reason }: About): string {
  return lines([
    `Members of our community were recruited from your server (${serverId}). Please see to it that this does not happen again.`,
    reason === null ? null : `What was decided: ${reason}`,
    `Reference: ${reference}`,
  ]);
}

/** What somebody is told who joins the staff. */
export function welcomeText(role: string, { trialDays, callsign }: { trialDays: number; callsign: string | null }): string {
  return lines([
    `Welcome to the staff: you were accepted as ${role}.`,
    trialDays === 0 ? null : `Your trial takes ${trialDays.toString()} days.`,
    callsign === null ? null : `Your callsign is ${callsign}.`,
  ]);
}

/** What makes up for a message whose ground was taken back. */
export const amendsOf = {
  subject: (reference: string): string => `What you were told about ${reference} no longer holds: the decision was taken back.`,
  owner: (reference: string): string => `The warning ${reference} was taken back.`,
  welcome: (): string => "Your acceptance into the staff was taken back.",
};

/** Of a length or a point in time. */
function appealEnd(text: string, now: Date): Date {
  const seconds = parseDuration(text);
  return seconds === undefined ? new Date(text) : addSeconds(now, seconds);
}

function lines(parts: readonly (string | null)[]): string {
  return parts.filter((part) => part !== null).join("\n");
}
