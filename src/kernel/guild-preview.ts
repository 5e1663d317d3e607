import { z } from "zod";
import { Snowflake } from "./fields.ts";

/** How many people in a guild something concerns. */
export const GuildPreview = z
  .object({
    guild_id: Snowflake,
    notify: z.int().min(0).meta({ description: "People of whom the alerts channel is told" }),
    propose: z.int().min(0).meta({ description: "People about whom a punishment is proposed" }),
    apply: z.int().min(0).meta({ description: "People the bot acts on" }),
    take_back: z.int().min(0).meta({ description: "People of whom the bot takes back what it did" }),
    waiting: z
      .int()
      .min(0)
      .meta({ description: "Of those the bot acts on or proposes: more than an hour allows, which wait for a confirmation" }),
  })
  .meta({ id: "GuildPreview", description: "What would follow for the members a guild has now" });
export type GuildPreview = z.infer<typeof GuildPreview>;
