// @module-tag sqlite
// @module-tag slow
import { execFile } from "node:child_process";
import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { expect, onTestFinished, test } from "vitest";

const root = fileURLToPath(new URL("..", import.meta.url));

/** Sources by what is wrong with them: each is preceded by the same source without its fault, which has to compile. */
const faults: Readonly<Record<string, { sound: string; broken: string }>> = {
  "a kind whose effect lacks an input": {
    sound: `import { effect } from "ROOT/src/features/workflows/effects/inputs.ts";
export const uses = [effect("draft.blacklist", { userId: "1", reason: "Raided twice." })];`,
    broken: `import { effect } from "ROOT/src/features/workflows/effects/inputs.ts";
export const uses = [effect("draft.blacklist", { userId: "1" })];`,
  },
  "an effect that does not exist": {
    sound: `import { effect } from "ROOT/src/features/workflows/effects/inputs.ts";
export const uses = [effect("callsign.hold", { userId: "1" })];`,
    broken: `import { effect } from "ROOT/src/features/workflows/effects/inputs.ts";
export const uses = [effect("callsign.holds", { userId: "1" })];`,
  },
  "a mistyped permission": {
    sound: `import { type Call, can } from "ROOT/src/kernel/call.ts";
export const may = (call: Call): boolean => can(call, "cases.read");`,
    broken: `import { type Call, can } from "ROOT/src/kernel/call.ts";
export const may = (call: Call): boolean => can(call, "cases.raed");`,
  },
  "a mistyped permission of a route": {
    sound: `import type { Access } from "ROOT/src/operations/route.ts";
export const access: Access = { permission: "workflows.{type}.decide", either: ["workflows.review"] };`,
    broken: `import type { Access } from "ROOT/src/operations/route.ts";
export const access: Access = { permission: "workflows.{type}.descide", either: ["workflows.review"] };`,
  },
  "a label that a metric does not have": {
    sound: `import type { Readings } from "ROOT/src/metrics/table.ts";
export const readings: Readings = { provost_job_failures_total: () => [[{ job_name: "audit" }, 1]] };`,
    broken: `import type { Readings } from "ROOT/src/metrics/table.ts";
export const readings: Readings = { provost_job_failures_total: () => [[{ job: "audit" }, 1]] };`,
  },
  "a metric that does not exist": {
    sound: `import type { Readings } from "ROOT/src/metrics/table.ts";
export const readings: Readings = { provost_deliveries_due: () => 1 };`,
    broken: `import type { Readings } from "ROOT/src/metrics/table.ts";
export const readings: Readings = { provost_delivery_due: () => 1 };`,
  },
  "a mistyped event": {
    sound: `import type { EventType } from "ROOT/src/features/events/types.ts";
export const event: EventType = "appeal.filed";`,
    broken: `import type { EventType } from "ROOT/src/features/events/types.ts";
export const event: EventType = "appeal.field";`,
  },
  "a text column that the registry of personal texts lacks": {
    sound: `import type { Entry } from "ROOT/src/features/privacy/registry/types.ts";
export const entry: Entry<"StaffRole"> = { columns: { key: "code", name: "other", level: "code", callsignPool: "code" } };`,
    broken: `import type { Entry } from "ROOT/src/features/privacy/registry/types.ts";
export const entry: Entry<"StaffRole"> = { columns: { key: "code", level: "code", callsignPool: "code" } };`,
  },
  "a text about a person of whom the registry does not say how the row is found": {
    sound: `import type { Entry } from "ROOT/src/features/privacy/registry/types.ts";
const name = { redaction: { becomes: null }, shown: "cases" } as const;
export const entry: Entry<"CaseSubject"> = { about: (subjectId) => ({ subjectId }), columns: { kind: "code", name } };`,
    broken: `import type { Entry } from "ROOT/src/features/privacy/registry/types.ts";
const name = { redaction: { becomes: null }, shown: "cases" } as const;
export const entry: Entry<"CaseSubject"> = { columns: { kind: "code", name } };`,
  },
  "a kind of request that does not exist": {
    sound: `import { kinds } from "ROOT/src/features/workflows/kinds/kinds.ts";
export const kind = kinds["poach"];`,
    broken: `import { kinds } from "ROOT/src/features/workflows/kinds/kinds.ts";
export const kind = kinds["poaching"];`,
  },
  "a mistyped text": {
    sound: `import { translator } from "ROOT/src/kit/say.ts";
export const text = translator("de")("review queue");`,
    broken: `import { translator } from "ROOT/src/kit/say.ts";
export const text = translator("de")("review queu");`,
  },
  "a text without what it fills in": {
    sound: `import { translator } from "ROOT/src/kit/say.ts";
export const text = translator("de")("say page", { page: 3 });`,
    broken: `import { translator } from "ROOT/src/kit/say.ts";
export const text = translator("de")("say page");`,
  },
  "a text that is given something else than it fills in": {
    sound: `import { translator } from "ROOT/src/kit/say.ts";
export const text = translator("de")("say page", { page: 3 });`,
    broken: `import { translator } from "ROOT/src/kit/say.ts";
export const text = translator("de")("say page", { pages: 3 });`,
  },
  "something said by a mistyped key": {
    sound: `import { say } from "ROOT/src/kit/say.ts";
export const said = say("lists.there-is-no-such-list");`,
    broken: `import { say } from "ROOT/src/kit/say.ts";
export const said = say("lists.there-is-no-such-lists");`,
  },
  "something said without what it fills in": {
    sound: `import { say } from "ROOT/src/kit/say.ts";
export const said = say("lists.it-was-lifted-by", { reference: "BL-000001" });`,
    broken: `import { say } from "ROOT/src/kit/say.ts";
export const said = say("lists.it-was-lifted-by", {});`,
  },
  "a count that is no number where it chooses the form": {
    sound: `import { say } from "ROOT/src/kit/say.ts";
export const said = say("cases.points-in-force", { points: 1, threshold: 3, action: "probation" });`,
    broken: `import { say } from "ROOT/src/kit/say.ts";
export const said = say("cases.points-in-force", { points: "1", threshold: 3, action: "probation" });`,
  },
  "a feature that needs what nothing before it makes": {
    sound: `import { compose, feature } from "ROOT/src/compose.ts";
const one = feature({ create: () => ({ one: 1 }) });
const two = feature({ create: ({ one }: { one: number }) => ({ two: one + 1 }) });
export const features = compose<{ core: true }>().with(one).with(two);`,
    broken: `import { compose, feature } from "ROOT/src/compose.ts";
const one = feature({ create: () => ({ one: 1 }) });
const two = feature({ create: ({ one }: { one: number }) => ({ two: one + 1 }) });
export const features = compose<{ core: true }>().with(two).with(one);`,
  },
};

/** @returns the names of the files the compiler found a fault in */
async function compile(files: Readonly<Record<string, string>>): Promise<Set<string>> {
  const folder = await mkdtemp(join(root, "test", ".types-"));
  onTestFinished(() => rm(folder, { recursive: true, force: true }));
  for (const [name, source] of Object.entries(files)) await writeFile(join(folder, name), source.replaceAll("ROOT", "../.."));
  await writeFile(join(folder, "tsconfig.json"), JSON.stringify({ extends: "../../tsconfig.json", include: ["*.ts"] }));
  const output = await new Promise<string>((resolve) => {
    execFile(join(root, "node_modules/.bin/tsc"), ["--noEmit", "--pretty", "false", "-p", folder], { cwd: folder }, (_, out) =>
      resolve(out),
    );
  });
  return new Set([...output.matchAll(/^([\w-]+\.ts)\(\d+,\d+\): error/gm)].map(([, name]) => name ?? ""));
}

test("what the tables do not know does not compile", async () => {
  const sources = Object.entries(faults).map(([what, { sound, broken }], index) => ({ what, sound, broken, name: `f${index.toString()}` }));
  const found = await compile(
    Object.fromEntries(
      sources.flatMap(({ name, sound, broken }) => [
        [`${name}-sound.ts`, sound],
        [`${name}-broken.ts`, broken],
      ]),
    ),
  );
  expect(sources.filter(({ name }) => found.has(`${name}-sound.ts`)).map(({ what }) => what)).toEqual([]);
  expect(sources.filter(({ name }) => !found.has(`${name}-broken.ts`)).map(({ what }) => what)).toEqual([]);
});
