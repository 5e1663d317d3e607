import type { Operator } from "../config/config.ts";
import type { GivenFile, VerbInput, Verbs } from "./verbs.ts";
import type { APIEmbed } from "discord.js";
import type { Choice, Reply, Row } from "../discord/command.ts";
import type { CommandIds } from "../discord/registration/command-ids.ts";
import type { Call } from "../kernel/call.ts";
import type { PermissionKey } from "../kernel/permissions.ts";
import type { Translate, TextKey } from "../kit/say.ts";
import type { Unit } from "./typed-times.ts";

/** What was given to a command, as plain data: people, roles, channels and files by their ids. */
export interface CommandInput {
  readonly values: Readonly<Record<string, string | number | boolean | readonly string[]>>;
  /** Files by option, as Discord describes them. */
  readonly files: Readonly<Record<string, readonly GivenFile[]>>;
  /** The channel it was given in. */
  readonly channel?: string;
}

/** What a length or a time is as, in a text that is typed: completed while it is typed, and read as people write it. */
export interface TimeSpec {
  /** `end`: a length or a time. A length counts forward from now in a `time`, and back in a `past` one. */
  kind: "length" | "end" | "time" | "past";
  /** Whether there may be no end, which the value is then `permanent` for. */
  canBePermanent?: boolean;
  /** Whether there may be no length at all, which the value is then `none` for. */
  canBeNone?: true;
  /** What is offered before anything is typed, where the usual lengths do not fit. */
  usual?: readonly (readonly [Unit, number])[];
  /** Whether the route takes a value, as the HTTP API writes it. */
  accepts?: (value: string) => boolean;
}

export type OptionKind = "text" | "integer" | "number" | "boolean" | "user" | "role" | "channel" | "file";

/** An option of a command. Its texts stand in the locale files under `<command> <path> <option>`, or `* <option>`. */
export interface OptionSpec {
  name: string;
  kind: OptionKind;
  required?: boolean;
  /** Values to choose from, at most 25; their texts stand under `= <value>`, else the value is shown. */
  choices?: readonly string[];
  /** Which source completes it. */
  completes?: string;
  /** Of ids that are typed: the option that picks a person instead. */
  orPick?: string;
  /** Of a text: it is a length or a time; by default as the route's field is. */
  time?: TimeSpec;
  /** Least and most: characters of a text, value of a number. */
  min?: number;
  max?: number;
  /** Of a channel: Discord's numbers of the kinds that are offered; every kind by default. */
  channelTypes?: readonly number[];
}

/**
 * What is asked; with what it was asked about, such as the revision that was shown: joined to the values once the answer is yes.
 * With `filled`, the yes opens the form of the entry, filled in with that; sending it is the answer, and nothing is asked again.
 */
export type Question = string | { content: string; about: CommandInput["values"]; filled?: CommandInput["values"] };

/** A field of a form. Its label stands under `<command> <path> <field>`, or `* <field>`, at most 45 characters. */
export interface FieldSpec {
  name: string;
  kind: "line" | "paragraph" | "choice" | "user" | "files";
  /** It stands for an option that was refused, and is called as the option. */
  isOption?: true;
  required?: boolean;
  choices?: readonly string[];
  /** Of a line: it is a length or a time; by default as the route's field is. */
  time?: TimeSpec;
  min?: number;
  max?: number;
}

/** What an answer is worded with. */
export interface Wording {
  t: Translate;
  /** A view as another command words it. @param entry `<command> <path>` of a command with `show` */
  shown(entry: string, view: object): Promise<Reply>;
  /** What leads to an entry of another feature. @param entry `<command> <path>` */
  pressOf(entry: string): PressSpec;
  /** Where people reach the service by browser. */
  publicUrl: string;
  operator: Operator;
  /** The ids of the slash commands by their names, as far as Discord tells them. */
  commandIds: CommandIds;
  call: Call;
  given: CommandInput;
  /** Keeps what a button of the answer stands for. @returns the custom id of a button that opens the form of the entry */
  keepForm(entry: string, asked: ShownForm): string;
}

/** A form of which the answer shows already what it will do. */
export interface ShownForm {
  /** What the person gave themselves. */
  typed: CommandInput["values"];
  /** What was shown, such as the revision, and what the form is filled in with. */
  shown: CommandInput["values"];
}

/** One thing a person can do: the verb of an HTTP route, what it is given, and how its answer is told. */
export interface Entry {
  command: string;
  /** After the command's name, such as `release` or `loa start`; empty for a command without sub-commands. */
  path: string;
  /** The operation id of the HTTP route. */
  operation: string;
  /** Which of several routes, by what was given; `operation` by default. */
  operationFor?: (given: CommandInput) => string;
  /** Every route that `operationFor` may choose. */
  operations?: readonly string[];
  /** Permissions of which the service method asks for one besides that of the route: without them, `/help` leaves the command out. */
  needs?: readonly PermissionKey[];
  /** Shown to everybody, and not only to those whom a server's administrators allow its commands. */
  isPublic?: true;
  options?: readonly OptionSpec[];
  /** Asked for in a form, at most five: what is long, and reasons. An option of the same name fills a field in beforehand. */
  form?: readonly FieldSpec[];
  /** The form is opened by the yes to its question alone. */
  formAfterQuestion?: true;
  /** Whether the form is shown; by default, it is as long as one of its fields was not given. */
  formWhen?: (given: CommandInput) => boolean;
  /**
   * What the form is filled in with that has to be looked up. As Discord takes a form only at once, the answer then is a button that
   * opens it.
   */
  fills?: (given: CommandInput, call: Call, verbs: Verbs) => Promise<CommandInput["values"]>;
  input(given: CommandInput, call: Call): VerbInput;
  /** Before the form is filled in: tries what is meant, without doing it. @throws ZodError, ProblemError as the service method refuses */
  checks?: (input: VerbInput, call: Call, verbs: Verbs) => Promise<void> | void;
  /** What else the verb needs, looked up before anything happens: joined to the values that were given. */
  locate?: (given: CommandInput, call: Call, verbs: Verbs) => Promise<CommandInput["values"]>;
  /** Shown with a button before anything happens: what would happen, such as `say("callsign repair ask")`; undefined: nothing is asked. */
  asks?: (wording: Wording, verbs: Verbs) => Question | undefined | Promise<Question | undefined>;
  /** Of one view, which is what the route of the operation answers; the general wording by default. */
  show?: (view: never, wording: Wording, verbs: Verbs) => Reply | Promise<Reply>;
  /** Of one line of a list; the general wording by default. */
  line?: (view: never, wording: Wording) => string;
  /** Of a list: what stands above its lines, from what its page says beside them. */
  note?: (notes: Readonly<Record<string, never>>, wording: Wording) => string;
  /** Of a list: it is answered whole, as files, instead of in pages. */
  asFiles?: true;
  /** Of a list: how many lines a page has; ten by default. */
  lines?: number;
  /** Of a list: rows of buttons under a page, for its lines. */
  rows?: (views: readonly never[], wording: Wording) => readonly Row[];
  /** Of a list: menus under a page, which lead on from one of its lines; at most four. */
  picks?: readonly PickSpec<PressSpec | string>[];
  /** Instead of the operation: an answer that is put together from several verbs, each with its own right. */
  answers?: (wording: Wording, verbs: Verbs) => Reply | Promise<Reply>;
  /** How buttons and menus of other answers lead here. */
  press?: PressSpec;
}

/** A command of the menu on a person or a message: a short way to an entry. */
export interface MenuSpec {
  /** As it is called in English; other languages under `> <name>`. */
  name: string;
  kind: "user" | "message";
  /** `<command> <path>` of the entry. */
  entry: string;
  /** What the entry is given. */
  values(target: MenuTarget): CommandInput["values"];
}

/** What a command of a menu was used on: a person, or a message with its author. A web-hook is nobody's account. */
export interface MenuTarget {
  user: string | undefined;
  message?: { id: string; channel: string; guild: string };
}

/** What a control carries to an entry. */
export interface PressSpec {
  /** Short, and of one entry only. */
  name: string;
  /** The options it stands for; a menu stands for the first. In custom ids of 100 characters, so little fits. */
  carries: readonly OptionSpec[];
  /** Whether the answer takes the place of the message with the control. */
  replaces?: true;
}

/** A menu whose choices lead on to another entry: by its control, or where that is one of another feature by `<command> <path>`. */
export interface PickSpec<To extends PressSpec | string = PressSpec> {
  press: To;
  /** The key of its text. */
  placeholder: TextKey;
  /** What one view is in the menu; undefined where it leads nowhere. */
  of(view: never, wording: Wording): { value: string; label: string } | undefined;
}

/** Where the choices of an option that is typed come from: a list of the HTTP API, seen with the rights of the person who types. */
export interface SourceSpec {
  operation: string;
  input(typed: string, given: CommandInput): VerbInput;
  /** Instead of one page of the list: what is offered of several. */
  read?(given: CommandInput, call: Call, verbs: Verbs, typed: string): Promise<readonly object[]>;
  choice(view: never, typed: string, t: Translate): Choice;
  /** The one of this value; undefined when the caller knows of none. */
  find?(value: string, call: Call, verbs: Verbs): Promise<unknown>;
  /** Which of them are offered, where the list does not search by itself. */
  keeps?(view: never, typed: string, t: Translate): boolean;
}

/** The slash commands of a feature. */
export interface CommandSet {
  entries?: readonly Entry[];
  /** Commands of the menu on a person or a message. */
  menus?: readonly MenuSpec[];
  /** Entries that no command has: only menus and buttons lead to them. */
  menuEntries?: readonly Entry[];
  /** Where typed options are completed from, by the name an option gives in `completes`. */
  sources?: Readonly<Record<string, SourceSpec>>;
}

export type { APIEmbed, Choice, Reply };
