import { ZodError } from "zod";
import type { Call } from "../kernel/call.ts";
import type { Clock } from "../kernel/clock.ts";
import { isDenial } from "../kernel/denied.ts";
import { type FieldError, ProblemError, recordNotFound, validationProblem } from "../kernel/errors.ts";
import { pause } from "../kernel/pause.ts";
import { fieldErrors, pointer } from "../kernel/validation.ts";
import type { CommandInput, Entry, FieldSpec, OptionSpec, SourceSpec, TimeSpec } from "./entry.ts";
import { textIn } from "./input.ts";
import { unreadTimes, withTimes } from "./time-options.ts";
import type { VerbInput, Verbs } from "./verbs.ts";

type Values = CommandInput["values"];

/** Whether the form of an entry is still to be filled in, before anything is asked. */
export function asksForm({ form, formWhen, formAfterQuestion }: Entry, given: CommandInput): boolean {
  if (form === undefined || formAfterQuestion === true) return false;
  const isComplete = form.every(({ name, required }) => required !== true || given.values[name] !== undefined);
  return !isComplete || (formWhen?.(given) ?? form.some(({ name }) => given.values[name] === undefined));
}

export interface CheckDeps {
  verbs: Verbs;
  /** Those that can find one record tell whether a reference is one. */
  sources: Readonly<Record<string, SourceSpec>>;
  clock: Clock;
}

/** Discord takes a form within three seconds: what could not be checked by then is checked when the form is sent. */
const maxCheckMs = 1000;

/** Whether a form may be shown: nothing that was given is known to be refused. */
export async function maySee(entry: Entry, given: CommandInput, call: () => Promise<Call>, deps: CheckDeps): Promise<boolean> {
  const end = new AbortController();
  const checked = call()
    .then((known) => checkBeforeForm(entry, given, known, deps))
    .then(
      () => true,
      () => false,
    );
  try {
    return await Promise.race([checked, pause(maxCheckMs, end.signal).then(() => true)]);
  } finally {
    end.abort();
  }
}

/**
 * Checks what was given before the form is filled in: rights, references, and every field that no field of the form sets.
 * @throws ProblemError as the route would refuse it, whatever is filled in
 */
export async function checkBeforeForm(entry: Entry, typed: CommandInput, call: Call, { verbs, sources, clock }: CheckDeps): Promise<void> {
  const { form = [], locate, operationFor, options = [] } = entry;
  const given = withTimes(entry, typed, clock.now());
  const [bare, filled] = [withValues(given, form, () => undefined), withValues(given, form, fillingOf)];
  requireSome(entry, bare, call, verbs);
  const located = locate === undefined ? {} : await besideForm(form, () => locate(filled, call, verbs));
  // Which route it is can depend on the form.
  if (operationFor === undefined) {
    const [before, after] = [joined(bare, located), joined(filled, located)];
    const errors = await errorsOf(async () => {
      const input = entry.input(after, call);
      verbs.check(entry.operation, call, input);
      await entry.checks?.(input, call, verbs);
    });
    const ofForm = changedPaths(inputOf(entry, before, call), inputOf(entry, after, call));
    const unread = unreadTimes(entry, bare, clock.now());
    const others = errors.filter(({ pointer: at }) => ![...ofForm, ...unread.map((one) => one.pointer)].some((path) => isAbout(at, path)));
    if (unread.length + others.length > 0)
      throw verbs.refusal(entry.operation, inputOf(entry, after, call) ?? {}, validationProblem([...unread, ...others]));
  }
  for (const { name, completes = "" } of options) {
    const [value, find] = [textIn(given, name), sources[completes]?.find];
    if (value !== undefined && find !== undefined && (await find(value.trim(), call, verbs)) === undefined) throw recordNotFound();
  }
}

/** Options that a refusal is about: given ones, and such as are missing. */
export function refusedOptions(entry: Entry, given: CommandInput, call: Call, error: ProblemError): OptionSpec[] {
  const { options = [] } = entry;
  const isGiven = ({ name }: OptionSpec): boolean => given.values[name] !== undefined;
  if (error.code === "record_not_found") return options.filter((option) => isGiven(option) && option.completes !== undefined);
  const { errors = [] } = error;
  return options.filter((option) => {
    const { name } = option;
    if (!isGiven(option)) return errors.some(({ pointer: at }) => at === pointerOf(name));
    const { [name]: _, ...values } = given.values;
    const paths = changedPaths(inputOf(entry, { ...given, values }, call), inputOf(entry, given, call));
    return errors.some(({ pointer: at }) => paths.some((path) => isAbout(at, path)));
  });
}

/** @throws ProblemError when none of the routes that it may be is permitted; an address that is not known yet says nothing of that */
function requireSome(entry: Entry, bare: CommandInput, call: Call, verbs: Verbs): void {
  const { operation, operationFor, operations = [] } = entry;
  const params = inputOf(entry, bare, call)?.params;
  if (Object.values(params ?? {}).includes("")) return;
  const possible = operationFor === undefined ? [operation] : operations;
  const denials = possible.flatMap((one) => denialOf(() => verbs.require(one, call, params)));
  if (denials[0] !== undefined && denials.length === possible.length) throw denials[0];
}

function denialOf(check: () => void): ProblemError[] {
  try {
    check();
    return [];
  } catch (error) {
    if (isDenial(error)) return [error];
    throw error;
  }
}

/** What a look-up finds; a refusal that is about a field of the form has to wait until that is filled in. */
async function besideForm(form: readonly FieldSpec[], find: () => Promise<Values>): Promise<Values> {
  try {
    return await find();
  } catch (error) {
    const isOfForm = ({ pointer: at }: FieldError): boolean => form.some(({ name }) => at === pointerOf(name));
    if (error instanceof ProblemError && error.errors?.every(isOfForm) === true) return {};
    throw error;
  }
}

/** The field that an option sets by default. */
const pointerOf = (name: string): string => `/${name.replaceAll("-", "_")}`;

async function errorsOf(check: () => Promise<void>): Promise<readonly FieldError[]> {
  try {
    await check();
    return [];
  } catch (error) {
    // What the service method refuses.
    if (error instanceof ZodError) return fieldErrors(error.issues, "body");
    if (error instanceof ProblemError && error.code === "validation_failed") return error.errors ?? [];
    throw error;
  }
}

/** Undefined where what is given makes no input yet. */
function inputOf(entry: Entry, given: CommandInput, call: Call): VerbInput | undefined {
  try {
    return entry.input(given, call);
  } catch (error) {
    if (error instanceof ProblemError) return undefined;
    throw error;
  }
}

const fillingLength = 40;
const timeFillings = {
  length: "P1D",
  end: "P1D",
  time: "2999-01-01T00:00:00.000Z",
  past: "2020-01-01T00:00:00.000Z",
} as const satisfies Record<TimeSpec["kind"], string>;

/** Something that each kind of field takes, where nothing narrower is known of it. */
function fillingOf({ kind, choices, time, min = 1, max = fillingLength }: FieldSpec): string | undefined {
  if (time !== undefined) return timeFillings[time.kind];
  if (kind === "files") return undefined;
  if (kind === "choice") return choices?.[0];
  return kind === "user" ? "100000000000000000" : "x".repeat(Math.min(max, Math.max(min, fillingLength)));
}

function withValues(given: CommandInput, form: readonly FieldSpec[], valueOf: (field: FieldSpec) => string | undefined): CommandInput {
  const rest = Object.fromEntries(Object.entries(given.values).filter(([name]) => form.every((field) => field.name !== name)));
  const set = form.flatMap((field): [string, string][] => {
    const value = valueOf(field);
    return value === undefined ? [] : [[field.name, value]];
  });
  return { ...given, values: { ...rest, ...Object.fromEntries(set) } };
}

const joined = (given: CommandInput, values: Values): CommandInput => ({ ...given, values: { ...given.values, ...values } });

/** Pointers to what differs between two inputs, in whichever part of them it stands. */
function changedPaths(before: VerbInput | undefined, after: VerbInput | undefined): string[] {
  const parts = ["params", "query", "body"] as const;
  return parts.flatMap((part) => changes(before?.[part], after?.[part], []));
}

function changes(before: unknown, after: unknown, path: readonly string[]): string[] {
  if (before === after) return [];
  if (!isObject(before) && !isObject(after)) return [pointer(path)];
  const [was, is] = [before, after].map((side) => (isObject(side) ? side : {})) as [Record<string, unknown>, Record<string, unknown>];
  return [...new Set([...Object.keys(was), ...Object.keys(is)])].flatMap((key) => changes(was[key], is[key], [...path, key]));
}

const isObject = (value: unknown): boolean => typeof value === "object" && value !== null;

/** Whether an error at a pointer can come from what stands at another: one lies in the other. */
function isAbout(at: string, path: string): boolean {
  return at === path || at.startsWith(`${path}/`) || path.startsWith(`${at}/`);
}
