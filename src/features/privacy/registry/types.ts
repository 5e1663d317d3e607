import type { Prisma } from "../../../generated/sqlite/client.ts";
import type { DataExportView } from "../privacy.schema.ts";
import type { Scrub } from "./scrubs.ts";

/** What stays of a person after a redaction, and why. docs/privacy.md has the same table. */
export const kept = {
  blacklist: {
    what: "blacklist records: their reasons, evidence, tags and earlier versions, without the name",
    why: "otherwise nobody could explain why an account is listed, or recognize it when it returns",
  },
  request: {
    what: "requests with their texts, comments, votes, decisions and what they sent to people, without the requester's name",
    why: "otherwise nobody could explain a decision",
  },
  case: {
    what: "cases with their titles, notes, labels, actions and outcomes, without the names of their subjects",
    why: "as for requests",
  },
  evidence: {
    what: "captured messages, files and other evidence, until they are redacted, or deleted with their record",
    why: "a decision rests on them; staff redact a single piece at the record",
  },
  roster: {
    what: "the history of the roster with its reasons, except those of leaves; callsigns and the department",
    why: "who held a callsign on a date, and why, belongs to later decisions",
  },
  incident: {
    what: "incidents of poaching that were approved",
    why: "they count against a server",
  },
  redaction: {
    what: "the confirmation of the redaction itself, with its reason",
    why: "it shows that two people agreed to it",
  },
} as const satisfies Readonly<Record<string, { what: string; why: string }>>;
type KeptGroup = keyof typeof kept;

/** Why a text about a person is not in their own export. docs/privacy.md says the same. */
export const unshown = {
  staff: "what staff wrote for themselves",
  others: "what speaks of other people",
  copy: "copies of what the download shows already",
} as const;
type Unshown = keyof typeof unshown;

type Payloads = Prisma.TypeMap["model"];
export type Model = Prisma.ModelName;
type Row<M extends Model> = Payloads[M]["payload"]["scalars"];
/** The columns that can hold text: of type `String` or `Json`. */
type TextColumn<M extends Model> = { [C in keyof Row<M>]: string extends Row<M>[C] ? C : never }[keyof Row<M>] & string;

/** By their names these hold ids of accounts, servers, rows and keys, references of records, or hashes; a test compares that with what is stored. */
type IdColumn = "id" | `${string}Id` | `${string}By` | `${string}Reference` | `${string}Hash`;
export const idColumn = /^id$|Id$|By$|Reference$|Hash$/;

/**
 * What a column holds that is no free text about a person: ids, codes of a closed vocabulary, hashes, what is encrypted, sentences that
 * the service composes from ids, codes and times, and texts about something else, such as servers, pools and settings.
 */
export type Plain = "id" | "code" | "hash" | "sealed" | "sentence" | "other";

/** What a redaction does with a text. */
export type Redaction =
  /** It is replaced. */
  | { becomes: null | "" | Readonly<Record<never, never>> }
  /** It loses what names the person. */
  | { loses: Scrub }
  /** Its row is deleted. */
  | "row"
  /** The service that keeps the row erases it, with everything that follows from that. */
  | "service"
  /** It stays. */
  | { stays: KeptGroup };

/** Free text about a person. */
export interface PersonalText {
  redaction: Redaction;
  /** The part of the person's own export that shows it, or why none does. */
  shown: Exclude<keyof DataExportView, "discord_user_id" | "made_at"> | { not: Unshown };
}

export type Column = Plain | PersonalText;

/** @param older when rows were written: a deletion that is caught up with takes only what is not younger */
type About<M extends Model> = (
  userId: string,
  older: { lte?: Date },
) => NonNullable<Payloads[M]["operations"]["findMany"]["args"]["where"]>;

type Columns<M extends Model> = { readonly [C in Exclude<TextColumn<M>, IdColumn>]: Column };

/** A model whose columns hold no free text about a person. */
type PlainModel<M extends Model> = { readonly [C in keyof Columns<M>]: Plain };

/** A model with free text about people. */
interface PersonalModel<M extends Model> {
  /** How the rows about somebody are found; where no condition of a query says that, in words. */
  about: About<M> | string;
  /** Whether its rows count their changes, so that nobody takes an erased text for the newest. */
  isRevised?: Row<M> extends { revision: number } ? true : never;
  columns: Columns<M>;
}

export type Entry<M extends Model> = PersonalModel<M> | { columns: PlainModel<M> };
/** Every text column of every model: one that lacks, or is gone, does not compile. */
export type Registry = { readonly [M in Model]: Entry<M> };
