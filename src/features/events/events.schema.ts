import { z } from "zod";
import { Timestamp, wholeNumber } from "../../kernel/fields.ts";
import { eventTypes } from "./types.ts";

const known = Object.keys(eventTypes);

/** The types that one name of a filter stands for: itself, or all that begin with `prefix.*`. */
function expand(name: string): string[] {
  const wanted = name.trim();
  return known.filter((type) => type === wanted || (wanted.endsWith(".*") && type.startsWith(wanted.slice(0, -1))));
}

/** The types of a filter. */
export function typesOf(filter: string): ReadonlySet<string> {
  return new Set(filter.split(",").flatMap(expand));
}

export const FollowEventsQuery = z.strictObject({
  types: z
    .string()
    .max(1000)
    .refine(
      (filter) => filter.split(",").every((name) => expand(name).length > 0),
      "Name types of events, or `prefix.*`, separated by commas.",
    )
    .optional()
    .meta({ description: "Only these types, separated by commas; `prefix.*` names several", example: "permission.changed,api_key.*" }),
  after: wholeNumber(0, 2 ** 31 - 1)
    .optional()
    .meta({ description: "The last `id` seen; `Last-Event-ID` goes before it. 0 starts with the oldest event kept", example: 1041 }),
});
export type FollowEventsQuery = z.input<typeof FollowEventsQuery>;

/** The `data:` of an event. */
export const EventView = z.object({
  seq: z.int().positive().meta({ description: "Place in the order of all events; those left out are not for this caller" }),
  id: z.string(),
  at: Timestamp,
  type: z.string(),
  data: z.record(z.string(), z.unknown()).meta({ description: "Ids, references and statuses" }),
});
export type EventView = z.infer<typeof EventView>;

/** The whole answer: frames as they come. */
export const EventFrames = z.string().meta({ description: "Frames of text/event-stream" });
