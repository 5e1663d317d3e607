import type { EffectInputs } from "./inputs.ts";

type Punishment = EffectInputs["notice.subject"];

/** Matters of the staff, and what takes a punishment back: the person is not written to. */
export const unannounced = ["note", "blacklist_referral", "untimeout", "unban"] as const satisfies readonly Punishment["action"][];
type UnannouncedPunishment = (typeof unannounced)[number];

/** Whether the person is written to about it. */
export function isAnnounced(action: Punishment["action"]): action is Exclude<Punishment["action"], UnannouncedPunishment> {
  return !unannounced.some((one) => one === action);
}

/** What a message is about. */
export interface Notice {
  reference: string;
  /** The server that the request was filed in; its name and its language are used. */
  guildId: string | undefined;
  /** What the decision says to everybody; its other reason is for those who decide. */
  reason: string | null;
}

/** What the bot does to somebody who is punished. */
export type AnnouncedMeasure = Exclude<Punishment["discordAction"], "none" | "untimeout" | "unban">;

export interface PunishmentNotice extends Notice {
  action: Exclude<Punishment["action"], UnannouncedPunishment>;
  /** The name of the staff role that a demotion leads to. */
  role: string | undefined;
  points: number;
  /** In seconds; null without an end. */
  length: number | null;
  until: Date | null;
  /** What the bot does besides. */
  discord: {
    action: AnnouncedMeasure;
    guildIds: readonly string[];
    /** The end that holds, also where an earlier timeout lasts longer than this one. */
    until: Date;
    isEarlierLonger: boolean;
  } | null;
  /** Null: it is over. */
  appealUntil: Date | null;
  /** Whether the person is on the staff and can still appeal by command. */
  hasCommands: boolean;
}

/** A decision that an appeal has shortened. */
export interface ReducedNotice extends Notice {
  /** What was decided: the action of the punishment. */
  action: string;
  /** When it ends now; null: when the staff end it. */
  until: Date | null;
  /** Whether another decision keeps the person so for longer. */
  isKeptLonger: boolean;
}

export interface OwnerNotice extends Notice {
  server: { id: string; name: string | null };
}

export interface WelcomeNotice extends Notice {
  role: string;
  trial: { seconds: number; until: Date } | null;
  callsign: string | null;
}

export interface TrialReviewNotice extends Omit<Notice, "reason"> {
  userId: string;
  role: string;
  /** When the person has time, in their own words. */
  availability: string | undefined;
  timezone: string | undefined;
}

/** The states of a request that its requester is written to about. */
export const announcedStatuses = ["approved", "denied", "void", "reversed", "pending", "needs_info"] as const;
export type AnnouncedStatus = (typeof announcedStatuses)[number];

export interface RequesterNotice extends Notice {
  kind: string;
  status: AnnouncedStatus;
  questions: readonly string[];
  message: string | undefined;
  /** Whether people file the kind for themselves, at the page of appeals. */
  isForOneself?: boolean;
}

export interface NotCarriedOutNotice extends Omit<Notice, "reason"> {
  kind: string;
  /**
   * What could not be done: all that was decided for a server, or a part of it; the end of a ban; what a change of the decision asks for; or
   * what waited for a date and is in no server.
   */
  extent: "all" | "part" | "end" | "change" | "dated";
  /** Undefined where the server's name is not known. */
  guildName: string | undefined;
  /** What was to be done, in a sentence of the service. */
  what: string;
  /** A sentence of the service. */
  why: string;
}

/** A message, and the one that makes up for it when the decision behind it is taken back. */
export interface Letter {
  content: string;
  amends: string;
  /** What takes it back if the act in Discord that it announces is not carried out. */
  correction?: string;
}

/** The words of what the bot writes to people. They are stored with the effect that sends them. */
export interface NoticeTexts {
  punishment(notice: PunishmentNotice): Letter;
  reduced(notice: ReducedNotice): Letter;
  owner(notice: OwnerNotice): Letter;
  welcome(notice: WelcomeNotice): Letter;
  /** For the requester of a recruitment, when its trial ends. */
  trialReview(notice: TrialReviewNotice): string;
  requester(notice: RequesterNotice): string;
  /** For the requester, or whoever changed the decision since: something that was decided could not be done. */
  notCarriedOut(notice: NotCarriedOutNotice): string;
  /** For the person: one of several things that were written to them was not done. */
  notDone(notice: Omit<Notice, "reason"> & { action: AnnouncedMeasure; guildName: string | undefined }): string;
  /** For the channel that a request was filed in, which others read too. */
  channel(notice: Omit<Notice, "reason"> & { status: AnnouncedStatus }): string;
  comment(notice: Omit<Notice, "reason"> & { kind: string; body: string; isForOneself?: boolean }): string;
  /** What makes up for a message, with the reason of the reversal: somebody's words, or a sentence of the service. */
  withReason(amends: string, reversal: { guildId: string | undefined; reason: string }): string;
}
