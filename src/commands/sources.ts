import { ProblemError } from "../kernel/errors.ts";
import type { VerbInput } from "./verbs.ts";
import type { CommandInput, SourceSpec } from "./entry.ts";
import type { Page } from "../kernel/page.ts";
import { readOptional } from "./records.ts";
import { cut } from "./show.ts";
import type { Translate } from "../kit/say.ts";

export const choiceLimit = 25;
const long = 100;
const wordLength = 2;
const wholeNumber = /^[a-z]+-\d{6,}$/i;

/** Finds a record by a route that reads one; what the caller may not read counts as found. */
export function findBy(operation: string): NonNullable<SourceSpec["find"]> {
  return async (id, call, verbs) => {
    try {
      return await verbs.run(operation, call, { params: { id } });
    } catch (error) {
      if (!(error instanceof ProblemError)) throw error;
      return error.code === "record_not_found" ? undefined : id;
    }
  };
}

/** Records whose numbers begin with a prefix: a number that is half typed is looked for among the newest, a whole one among all. */
export function numbered<View extends { number: string }>(
  operation: string,
  single: string,
  prefix: RegExp,
  told: (view: View, t: Translate) => string,
): SourceSpec {
  const isNumber = (typed: string) => prefix.test(typed) || /^\d+$/.test(typed);
  const input = (typed: string): VerbInput => ({
    query: { limit: isNumber(typed) ? 200 : choiceLimit, q: typed.length < wordLength || isNumber(typed) ? undefined : typed },
  });
  return {
    operation,
    input,
    async read(_given, call, verbs, typed) {
      const whole = wholeNumber.test(typed) ? await readOptional<View>(verbs, single, { call }, { params: { id: typed } }) : undefined;
      return whole === undefined ? ((await verbs.run(operation, call, input(typed))) as Page<View>).data : [whole];
    },
    choice: (view: View, _typed, t) => ({ name: cut(told(view, t), long), value: view.number }),
    find: findBy(single),
    keeps: ({ number }: View, typed) => !isNumber(typed) || number.toLowerCase().includes(typed.toLowerCase()),
  };
}

/** What belongs to a record that was named before it. */
export function within<View extends object>(
  operation: string,
  params: (given: CommandInput) => NonNullable<VerbInput["params"]>,
  told: (view: View, t: Translate) => string,
  value = "id",
): SourceSpec {
  return {
    operation,
    input: (_typed, given) => ({ params: params(given), query: { limit: 200 } }),
    choice: (view: View, _typed, t) => ({ name: cut(told(view, t), long), value: (view as Readonly<Record<string, string>>)[value] ?? "" }),
    keeps: (view: View, typed, t) => told(view, t).toLowerCase().includes(typed.toLowerCase()),
  };
}

/** What has a key and a name, by both. */
export function keyed(operation: string): SourceSpec {
  return {
    operation,
    input: () => ({ query: { limit: 200 } }),
    choice: ({ key, name }: { key: string; name: string }) => ({ name: cut(`${name} (${key})`, long), value: key }),
    keeps: ({ key, name }: { key: string; name: string }, typed) => holds(typed, key, name),
  };
}

/** Whether one of the texts holds what was typed. */
export function holds(typed: string, ...texts: readonly (string | undefined)[]): boolean {
  return texts.some((text) => text?.toLowerCase().includes(typed.toLowerCase()) === true);
}

/** A moment as a choice shows it, which Discord does not put into the reader's time. */
export function minuteOf(at: string): string {
  return `${at.slice(0, 16).replace("T", " ")} UTC`;
}
