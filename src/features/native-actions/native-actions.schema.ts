import { z } from "zod";
import { listQuery, Snowflake, Timestamp } from "../../kernel/fields.ts";
import { guildActionKinds, nativeActionKinds } from "../../kernel/vocabulary.ts";

export const ListNativeActionsQuery = z
  .strictObject({
    ...listQuery,
    guild_id: Snowflake.optional().meta({ description: "Only what was done in this server" }),
    action: z
      .enum(guildActionKinds)
      .optional()
      .meta({ description: "Only what was done in this way; a `prune` names nobody, so no person has one" }),
  })
  .meta({ id: "ListNativeActionsQuery" });
export type ListNativeActionsQuery = z.input<typeof ListNativeActionsQuery>;

export const ListGuildActionsQuery = z
  .strictObject({ ...listQuery, action: z.enum(guildActionKinds).optional().meta({ description: "Only what was done in this way" }) })
  .meta({ id: "ListGuildActionsQuery" });
export type ListGuildActionsQuery = z.input<typeof ListGuildActionsQuery>;

export const NativeActionsNotes = z.object({
  unseen_guild_ids: z.array(Snowflake).optional().meta({
    description: "Servers whose audit log the bot may not view: of what others do there only bans are recorded, without who",
  }),
});

const common = {
  id: z.string(),
  guild_id: Snowflake.meta({ description: "The server it was done in" }),
  by: Snowflake.nullable().meta({
    description: "The person or the other bot who did it; null where the bot may not view the audit log, or the log names nobody",
  }),
  reason: z.string().nullable().meta({ description: "What they gave as the reason in Discord" }),
  until: Timestamp.nullable().meta({ description: "When a timeout ends; null where Discord does not say it, as of AutoMod's" }),
  rule: z.string().nullable().meta({ description: "The rule of Discord's AutoMod that did it; null: none did" }),
  at: Timestamp,
  recorded_at: Timestamp.meta({ description: "When the service learned of it" }),
};

export const NativeActionView = z
  .object({ ...common, user_id: Snowflake.meta({ description: "To whom it was done" }), action: z.enum(nativeActionKinds) })
  .meta({ id: "NativeAction", description: "What somebody other than the bot did to a person in Discord itself" });
export type NativeActionView = z.infer<typeof NativeActionView>;

export const GuildActionView = z
  .object({
    ...common,
    user_id: Snowflake.nullable().meta({ description: "To whom it was done; null for what Discord names nobody of, such as a prune" }),
    action: z.enum(guildActionKinds).meta({ description: "Further kinds can be added: leave out what you do not know" }),
    members_removed: z.int().nullable().meta({ description: "How many members a prune removed" }),
    inactive_days: z.int().nullable().meta({ description: "For how many days those whom a prune removed had been away, at least" }),
  })
  .meta({ id: "GuildNativeAction", description: "What somebody other than the bot did in a server in Discord itself" });
export type GuildActionView = z.infer<typeof GuildActionView>;
