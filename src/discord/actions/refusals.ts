import { RESTJSONErrorCodes as Codes } from "discord-api-types/v10";
import type { Performed } from "../../kernel/discord-port.ts";
import type { ProblemError } from "../../kernel/errors.ts";
import { rateLimitWait } from "../rest/errors.ts";

const noSuchPerson = "Discord has no account with this ID.";
const takesNone = "They don't accept messages from me.";
const blocked = "A filter of the server blocked the message.";

const messagesLimited = "Discord is limiting messages right now.";
const limited = "Discord is limiting this right now.";

/** Refusals that repeating cannot change, in plain words. */
const permanent: Readonly<Record<number, string>> = {
  [Codes.UnknownChannel]: "The channel no longer exists.",
  [Codes.UnknownGuild]: "I'm not in that server.",
  [Codes.UnknownMember]: "They are not in the server.",
  [Codes.UnknownRole]: "The role no longer exists.",
  [Codes.UnknownUser]: noSuchPerson,
  [Codes.InvalidRecipients]: noSuchPerson,
  [Codes.MissingAccess]: "I'm not in the server, or I can't see the channel.",
  [Codes.MissingPermissions]: "I'm missing a permission, or my role is too low.",
  [Codes.TwoFactorAuthenticationIsRequired]: "The server requires two-factor authentication, and the account that owns me doesn't use it.",
  [Codes.CannotSendMessagesToThisUser]: takesNone,
  [Codes.CannotSendMessagesToThisUserDueToHavingNoMutualGuilds]: takesNone,
  [Codes.CannotSendAnEmptyMessage]: "The message would be empty.",
  [Codes.CannotSendMessagesInNonTextChannel]: "I can't send messages in this kind of channel.",
  [Codes.CannotExecuteActionOnThisChannelType]: "I can't send messages in this kind of channel.",
  [Codes.MessageWasBlockedByAutomaticModeration]: blocked,
  [Codes.MessageBlockedByHarmfulLinksFilter]: blocked,
  [Codes.InvalidFormBodyOrContentType]: "Discord rejected the values.",
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
    const detail = permanent[code] ?? `Discord refused it (code ${code.toString()}).`;
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
