import { say } from "../../kit/say.ts";
import { RESTJSONErrorCodes as Codes } from "discord-api-types/v10";
import type { Performed } from "../../kernel/discord-port.ts";
import type { ProblemError } from "../../kernel/errors.ts";
import { rateLimitWait } from "../rest/errors.ts";

const noSuchPerson = say("discord.discord-has-no-account-with-this-id");
const takesNone = say("discord.they-dont-accept-messages-from-me");
const blocked = say("discord.a-filter-of-the-server-blocked-the");

const messagesLimited = say("discord.discord-is-limiting-messages-right-now");
const limited = say("discord.discord-is-limiting-this-right-now");

/** Refusals that repeating cannot change, in plain words. */
const permanent: Readonly<Record<number, string>> = {
  [Codes.UnknownChannel]: say("discord.the-channel-no-longer-exists"),
  [Codes.UnknownGuild]: say("discord.im-not-in-that-server"),
  [Codes.UnknownMember]: say("discord-actions.they-are-not-in-the-server"),
  [Codes.UnknownRole]: say("discord.the-role-no-longer-exists"),
  [Codes.UnknownUser]: noSuchPerson,
  [Codes.InvalidRecipients]: noSuchPerson,
  [Codes.MissingAccess]: say("discord.im-not-in-the-server-or-i"),
  [Codes.MissingPermissions]: say("discord.im-missing-a-permission-or-my-role"),
  [Codes.TwoFactorAuthenticationIsRequired]: say("discord.the-server-requires-two-factor-authentication-and"),
  [Codes.CannotSendMessagesToThisUser]: takesNone,
  [Codes.CannotSendMessagesToThisUserDueToHavingNoMutualGuilds]: takesNone,
  [Codes.CannotSendAnEmptyMessage]: say("discord.the-message-would-be-empty"),
  [Codes.CannotSendMessagesInNonTextChannel]: say("discord.i-cant-send-messages-in-this-kind"),
  [Codes.CannotExecuteActionOnThisChannelType]: say("discord.i-cant-send-messages-in-this-kind"),
  [Codes.MessageWasBlockedByAutomaticModeration]: blocked,
  [Codes.MessageBlockedByHarmfulLinksFilter]: blocked,
  [Codes.InvalidFormBodyOrContentType]: say("discord.discord-rejected-the-values"),
};

/** Refusals that end by themselves. */
const temporary: ReadonlySet<number> = new Set([
  Codes.ActionCannotBePerformedDueToSlowmodeRateLimit,
  Codes.ChannelWriteRateLimit,
  Codes.ServerWriteRateLimit,
  Codes.OpeningDirectMessagesTooFast,
  Codes.ServiceResourceIsBeingRateLimited,
  Codes.CloudflareIsBlockingYourRequest,
  Codes.APIResourceOverloaded,
  Codes.MaximumNumberOfNonGuildMemberBansHasBeenExceeded,
]);

/** Discord's own code of a refusal; undefined if there was no answer, or none of Discord's API. */
export function refusalCode({ code, extra }: ProblemError): number | undefined {
  const found = code === "discord_error" ? extra?.["discord_code"] : undefined;
  return typeof found === "number" ? found : undefined;
}

/**
 * The end of an action whose call failed.
 * @param isSent whether the call that changes something was made
 */
export function endOf(error: ProblemError, isSent: boolean): Extract<Performed, { outcome: "failed" | "retry" }> {
  const code = refusalCode(error);
  if (code !== undefined && !temporary.has(code)) {
    const detail = permanent[code] ?? say("discord.discord-refused-it-code", { code });
    return { outcome: "failed", detail, code };
  }
  const isLimited = rateLimitWait(error.cause) !== undefined;
  return {
    outcome: "retry",
    detail:
      code === Codes.OpeningDirectMessagesTooFast
        ? messagesLimited
        : isLimited || code !== undefined
          ? limited
          : say("discord.discord-could-not-be-reached"),
    ...(code !== undefined && { code }),
    ...(error.retryAfter !== undefined && { retryAfterMs: error.retryAfter * 1000 }),
    mayBeDone: isSent && !isLimited && code === undefined,
  };
}
