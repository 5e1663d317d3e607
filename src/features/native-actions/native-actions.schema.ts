import { z } from "zod";
import { listQuery, Snowflake, Timestamp } from "../../kernel/fields.ts";
import { nativeActionKinds } from "../../kernel/vocabulary.ts";

export const ListNativeActionsQuery = z
  .strictObject({
    ...listQuery,
    guild_id: Snowflake.optional().meta({ description: "Only what was done in this server" }),
    action: z.enum(nativeActionKinds).optional().meta({ description: "Only what was done in this way" }),
  })
  .meta({ id: "ListNativeActionsQuery" });
export type ListNativeActionsQuery = z.input<typeof ListNativeActionsQuery>;

export const NativeActionsNotes = z.object({
  unseen_guild_ids: z.array(Snowflake).optional().meta({
    description: "Servers whose audit log the bot may not view: of what others do there only bans are recorded, without who",
  }),
});

export const NativeActionView = z
  .object({
    id: z.string(),
    guild_id: Snowflake.meta({ description: "The server it was done in" }),
    user_id: Snowflake.meta({ description: "To whom it was done" }),
    action: z.enum(nativeActionKinds),
    by: Snowflake.nullable().meta({ description: "The person or the other bot who did it; null where the bot may not view the audit log" }),
    reason: z.string().nullable().meta({ description: "What they gave as the reason in Discord" }),
    until: Timestamp.nullable().meta({ description: "When a timeout ends" }),
    at: Timestamp,
    recorded_at: Timestamp.meta({ description: "When the service learned of it" }),
  })
  .meta({ id: "NativeAction", description: "What somebody other than the bot did to a person in Discord itself" });
export type NativeActionView = z.infer<typeof NativeActionView>;
