import { RESTJSONErrorCodes as Codes } from "discord-api-types/v10";
import type { Performed } from "../../kernel/discord-port.ts";
import type { ProblemError } from "../../kernel/errors.ts";
import { rateLimitWait } from "../rest/errors.ts";

const noSuchPerson = "Discord knows no such person.";
const takesNone = "The person takes no messages from the bot.";
const blocked = "The server's own rules blocked the message.";

const messagesLimited = "Discord limits messages right now.";
const limited = "Discord takes no more of these at the moment.";

/** Refusals that repeating cannot change, in plain words. */
const permanent: Readonly<Record<number, string>> = {
  [Codes.UnknownChannel]: "The channel does not exist, or not any more.",
  [Codes.UnknownGuild]: "The server does not exist, or the bot is not in it.",
  [Codes.UnknownMember]: "The person is not in the server.",
  [Codes.UnknownRole]: "The role does not exist, or not any more.",
  [Codes.UnknownUser]: noSuchPerson,
  [Codes.InvalidRecipients]: noSuchPerson,
  [Codes.MissingAccess]: "The bot is not in the server, or may not see the channel.",
  [Codes.MissingPermissions]: "The bot may not do this: it lacks the permission, or the role or the person stands above it.",
  [Codes.TwoFactorAuthenticationIsRequired]: "The server asks for two-factor authentication of the bot's owner.",
  [Codes.CannotSendMessagesToThisUser]: takesNone,
  [Codes.CannotSendMessagesToThisUserDueToHavingNoMutualGuilds]: takesNone,
  [Codes.CannotSendAnEmptyMessage]: "There is nothing in the message that could be shown.",
  [Codes.CannotSendMessagesInNonTextChannel]: "The channel takes no messages.",
  [Codes.CannotExecuteActionOnThisChannelType]: "The channel takes no messages.",
  [Codes.MessageWasBlockedByAutomaticModeration]: blocked,
  [Codes.MessageBlockedByHarmfulLinksFilter]: blocked,
  [Codes.InvalidFormBodyOrContentType]: "Discord does not accept the values.",
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
    const detail = permanent[code] ?? `Discord refused it (its code is ${code.toString()}).`;
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
          : "Discord could not be reached.",
    ...(code !== undefined && { code }),
    ...(error.retryAfter !== undefined && { retryAfterMs: error.retryAfter * 1000 }),
    mayBeDone: isSent && !isLimited && code === undefined,
  };
}
