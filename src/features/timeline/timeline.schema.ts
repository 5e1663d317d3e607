import { say, inRow, term } from "../../kit/say.ts";
import { timelineKinds } from "../../kernel/vocabulary.ts";
import { z } from "zod";
import { listQuery, Snowflake, Timestamp } from "../../kernel/fields.ts";

export type TimelineKind = (typeof timelineKinds)[number];

const oneKind = `(?:${timelineKinds.join("|")})`;

export const TimelineQuery = z
  .strictObject({
    ...listQuery,
    kind: z
      .string()
      .max(200)
      .regex(
        new RegExp(`^${oneKind}(?:,${oneKind})*$`),
        say("timeline.one-or-several-of-separated-by-commas", { kinds: inRow(timelineKinds.map(term)) }),
      )
      .optional()
      .meta({
        description: `Only entries of these kinds, separated by commas: ${timelineKinds.join(", ")}`,
        example: "match,blacklist",
      }),
    include_alts: z
      .enum(["true", "false"])
      .optional()
      .meta({ description: "`true` merges the accounts of the same person, as confirmed links have them; needs users.links.read" }),
    from: Timestamp.optional().meta({ description: "Not before this time" }),
    to: Timestamp.optional().meta({ description: "Before this time" }),
  })
  .meta({ id: "TimelineQuery" });
export type TimelineQuery = z.input<typeof TimelineQuery>;

export const TimelineEntryView = z
  .object({
    id: z.string(),
    at: Timestamp,
    kind: z.enum(timelineKinds),
    event: z.string().meta({ description: "What happened", example: "opened" }),
    user_id: Snowflake.meta({ description: "The account it happened to" }),
    summary: z.string().meta({ description: "The same in plain words" }),
    reference: z.string().optional().meta({ description: "Reference of the record or request behind it" }),
    record_id: z.string().optional(),
    actor_id: z.string().optional().meta({ description: "Who did it" }),
  })
  .meta({ id: "TimelineEntry", description: "One thing that happened to a person" });
export type TimelineEntryView = z.infer<typeof TimelineEntryView>;
