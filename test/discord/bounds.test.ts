import { expect, test } from "vitest";
import { commandTable, routeTable } from "../../src/features.ts";
import { withBounds } from "../../src/commands/bounds.ts";
import { severities } from "../../src/kernel/vocabulary.ts";

const specs = new Map(routeTable().map(({ spec }) => [spec.operationId, spec]));
const specOf = (operation: string) => specs.get(operation);
const optionOf = (entry: string, name: string) =>
  commandTable()
    .entryOf(entry)
    .options?.find((option) => option.name === name) ?? expect.fail(`${entry} ${name}`);

test("options and form fields have the choices, the least and the most of the route's field", () => {
  expect(optionOf("alts link", "reason")).toMatchObject({ min: 10, max: 2000 });
  expect(commandTable().entryOf("alts link").form).toMatchObject([{ name: "reason", min: 10, max: 2000 }]);
  expect(optionOf("blacklist add", "severity").choices).toEqual(severities);
  expect(optionOf("staff loa start", "until")).toMatchObject({ max: 40 });
  expect(optionOf("case list", "lead")).toEqual({ name: "lead", kind: "user" });
});

test("what a route takes as a length or a time completes as one, wherever it is typed", () => {
  const timeOf = (entry: string, name: string) => optionOf(entry, name).time;
  expect(timeOf("blacklist add", "duration")).toMatchObject({ kind: "length", canBePermanent: true });
  expect(timeOf("alts add", "review-after")).toMatchObject({ kind: "length", canBePermanent: false });
  expect(timeOf("staff suspend", "until")).toMatchObject({ kind: "end", canBePermanent: true });
  expect(timeOf("intel resolve", "until")).toMatchObject({ kind: "time" });
  expect(timeOf("roster history", "from")).toMatchObject({ kind: "past" });
  expect(timeOf("roster edit", "effective")).toMatchObject({ kind: "past" });
  expect(timeOf("request poach", "occurred")).toMatchObject({ kind: "past" });
  expect(timeOf("request punishment", "duration")).toMatchObject({ kind: "length", canBePermanent: true });
  expect(timeOf("blacklist add", "tags")).toBeUndefined();
  const { accepts = () => true } = timeOf("setup policy", "claim") ?? {};
  expect([accepts("30m"), accepts("9999w")]).toEqual([true, false]);
});

test("what an option says itself stays", () => {
  const status = optionOf("intel server register", "status").choices;
  expect(status).toContain("partner");
  expect(status).not.toContain("blacklisted");
});

test("nothing that an option lets through is refused for its length, its size or its value", () => {
  const loose = [...commandTable().entries, ...commandTable().menuEntries].flatMap((entry) =>
    [...(entry.options ?? []), ...(entry.form ?? [])].flatMap(({ name, kind, choices, min, max }) => {
      const [bare] =
        withBounds({ ...entry, form: [], options: [{ name, kind: kind === "integer" ? kind : "text" }] }, specOf).options ?? [];
      const isLonger = choices === undefined && bare?.max !== undefined && max !== undefined && max > bare.max;
      const isShorter = choices === undefined && bare?.min !== undefined && (min ?? 0) < bare.min;
      const isOther = bare?.choices !== undefined && choices?.some((one) => bare.choices?.includes(one) !== true);
      return isLonger || isShorter || isOther ? [`${entry.command} ${entry.path} ${name}`] : [];
    }),
  );
  expect(loose).toEqual([]);
});
