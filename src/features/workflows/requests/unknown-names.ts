import { say } from "../../../kit/say.ts";
import { distance, slipsIn } from "../../../kernel/distance.ts";
import { otherSnowflake, snowflake, type Kind } from "../kinds/kind.ts";
import { schemaAtTop } from "../kinds/kinds.ts";
import { CommonFields } from "./fields.ts";
import { nameOf } from "./intake-names.ts";

/** Words of names by what they speak of: whoever sends such a field counts on it. */
const subjects = {
  place: ["guild", "server", "community", "channel", "place", "where", "everywhere", "network", "scope", "location"],
  person: [
    ["user", "username", "member", "person", "people", "target", "subject", "offender", "victim", "suspect", "account", "applicant"],
    ["candidate", "player", "owner", "moderator", "mod", "staff", "author", "reporter", "requester", "requestor", "witness", "by"],
  ].flat(),
  time: [
    ["time", "date", "at", "when", "until", "till", "since", "before", "after", "start", "end", "begin", "deadline", "due"],
    ["expire", "expires", "expiry", "expiration", "timestamp"],
  ].flat(),
  length: ["duration", "length", "second", "minute", "hour", "day", "week", "month", "year", "permanent", "perm", "ttl", "term", "period"],
  act: [
    ["action", "act", "ban", "unban", "softban", "kick", "timeout", "untimeout", "mute", "unmute", "warn", "warning", "strike"],
    ["punishment", "penalty", "sanction", "measure", "suspend", "suspension", "demote", "demotion", "terminate", "termination", "delete"],
  ].flat(),
} as const satisfies Record<string, readonly string[]>;

type Topic = keyof typeof subjects;
const topics = Object.keys(subjects) as Topic[];
/** A longer name is compared by its beginning. */
const maxCompared = 60;

/** What the name of a field speaks of: a place, a person, a time, a length or an act; undefined for anything else. */
function topicOf(name: string): Topic | undefined {
  const words = new Set(name.split(/[_.\s]+/).map((word) => (word.length > 3 ? word.replace(/(?<!s)s$/, "") : word)));
  return topics.find((topic) => subjects[topic].some((known) => words.has(known) || words.has(known.replace(/s$/, ""))));
}

interface Schema {
  $ref?: string;
  type?: string;
  enum?: readonly unknown[];
  anyOf?: readonly Schema[];
  items?: Schema;
  properties?: Readonly<Record<string, Schema>>;
  minimum?: number;
  $defs?: Readonly<Record<string, Schema>>;
}

interface Field {
  name: string;
  example: unknown;
}

/** Why a field whose name is not known is refused rather than kept: the field that is probably meant, and an example of it. */
export function refusalOf(kind: Kind, key: string): string | undefined {
  const name = nameOf(key).slice(0, maxCompared);
  const isSlip = (known: string): boolean => topicOf(known) !== undefined && distance(name, known) <= slipsIn(known);
  return topicOf(name) !== undefined || fieldsOf(kind).some((field) => isSlip(field.name)) ? meantText(kind, key) : undefined;
}

/** The known field that a name comes nearest to, with an example. */
export function meantText(kind: Kind, key: string): string {
  const { name, example } = nearest(kind, key);
  const words = JSON.stringify(example);
  return say("workflows.this-field-is-not-known-here-the", { name, words });
}

function nearest(kind: Kind, key: string): Field {
  const asked = nameOf(key).slice(0, maxCompared);
  const topic = topicOf(asked);
  const slips = ({ name }: Field) => distance(asked, name) + (topic !== undefined && topicOf(name) === topic ? 0 : maxCompared);
  const [first, ...others] = fieldsOf(kind);
  return others.reduce((best, field) => (slips(field) < slips(best) ? field : best), first ?? { name: "reason", example: "" });
}

/** What a kind takes, by the names used here; a part of a field as `discord.action`. */
function fieldsOf({ payload, example }: Kind): Field[] {
  const examples: Readonly<Record<string, unknown>> = { ...example };
  return [payload, CommonFields].flatMap((schema) => {
    const { $defs = {}, properties = {} } = schemaAtTop(schema) as Schema;
    return Object.entries(properties).flatMap(([name, field]): Field[] => {
      const inner = Object.entries(resolve(field, $defs).properties ?? {});
      return inner.length > 0 && examples[name] === undefined
        ? inner.map(([part, one]) => ({ name: `${name}.${part}`, example: exampleOf(one, $defs) }))
        : [{ name, example: examples[name] ?? exampleOf(field, $defs) }];
    });
  });
}

/** The schema behind a reference, with the name of the type it refers to. */
function resolve(schema: Schema, defs: NonNullable<Schema["$defs"]>): Schema & { of?: string } {
  const of = schema.$ref?.split("/").at(-1);
  if (of !== undefined) return { ...defs[of], of };
  return schema.anyOf === undefined ? schema : resolve(schema.anyOf[0] ?? {}, defs);
}

const exampleByType: Readonly<Record<string, unknown>> = {
  Snowflake: snowflake,
  Duration: "P7D",
  Timestamp: "2027-01-01T00:00:00.000Z",
  boolean: true,
  integer: 1,
  number: 1,
  object: {},
};

function exampleOf(schema: Schema, defs: NonNullable<Schema["$defs"]>): unknown {
  const { of = "", type = "", enum: values, items } = resolve(schema, defs);
  if (values !== undefined) return values[0];
  if (type === "array") return [items === undefined ? otherSnowflake : exampleOf(items, defs)];
  return exampleByType[of] ?? exampleByType[type] ?? "text";
}
