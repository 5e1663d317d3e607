import { RESTJSONErrorCodes as Codes, Routes } from "discord.js";
import { z } from "zod";
import { ProblemError } from "../kernel/errors.ts";
import { Snowflake } from "../kernel/fields.ts";
import { refusalCode } from "./actions.refusals.ts";
import { unavailable } from "./rest-errors.ts";
import type { DiscordRequest } from "./rest-request.ts";

const Member = z.object({
  roles: z.array(z.string()),
  nick: z.string().nullish(),
  communication_disabled_until: z.string().nullish(),
});
const Ban = z.object({ user: z.object({ id: z.string() }) });
const DirectChannel = z.object({ id: Snowflake });

/** One call within what is left of an action's time. */
export type ActionCall = (request: Pick<DiscordRequest, "method" | "route" | "body" | "reason">) => Promise<unknown>;

/** What stands in Discord now; asked anew, since what is stored here may be older than what it decides. */
export interface Look {
  /**
   * The roles and the nickname of a member, and when their timeout ends (milliseconds since 1970; 0 without one).
   * @throws ProblemError discord_error when the person is no member
   */
  member(guildId: string, userId: string): Promise<{ roles: readonly string[]; nick: string | null; timeoutEnds: number }>;
  isBanned(guildId: string, userId: string): Promise<boolean>;
  /** The channel of the bot's direct messages with a person; asking for it sends nothing. */
  directChannel(userId: string): Promise<string>;
}

export function createLook(call: ActionCall): Look {
  const ask = async <T>(request: Parameters<ActionCall>[0], schema: z.ZodType<T>): Promise<T> => {
    const answer = schema.safeParse(await call(request));
    if (!answer.success) throw unavailable(5000, answer.error);
    return answer.data;
  };
  return {
    async member(guildId, userId) {
      const {
        roles,
        nick = null,
        communication_disabled_until: until,
      } = await ask({ method: "GET", route: Routes.guildMember(guildId, userId) }, Member);
      return { roles, nick, timeoutEnds: Date.parse(until ?? "") || 0 };
    },
    async isBanned(guildId, userId) {
      try {
        await ask({ method: "GET", route: Routes.guildBan(guildId, userId) }, Ban);
        return true;
      } catch (error) {
        if (error instanceof ProblemError && refusalCode(error) === Codes.UnknownBan) return false;
        throw error;
      }
    },
    async directChannel(userId) {
      const request = { method: "POST", route: Routes.userChannels(), body: { recipient_id: userId } } as const;
      return (await ask(request, DirectChannel)).id;
    },
  };
}
