import { say } from "../../../kit/say.ts";
import { WalkNotes } from "../../../kernel/keyset.ts";
import { z } from "zod";
import { listQuery, redacted, Snowflake, text, Timestamp, UserRef } from "../../../kernel/fields.ts";
import { RosterFacts } from "../facts.ts";
import { lineSources } from "../lines.ts";
import { rosterEvents } from "../states.ts";

/** What goes with the stand of a day, which is no page of a list. */
const beside = ["role", "event", "source", "from", "to", "cursor"] as const;

/** As long as a pool may write one. */
const callsignLength = 2400;

export const HistoryQuery = z
  .strictObject({
    ...listQuery,
    user_id: Snowflake.optional(),
    callsign: text(1, callsignLength).optional(),
    role: z.string().max(40).optional().meta({ description: "Key of a staff role that a line leads from or to" }),
    event: z.enum(rosterEvents).optional(),
    source: z.enum(lineSources).optional(),
    from: Timestamp.optional().meta({ description: "In effect not before this time" }),
    to: Timestamp.optional().meta({ description: "In effect before this time" }),
    on: Timestamp.optional().meta({ description: "How things stood then; with user_id or callsign" }),
    known_at: Timestamp.optional().meta({ description: "Only what was written down by then" }),
  })
  .refine(({ on, user_id, callsign }) => on === undefined || user_id !== undefined || callsign !== undefined, {
    path: ["on"],
    message: say("roster.name-the-person-or-the-callsign-that"),
  })
  .refine((query) => query.on === undefined || beside.every((name) => query[name] === undefined), {
    path: ["on"],
    message: say("roster.how-things-stood-then-goes-without", { names: beside.map((name) => `\`${name}\``).join(", ") }),
  })
  .meta({ id: "RosterHistoryQuery" });
export type HistoryQuery = z.input<typeof HistoryQuery>;

const facts = z.record(z.string(), z.unknown()).meta({ description: "Only what it changes" });

export const LineView = z
  .object({
    id: z.string(),
    user: UserRef,
    event: z.enum(rosterEvents),
    before: facts,
    after: facts,
    actor: UserRef.nullable().meta({ description: "null: the service itself, or a key that acted for nobody" }),
    cause_reference: z.string().nullable().meta({
      description: "The request or case it comes from; `confidential` for one the caller may not know of",
      example: "PUN-REQ-000042",
    }),
    reason: z.string().nullable().optional(),
    source: z.enum(lineSources),
    effective_at: Timestamp.meta({ description: "Since when it is so" }),
    recorded_at: Timestamp.meta({ description: "When it was written down" }),
    callsign: z.string().nullable(),
    pool: z.string().nullable(),
    entry_id: z.string().nullable().meta({ description: "null: the callsign of somebody who was not on the roster" }),
    redacted,
  })
  .meta({ id: "RosterHistoryLine" });
export type LineView = z.infer<typeof LineView>;

export const HistoryNotes = WalkNotes.extend({
  standing: z
    .object({
      ...RosterFacts.partial().shape,
      callsigns: z.array(z.object({ callsign: z.string(), pool: z.string() })),
    })
    .nullable()
    .optional()
    .meta({
      id: "RosterStanding",
      description: "With `on` and `user_id`: how they stood then; null: neither on the roster nor with a callsign",
    }),
});
export type RosterStatusView = NonNullable<z.infer<typeof HistoryNotes>["standing"]>;
