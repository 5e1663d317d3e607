import { z } from "zod";

/** The signed-in person, as far as it is used. */
export const DiscordUser = z.object({
  id: z.string(),
  username: z.string(),
  global_name: z
    .string()
    .nullish()
    .transform((name) => name ?? null),
  avatar: z
    .string()
    .nullish()
    .transform((hash) => hash ?? null),
});
export type DiscordUser = z.output<typeof DiscordUser>;

/** A guild of the signed-in person. `permissions` is a bit set as decimal text. */
export const PartialGuild = z.object({
  id: z.string(),
  name: z.string(),
  icon: z
    .string()
    .nullish()
    .transform((hash) => hash ?? null),
  owner: z.boolean().default(false),
  permissions: z.string().default("0"),
});
export type PartialGuild = z.output<typeof PartialGuild>;
