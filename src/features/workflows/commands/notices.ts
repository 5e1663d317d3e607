import { nobodyNamed, type Operator } from "../../../config/config.ts";
import { contactText, enumLabel, lineText } from "../../../commands/show.ts";
import { plainSentence, languages, translator, type Translate } from "../../../kit/say.ts";
import { cutText } from "../../../discord/cut-text.ts";
import type { GuildState } from "../../../discord/guild-state.ts";
import { escapeText } from "../../../discord/replies.ts";
import { sentenceText } from "../../../discord/sentence.ts";
import type { NoticeTexts, PunishmentNotice } from "../effects/notice-texts.ts";

export interface NoticeTextsDeps {
  guildState: Pick<GuildState, "guilds" | "preferredLocale">;
  /** As the operator names it; without one, people are sent to the staff. */
  operator?: Operator;
  /** The address at which people appeal; without one, they do by command or write to somebody. */
  appealPage?: (() => string) | undefined;
}

const message = 2000;
const maxReason = 1000;
const maxNames = 3;
const maxName = 50;
const units = [
  ["year", 31_536_000],
  ["day", 86_400],
  ["hour", 3600],
  ["minute", 60],
  ["second", 1],
] as const;

/** Who writes, and in which language. */
interface Sender {
  t: Translate;
  language: string;
  from: string;
}

/**
 * The messages to people: in the language of the server that a request was filed in, else of the first one that states a language. What
 * people wrote is escaped, and cut before anything else has to go.
 */
export function createNoticeTexts({ guildState, operator = nobodyNamed, appealPage }: NoticeTextsDeps): NoticeTexts {
  function namesOf(guildIds: readonly string[], { t, language }: Sender): string {
    return listText(
      guildState.guilds().filter(({ id }) => guildIds.includes(id)),
      t,
      language,
    );
  }

  function senderOf(guildId: string | undefined): Sender {
    const present = guildState.guilds().filter((guild) => guild.present);
    const own = present.filter(({ id }) => id === guildId);
    const guilds = own.length > 0 ? own : present;
    const stated = guilds.map(({ id }) => guildState.preferredLocale(id)).find((locale) => locale !== undefined);
    const language = stated !== undefined && stated in languages ? stated : "en";
    const t = translator(language);
    return { t, language, from: guilds.length === 0 ? t("notice nameless") : listText(guilds, t, language) };
  }

  function addressee({ t, from }: Sender): string {
    return contactText(operator) ?? t("notice staff", { from });
  }

  function appealText(sender: Sender, { appealUntil, hasCommands, reference }: PunishmentNotice): string | null {
    if (appealUntil === null) return null;
    const { t, from } = sender;
    const filled = { from, until: dayText(appealUntil) };
    if (appealPage !== undefined) return t("notice appeal-page", { ...filled, url: `${appealPage()}?reference=${reference}` });
    const url = operator.contact?.startsWith("https:") === true ? operator.contact : undefined;
    if (hasCommands) return t("notice appeal-command", filled);
    return url === undefined
      ? t("notice appeal-contact", { ...filled, contact: addressee(sender) })
      : t("notice appeal-link", { ...filled, url });
  }

  /** Where the requester of an appeal sees how it stands: they may be on no server any more. */
  function ownPageText(
    t: Translate,
    { reference, isForOneself = false }: { reference: string; isForOneself?: boolean | undefined },
  ): string | null {
    return appealPage === undefined || !isForOneself ? null : t("notice own-page", { url: `${appealPage()}/status/${reference}` });
  }

  return {
    punishment(notice) {
      const sender = senderOf(notice.guildId);
      const { t, from } = sender;
      const { action, role, discord, reference } = notice;
      const isMeasure = action === "timeout" || action === "kick" || action === "ban";
      const said = isMeasure ? t(`notice of ${action}`, { from }) : t(`notice ${action}`, { from, role: lineText(role ?? "–") });
      const isSaid = isMeasure && discord?.guildIds.length === 1 && discord.guildIds[0] === notice.guildId;
      const servers = discord === null ? "" : namesOf(discord.guildIds, sender);
      const lasting = lastingTexts(sender, notice);
      const rest = lines(penaltyText(t, discord, servers, isSaid), appealText(sender, notice), referenceText(t, reference));
      const decided = because(said, notice.reason, lasting.join(" ").length + rest.length);
      return {
        content: lines([decided, ...lasting].join(" "), rest),
        amends: lines(t("notice undone", { from, what: enumLabel(action, t) }), referenceText(t, reference)),
        ...(isMeasure && { correction: lines(t("notice not-done", { from, what: enumLabel(action, t) }), referenceText(t, reference)) }),
      };
    },

    reduced({ guildId, reference, reason, action, until, isKeptLonger }) {
      const { t, from } = senderOf(guildId);
      const what = enumLabel(action, t);
      const ends = until === null ? t("notice lasts") : t("notice reduced-until", { until: timeText(until) });
      return {
        content: lines(
          because(t("notice reduced", { from, what }), reason),
          isKeptLonger ? `${ends} ${t("notice reduced-kept")}` : ends,
          referenceText(t, reference),
        ),
        amends: lines(t("notice reduced-undone", { from, what }), referenceText(t, reference)),
      };
    },

    owner({ guildId, reference, reason, server: { id, name } }) {
      const sender = senderOf(guildId);
      const { t, from } = sender;
      const server = name === null ? `\`${id}\`` : `**${lineText(name)}** (\`${id}\`)`;
      return {
        content: lines(
          because(t("notice owner", { from, server }), reason),
          t("notice owner-asked"),
          t("notice owner-questions", { contact: addressee(sender) }),
          referenceText(t, reference),
        ),
        amends: lines(t("notice owner-undone", { from, server }), referenceText(t, reference)),
      };
    },

    welcome({ guildId, reference, reason, role, trial, callsign }) {
      const { t, from, language } = senderOf(guildId);
      return {
        content: lines(
          because(t("notice welcome", { from, role: lineText(role) }), reason),
          trial === null ? null : t("notice welcome-trial", { length: spanText(trial.seconds, language), until: dayText(trial.until) }),
          callsign === null ? null : t("notice welcome-callsign", { callsign: `\`${callsign}\`` }),
          t("notice welcome-help", { from }),
          referenceText(t, reference),
        ),
        amends: lines(t("notice welcome-undone", { from }), referenceText(t, reference)),
      };
    },

    trialReview({ guildId, reference, userId, role, availability, timezone }) {
      const { t, from } = senderOf(guildId);
      return lines(
        because(t("notice trial-review", { user: `<@${userId}>`, role: lineText(role), from }), null),
        availability === undefined ? null : t("notice trial-availability", { availability: lineText(availability) }),
        timezone === undefined ? null : t("notice trial-timezone", { timezone: lineText(timezone) }),
        t("notice trial-decide"),
        referenceText(t, reference),
      );
    },

    requester({ guildId, reference, reason, kind, status, questions, message: more, isForOneself = false }) {
      const { t, from } = senderOf(guildId);
      const page = ownPageText(t, { reference, isForOneself });
      const body = [...questions.map((question) => `- ${lineText(question)}`), ...(more === undefined ? [] : [escapeText(more)])];
      return fitted(
        because(t(`notice requester ${status}`, { from, kind: enumLabel(kind, t) }), reason),
        body.join("\n"),
        lines(page ?? (questions.length === 0 ? null : t("notice answer", { from })), referenceText(t, reference)),
      );
    },

    notCarriedOut({ guildId, reference, kind, extent, guildName, what, why }) {
      const { t, from } = senderOf(guildId);
      const head = t(`notice failed ${extent}`, { kind: enumLabel(kind, t), server: serverOr(from, guildName) });
      const isNamed = extent === "part" || extent === "change";
      const said = isNamed ? `${sentenceText(what, t)} ${sentenceText(why, t)}` : sentenceText(why, t);
      return lines(head, said, referenceText(t, reference));
    },

    notDone({ guildId, reference, action, guildName }) {
      const { t, from } = senderOf(guildId);
      return lines(t(`notice not ${action}`, { from, server: serverOr(from, guildName) }), referenceText(t, reference));
    },

    channel({ guildId, reference, status }) {
      const { t } = senderOf(guildId);
      return t("notice channel", { reference: `\`${reference}\``, status: enumLabel(status, t) });
    },

    comment({ guildId, reference, kind, body, isForOneself = false }) {
      const { t, from } = senderOf(guildId);
      const head = t("notice comment", { from, kind: enumLabel(kind, t) });
      return fitted(
        head,
        escapeText(body),
        lines(ownPageText(t, { reference, isForOneself }) ?? t("notice comment-answer", { from }), referenceText(t, reference)),
      );
    },

    withReason(amends, { guildId, reason }) {
      const { t } = senderOf(guildId);
      const all = amends.split("\n");
      return [...all.slice(0, -1), `> ${cutText(lineText(plainSentence(reason, t)), maxReason)}`, ...all.slice(-1)].join("\n");
    },
  };
}

/** A server by its name, which is not known of one that the bot has left. */
function serverOr(from: string, guildName: string | undefined): string {
  return guildName === undefined ? from : `**${lineText(guildName)}**`;
}

/** What is in force for a time, and not only counted. */
const lasting: ReadonlySet<PunishmentNotice["action"]> = new Set<PunishmentNotice["action"]>(["probation", "suspension", "timeout", "ban"]);

/** What the bot does. @param isSaid whether the rest of the message says so */
function penaltyText(t: Translate, discord: PunishmentNotice["discord"], servers: string, isSaid: boolean): string | null {
  if (discord === null || (isSaid && !discord.isEarlierLonger)) return null;
  const filled = { servers, until: timeText(discord.until) };
  return discord.isEarlierLonger ? t("notice timeout-longer", filled) : t(`notice ${discord.action}`, filled);
}

/** How long it lasts, or until when it counts how much. */
function lastingTexts({ t, language }: Sender, { action, points, length, until }: PunishmentNotice): string[] {
  const counted = points === 1 ? t("notice point") : t("notice points", { count: points });
  const counts =
    points === 0
      ? []
      : [until === null ? t("notice counts", { points: counted }) : t("notice counts-until", { points: counted, until: dayText(until) })];
  if (lasting.has(action)) {
    const lasts =
      until === null || length === null
        ? t("notice lasts")
        : t("notice lasts-until", { length: spanText(length, language), until: dayText(until) });
    return [lasts, ...counts];
  }
  return counts.length === 0 && until !== null ? [t("notice expires", { until: dayText(until) })] : counts;
}

/** What was decided, with the reason given for it. @param rest how long the rest of the message is */
function because(said: string, reason: string | null, rest = maxReason): string {
  const begun = said.charAt(0).toUpperCase() + said.slice(1);
  const why = cutText(lineText((reason ?? "").trim()), message - rest - said.length - 10);
  return why === "" ? `${begun}.` : `${begun}: *${why.replace(/\.$/, "")}*.`;
}

/** A message whose middle part is cut where it is too long. */
function fitted(head: string, body: string, tail: string): string {
  return lines(head, body === "" ? null : cutText(body, message - head.length - tail.length - 2), tail);
}

function referenceText(t: Translate, reference: string): string {
  return t("notice reference", { reference: `\`${reference}\`` });
}

/** Names of servers, at most three, as a language lists them. */
function listText(guilds: readonly { name: string }[], t: Translate, language: string): string {
  const shown = guilds.slice(0, maxNames).map(({ name }) => `**${cutText(lineText(name), maxName)}**`);
  return new Intl.ListFormat(language).format(guilds.length > maxNames ? [...shown, t("notice others")] : shown);
}

/** A length in words, such as `7 days`. */
function spanText(seconds: number, language: string): string {
  const [unit, of] = units.find(([, size]) => seconds % size === 0 && seconds >= size) ?? units[4];
  return new Intl.NumberFormat(language, { style: "unit", unit, unitDisplay: "long" }).format(seconds / of);
}

const dayText = (at: Date): string => `<t:${Math.floor(at.getTime() / 1000).toString()}:D>`;
const timeText = (at: Date): string => `<t:${Math.floor(at.getTime() / 1000).toString()}:f>`;

function lines(...parts: readonly (string | null)[]): string {
  return parts.filter((part) => part !== null).join("\n");
}
