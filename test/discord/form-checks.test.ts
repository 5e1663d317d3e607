// @module-tag sqlite
import { describe, expect, test } from "vitest";
import { commandTable, routeTable } from "../../src/features.ts";
import type { CommandInput, Entry } from "../../src/commands/entry.ts";
import { checkBeforeForm } from "../../src/commands/form-checks.ts";
import { nameOf } from "../../src/commands/table.ts";
import type { Verbs } from "../../src/commands/verbs.ts";
import type { Call } from "../../src/kernel/call.ts";
import { type FieldError, ProblemError } from "../../src/kernel/errors.ts";
import { check } from "../../src/kernel/validation.ts";

const specs = new Map(routeTable().map(({ spec }) => [spec.operationId, spec]));
const call = { client: null, actor: { id: "80351110224678912" }, via: "slash", guildId: "80351110224678913" } as unknown as Call;

/** Checks the content by the schemas of the routes, and lets everybody do everything. */
const verbs = {
  require: () => undefined,
  check(operation: string, _call: Call, input: { params?: object; query?: object; body?: unknown }) {
    const request = specs.get(operation)?.request;
    const errors: FieldError[] = [];
    if (request?.body !== undefined) check(request.body, JSON.parse(JSON.stringify(input.body ?? {})), "body", errors);
    if (errors.length > 0) throw new ProblemError("validation_failed", { errors });
  },
  refusal: (_operation: string, _given: object, error: ProblemError) => error,
  run: () => Promise.reject(new ProblemError("permission_denied")),
  requests: { kindOf: () => Promise.resolve("punishment") },
} as unknown as Verbs;

const withForm = [...commandTable().entries, ...commandTable().menuEntries].filter(({ form }) => form !== undefined);
const deps = { verbs, sources: {}, clock: { now: () => new Date() } };

async function errorsOf(entry: Entry, given: CommandInput): Promise<readonly FieldError[]> {
  try {
    await checkBeforeForm({ ...entry, locate: () => Promise.resolve({}) }, given, call, deps);
    return [];
  } catch (error) {
    if (error instanceof ProblemError && error.code === "permission_denied") return [];
    if (error instanceof ProblemError) return error.errors ?? [];
    throw error;
  }
}

describe("a form", () => {
  test("is never refused for what it asks for itself", async () => {
    expect(withForm.length).toBeGreaterThan(30);
    const refused: string[] = [];
    for (const entry of withForm) {
      const fields = new Set((entry.form ?? []).map(({ name }) => `/${name.replaceAll("-", "_")}`));
      const errors = await errorsOf(entry, { values: {}, files: {} });
      refused.push(...errors.filter(({ pointer }) => fields.has(pointer)).map(({ pointer }) => `${nameOf(entry)} ${pointer}`));
    }
    expect(refused).toEqual([]);
  });

  test("is refused for every length and time that is none", async () => {
    const passed: string[] = [];
    for (const entry of withForm)
      for (const { name, time, required } of entry.options ?? []) {
        // What the form asks for as well can be put right there.
        if (time === undefined || (entry.form ?? []).some((field) => field.name === name)) continue;
        const errors = await errorsOf(entry, { values: { [name]: "soon" }, files: {} });
        const clean = await errorsOf(entry, { values: required === true ? { [name]: "2030-01-01" } : {}, files: {} });
        if (errors.length <= clean.length) passed.push(`${nameOf(entry)} ${name}`);
      }
    expect(passed).toEqual([]);
  });
});
