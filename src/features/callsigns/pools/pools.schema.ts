import { say } from "../../../kit/say.ts";
import { z } from "zod";
import { listQuery, text, Timestamp } from "../../../kernel/fields.ts";
import { SlotNumber } from "../callsigns.schema.ts";

export const poolLimits = {
  name: 80,
  department: 80,
  template: 60,
  ranges: 100,
  numbers: 1_000_000,
  kept: 1000,
  bands: 100,
  days: 3650,
} as const;
const dayMinutes = 1440;

export const PoolKey = z
  .string()
  .regex(/^[a-z0-9][a-z0-9_-]{0,39}$/, say("callsigns.write-1-40-lower-case-letters-digits"))
  .meta({ description: "The key of a pool", example: "north" });

const Span = z
  .tuple([SlotNumber, SlotNumber])
  .meta({ id: "CallsignRange", description: "From the first to the last number, both included", example: [1, 99] });
const Kept = z.array(SlotNumber).max(poolLimits.kept);
const Template = text(1, poolLimits.template).refine((line) => !/\p{Cc}/u.test(line), say("callsigns.write-it-on-one-line"));

const fields = {
  name: text(1, poolLimits.name),
  department: text(1, poolLimits.department).nullable(),
  template: Template.meta({
    description: "`{n}` is the number, `{n:03}` with zeros in front; `{dept}` the department, `{rank}` the staff role",
    example: "{dept}-{n:03}",
  }),
  ranges: z.array(Span).min(1).max(poolLimits.ranges).meta({ description: "In order, not overlapping; at most 1,000,000 numbers" }),
  reserved: Kept.meta({ description: "Numbers kept for some other use: they are not given" }),
  skip: Kept.meta({ description: "Numbers that are never given" }),
  rank_bands: z.record(z.string().max(60), Span).meta({ description: "Which numbers holders of a staff role get, by its key" }),
  hold_days: z.int().min(0).max(poolLimits.days).meta({ description: "How long a number rests after its holder" }),
  reservation_minutes: z
    .int()
    .min(1)
    .max(7 * dayMinutes),
  nickname_template: Template.nullable().meta({
    description: "Knows `{callsign}` and `{name}`, once each",
    example: "{callsign} | {name}",
  }),
  case_rule: z.enum(["keep", "upper", "lower"]),
};

export const PoolRules = z.object(fields);
export type PoolRules = z.infer<typeof PoolRules>;

const { name, template, ranges } = fields;
export const CreatePoolInput = z
  .strictObject({
    key: PoolKey,
    name,
    template,
    ranges,
    department: fields.department.default(null),
    reserved: fields.reserved.default([]),
    skip: fields.skip.default([]),
    rank_bands: fields.rank_bands.default({}),
    hold_days: fields.hold_days.default(90),
    reservation_minutes: fields.reservation_minutes.default(15),
    nickname_template: fields.nickname_template.default("{callsign} | {name}"),
    case_rule: fields.case_rule.default("keep"),
  })
  .meta({ id: "CreateCallsignPoolInput" });
export type CreatePoolInput = z.input<typeof CreatePoolInput>;

export const PatchPoolInput = z.strictObject(PoolRules.partial().shape).meta({ id: "PatchCallsignPoolInput" });
export type PatchPoolInput = z.infer<typeof PatchPoolInput>;

export const PoolView = z
  .object({
    key: PoolKey,
    ...fields,
    counts: z
      .object({
        capacity: z.int().meta({ description: "How many numbers the pool gives away" }),
        assigned: z.int(),
        reserved: z.int(),
        held: z.int(),
        retired: z.int(),
        blocked: z.int(),
        free: z.int(),
      })
      .meta({ id: "CallsignPoolCounts" }),
    warnings: z.array(z.string()).optional().meta({ description: "In the answer to a change: what it leaves to look after" }),
    created_at: Timestamp,
    updated_at: Timestamp,
    revision: z.int(),
  })
  .meta({ id: "CallsignPool", description: "A pool of numbers and how callsigns are written from it" });
export type PoolView = z.infer<typeof PoolView>;

export const PoolsQuery = z.strictObject(listQuery).meta({ id: "CallsignPoolsQuery" });
export type PoolsQuery = z.input<typeof PoolsQuery>;
