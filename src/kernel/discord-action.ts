import { z } from "zod";
import { Snowflake, Timestamp } from "./fields.ts";

const every = {
  /** Its own name for good: a message sent again under the same name within minutes is one message. */
  id: z.string().min(1).max(200),
  /** For Discord's own audit log, of any length; what does not fit there is cut. */
  reason: z.string(),
};
const member = { ...every, guildId: Snowflake, userId: Snowflake };
const role = { ...member, roleId: Snowflake };
/** Text of any length; what does not fit into one message is cut. */
const content = z.string().min(1);

/** One thing the bot does in Discord. Kept as JSON until it is done. */
export const DiscordAction = z.discriminatedUnion("kind", [
  z.object({ kind: z.literal("role_add"), ...role }),
  z.object({ kind: z.literal("role_remove"), ...role }),
  /** Null takes the nickname away. What is longer than Discord allows is cut. */
  z.object({ kind: z.literal("nickname"), ...member, nickname: z.string().nullable() }),
  z.object({ kind: z.literal("timeout"), ...member, until: Timestamp }),
  /** With `until` only the timeout that ends then is lifted; one that somebody else has set meanwhile stays. */
  z.object({ kind: z.literal("timeout_lift"), ...member, until: Timestamp.optional() }),
  z.object({ kind: z.literal("kick"), ...member }),
  z.object({ kind: z.literal("ban"), ...member }),
  z.object({ kind: z.literal("unban"), ...member }),
  z.object({ kind: z.literal("message_user"), ...every, userId: Snowflake, content }),
  z.object({ kind: z.literal("message_channel"), ...every, channelId: Snowflake, content }),
]);
export type DiscordAction = z.infer<typeof DiscordAction>;

/** How an action ended. `detail` is plain words without ids of anybody. */
export type Performed =
  | {
      outcome: "done";
      detail: string;
      /** False when it stood so already: then there is nothing of ours to take back. */
      changed: boolean;
      /** When the timeout ends that stands now; for a later `timeout_lift`. */
      until?: string;
    }
  /** Final: trying again changes nothing. */
  | { outcome: "failed"; detail: string }
  | {
      outcome: "retry";
      detail: string;
      retryAfterMs?: number;
      /** Discord may have carried it out without saying so. To be kept, and handed to the next attempt. */
      mayBeDone: boolean;
    };

export interface DiscordActions {
  /**
   * Do it, after a look at what stands: what stands already is not done again. Never rejects for anything Discord does, and ends
   * within ten seconds of its turn; one action runs at a time.
   * @param earlier `mayBeDone` of the attempt before, or true when the process ended in the middle of one: then what stands is ours
   */
  perform(action: DiscordAction, earlier?: { mayBeDone: boolean }): Promise<Performed>;
}
