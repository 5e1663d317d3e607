import type { z } from "zod";
import type { TimeSpec } from "../../../commands/entry.ts";
import type { PermissionKey } from "../../../kernel/permissions.ts";
import type { FieldClass } from "../../../kernel/visibility.ts";
import type { Severity } from "../../../kernel/vocabulary.ts";
import type { RecordClasses } from "../../blacklist/blacklist.policy.ts";
import type { EventType } from "../../events/types.ts";
import type { Use } from "../effects/inputs.ts";
import type { Action } from "../state/table.ts";

export const hour = 3600;
export const day = 24 * hour;

/** What a request is about; a record is what an appeal is against. */
export interface Subject {
  kind: "user" | "server" | "record";
  id: string;
}

/** What comes of an appeal that is heard. */
export const rulings = ["overturn", "reduce", "remit"] as const;
export type Ruling = (typeof rulings)[number];

/** An option of the command that files a kind, where it does not follow from the field of the payload that it fills. */
export interface FilingOption {
  /** Fields of the payload, as paths: `user_id`, `discord.action`, `basis.0.type`. */
  field: string | readonly string[];
  /** By default the field's own name, with hyphens. */
  name?: string;
  as?: "user" | "server" | "boolean";
  /** By default as the field is. */
  required?: boolean;
  completes?: string;
  /** How a length or a time is typed; by default as the field of the payload is. */
  time?: TimeSpec;
  /** Whether a time is never in the future. */
  isPast?: true;
  max?: number;
}

/** How `/request` asks for a kind. */
interface FilingForm {
  /** The sub-command; by default the name of the kind. */
  path?: string;
  options: readonly (string | FilingOption)[];
  /** At most five fields of the form: `summary` and `evidence` are taken by every kind. */
  form: readonly (string | (Required<Pick<FilingOption, "name">> & { field: string }))[];
  /** What options without a field make of the payload. */
  fields?: (values: Readonly<Record<string, unknown>>) => object;
}

/** How requests of a kind say which servers they apply in. */
export interface Place<Payload> {
  /** The field of the payload that names servers, as a path: `discord.guild_ids`. */
  servers: string;
  /** The field that says "in all of them" instead, as a path. */
  everywhere: string;
  isEverywhere(payload: Payload): boolean;
  /** Whether only servers that the bot serves can be named, as an approval acts there. */
  isOursAlone?: true;
  /** Whether an approval acts in Discord, so that the request has to say where. */
  acts?(payload: Payload): boolean;
  /** Why this request cannot be limited to some servers; undefined where it can. */
  unlimited?(payload: Payload): string | undefined;
  /** The least body that says where, for a refusal. */
  example?(payload: Payload, serverId: string): object;
  /** Fields of the payload that decide about it: where an amendment changes none of them, it stays as it was understood when it was filed. */
  fields: readonly string[];
}

interface KindSpec<Payload extends z.ZodObject> {
  /** What it is called. */
  label: string;
  /** What it asks for, in a sentence. */
  summary: string;
  prefix: string;
  payload: Payload;
  /** For whom each field is: for the same as what an approval makes of it. */
  classes: Readonly<Record<keyof z.output<Payload>, FieldClass>>;
  /** What reading confidential fields needs, besides having written them. */
  confidential?: PermissionKey;
  /** What a needed field is when it was not sent but the others say it; the client is told. `undefined` leaves the field missing. */
  assumed?: Readonly<Record<string, (fields: Readonly<Record<string, unknown>>) => unknown>>;
  /** Other names clients use, besides camelCase, to the payload's own. */
  aliases: Readonly<Record<string, string>>;
  /** Fields, and parts of fields as `field.part`, that are refused with `unsupported_field` as they would do nothing; and what to do instead. */
  unsupported?: Readonly<Record<string, string>>;
  /** Values of such fields that say what happens anyway: they are accepted and left out. */
  anyway?: Readonly<Record<string, readonly unknown[]>>;
  /** By default every field with a simple value is an option, and the long texts are the form. */
  filing?: FilingForm;
  /** Which servers it applies in, where a request of the kind says so. */
  place?: Place<z.output<Payload>>;
  /** Bring fields that clients spread differently into the payload's form, before it is checked. */
  prepare?(fields: Map<string, unknown>): void;
  /** How many people approve, unless the operator sets it otherwise: usually, and what is grave. */
  approvals: { usual: number; grave?: number };
  /** Whether a request asks for more than usual. */
  isGrave?(payload: z.output<Payload>): boolean;
  /** How many people take an approval back. */
  reversals: 1 | 2;
  /** Whether votes of others stay hidden from those who decide until they have voted. */
  hasBlindVotes?: true;
  /** Whether what is known of the subject is checked when it is filed and approved. */
  isChecked?: true;
  /** Words for decisions that this kind has besides the usual ones, and the ruling each stands for. */
  words?: Readonly<Record<string, { action: Action; ruling?: Ruling }>>;
  /** Seconds to the first touch, to the decision, and to the end of an open request. */
  clocks: { firstTouch: number; decision: number; expiry: number };
  /** Seconds a denied request cannot be filed again. */
  coolDown: number;
  subjects(payload: z.output<Payload>): Subject[];
  /** People besides requester and subjects who may not take part in the decision. */
  conflicts?(payload: z.output<Payload>): string[];
  /** People besides the subjects whom an approval moves: they are as partial, and their rank counts as much. */
  concerned?(payload: z.output<Payload>): string[];
  /** The guilds in which an approval acts in Discord: `every` guild, or these. None by default. */
  guilds?(payload: z.output<Payload>): "every" | readonly string[];
  /** Who may see the request besides its requester, when not everybody who reads requests may. */
  readers?(payload: z.output<Payload>): string[] | undefined;
  /** What a request is called that was filed without a title; whom it is about stands in its subjects. */
  title(payload: z.output<Payload>): string;
  /** What an approval does, in order, and what each effect is told. */
  effects(payload: z.output<Payload>): readonly Use[];
  /** Whether people file it for themselves, without a permission, about what is about them: the field of the payload that names it. */
  filedForOneself?: { about: keyof z.output<Payload> & string };
  /** What does not count while such a request is open: a record on the blacklist, by one of its names. */
  suspends?(payload: z.output<Payload>): string | undefined;
  /** What is told of it besides what is told of every request. */
  events?: { filed: EventType; decided: EventType };
  /** Whether a decision counts when its subjects are compared with what is known: they are compared again. */
  isRemembered?: true;
  example: object;
}

/** A kind whose payload type is known to the table alone. */
export type Kind = KindSpec<z.ZodObject>;

export function kind<Payload extends z.ZodObject>(spec: KindSpec<Payload>): Kind {
  return spec;
}

/** Other names clients use for the person a request is about. */
export const ofUser = {
  target_id: "user_id",
  target_user_id: "user_id",
  discord_user_id: "user_id",
  member_id: "user_id",
};

/** Other names clients use for the servers a request applies in. */
export const ofServers = {
  guild_ids: "server_ids",
  guild_id: "server_ids",
  server_id: "server_ids",
  guilds: "server_ids",
  guild: "server_ids",
  servers: "server_ids",
  server: "server_ids",
};

/** The same names for another field. */
export function asField(names: Readonly<Record<string, string>>, field: string): Record<string, string> {
  return Object.fromEntries(Object.keys(names).map((name) => [name, field]));
}

export const user = (id: string) => ({ kind: "user" as const, id });
export const server = (id: string) => ({ kind: "server" as const, id });
export const dateOf = (text: string | undefined): Date | null => (text === undefined ? null : new Date(text));

/** Ids for examples. */
export const snowflake = "80351110224678912";
export const otherSnowflake = "80351110224678913";

/** Fields of requests that become confidential fields of a record: those of another class than there do not compile. */
export const listedClasses = {
  reason: "confidential",
  exempt_user_ids: "confidential",
} as const satisfies { reason: RecordClasses["reason_internal"]; exempt_user_ids: RecordClasses["exempt_user_ids"] };

/** What reading the confidential fields of a record needs. */
export const listedConfidential = "blacklist.read_confidential" satisfies PermissionKey;

/** What a record says, no matter whom it is about. */
export function recordOf(payload: { category: string; severity: Severity; reason: string; review_after: string }) {
  return { category: payload.category, severity: payload.severity, reason: payload.reason, reviewAfter: payload.review_after };
}
