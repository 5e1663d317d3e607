import fc from "fast-check";

/** Who takes part. `chief` and `suspect` are staff whom records are about; nobody asks as the chief. */
export const people = ["owner", "admin", "senior", "moderator", "viewer", "member", "suspect", "chief", "stranger"] as const;
export type Person = (typeof people)[number];

/** How the service is asked: as a person, through a key without acting user, or as the senior through a key that may read some things. */
export const callers = ["owner", "admin", "senior", "moderator", "viewer", "member", "suspect", "stranger", "key", "narrow"] as const;
export type Caller = (typeof callers)[number];

/** Whom records and cases are about: two people and a server that are new in every sequence, and two of the staff. */
export const subjects = ["Ann", "Ben", "Den", "suspect", "chief"] as const;
export type Subject = (typeof subjects)[number];

export const severities = ["low", "medium", "high", "critical"] as const;
export type Severity = (typeof severities)[number];
export type Match = "none" | "right" | "wrong";

/** Times are counted in units of six minutes. Records, cases and notes are named by their place in the order they were made, counted around. */
export type Step =
  | {
      do: "list";
      by: Caller;
      about: Subject;
      scope: "network" | "servers";
      severity: Severity;
      from: number;
      lasts: number | null;
      secret: boolean;
    }
  | {
      do: "change";
      by: Caller;
      which: number;
      set: "severity" | "tags" | "end" | "nothing";
      severity: Severity;
      lasts: number | null;
      match: Match;
    }
  | { do: "revoke"; by: Caller; which: number; says: boolean; match: Match }
  | { do: "read"; by: Caller; which: number }
  | { do: "check"; by: Caller }
  | { do: "pass"; units: number; sweeps: boolean }
  | { do: "open"; by: Caller; about: Exclude<Subject, "Den">; confidential: boolean; team: boolean }
  | { do: "note"; by: Caller; which: number }
  | { do: "edit"; by: Caller; which: number; note: number; own: boolean; match: Match }
  | { do: "close"; by: Caller; which: number; outcome: "resolved" | "substantiated"; match: Match }
  | { do: "reopen"; by: Caller; which: number }
  | { do: "see"; by: Caller; which: number }
  | { do: "find"; by: Caller };

const place = fc.constantFrom(0, 0, 0, 0, 1, 2);
const by = fc.oneof(
  { weight: 3, arbitrary: fc.constantFrom<Caller>("owner", "admin", "senior") },
  { weight: 2, arbitrary: fc.constantFrom<Caller>(...callers) },
);
/** Those for whom cases have rules of their own come up more often there. */
const worker = fc.oneof(
  { weight: 3, arbitrary: fc.constantFrom<Caller>("owner", "admin", "senior") },
  { weight: 2, arbitrary: fc.constantFrom<Caller>("suspect", "member", "moderator") },
  { weight: 1, arbitrary: fc.constantFrom<Caller>(...callers) },
);
const about = fc.oneof(
  { weight: 6, arbitrary: fc.constantFrom<Subject>("Ann", "Ben", "Den") },
  { weight: 1, arbitrary: fc.constantFrom<Subject>(...subjects) },
);
const severity = fc.constantFrom(...severities);
const lasts = fc.option(fc.integer({ min: 1, max: 4 }));
const match = fc.oneof(
  { weight: 4, arbitrary: fc.constant<Match>("none") },
  { weight: 1, arbitrary: fc.constantFrom<Match>("right", "wrong") },
);

type Theme = "records" | "cases";

const table: [step: Step["do"], weight: number, arbitrary: fc.Arbitrary<Step>][] = [
  [
    "list",
    5,
    fc.record({
      do: fc.constant("list"),
      by,
      about,
      scope: fc.constantFrom("network", "network", "servers"),
      severity,
      from: fc.constantFrom(0, 0, 0, 1, 2),
      lasts,
      secret: fc.boolean(),
    }),
  ],
  [
    "change",
    4,
    fc.record({
      do: fc.constant("change"),
      by,
      which: place,
      set: fc.constantFrom("severity", "tags", "end", "nothing"),
      severity,
      lasts,
      match,
    }),
  ],
  ["revoke", 4, fc.record({ do: fc.constant("revoke"), by, which: place, says: fc.boolean(), match })],
  ["read", 2, fc.record({ do: fc.constant("read"), by, which: place })],
  ["check", 2, fc.record({ do: fc.constant("check"), by })],
  ["pass", 5, fc.record({ do: fc.constant("pass"), units: fc.integer({ min: 1, max: 3 }), sweeps: fc.boolean() })],
  [
    "open",
    4,
    fc.record({
      do: fc.constant("open"),
      by,
      about: fc.constantFrom("Ann", "Ann", "Ben", "Ben", "suspect", "chief"),
      confidential: fc.boolean(),
      team: fc.boolean(),
    }),
  ],
  ["note", 6, fc.record({ do: fc.constant("note"), by: worker, which: place })],
  [
    "edit",
    7,
    fc.record({ do: fc.constant("edit"), by: worker, which: place, note: place, own: fc.constantFrom(true, true, false), match }),
  ],
  [
    "close",
    6,
    fc.record({
      do: fc.constant("close"),
      by: worker,
      which: place,
      outcome: fc.constantFrom("resolved", "resolved", "substantiated"),
      match,
    }),
  ],
  ["reopen", 6, fc.record({ do: fc.constant("reopen"), by: worker, which: place })],
  ["see", 2, fc.record({ do: fc.constant("see"), by: worker, which: place })],
  ["find", 1, fc.record({ do: fc.constant("find"), by })],
];

/** Something to work on. */
const beginnings: Readonly<Record<Theme, fc.Arbitrary<readonly Step[]>>> = {
  records: fc.tuple(
    fc.record({
      do: fc.constant("list"),
      by: fc.constantFrom("owner", "admin"),
      about: fc.constantFrom("Ann", "Ben", "Den"),
      scope: fc.constantFrom("network", "servers"),
      severity,
      from: fc.constantFrom(0, 0, 1),
      lasts,
      secret: fc.boolean(),
    }),
  ),
  cases: fc.tuple(
    fc.record({
      do: fc.constant("open"),
      by: fc.constantFrom("owner", "admin", "senior", "moderator"),
      about: fc.constantFrom("Ann", "Ben", "suspect"),
      confidential: fc.boolean(),
      team: fc.boolean(),
    }),
    fc.record({ do: fc.constant("note"), by: fc.constantFrom("owner", "admin", "senior"), which: fc.constant(0) }),
  ),
};

const themeOf = (step: Step["do"]): Theme | "both" =>
  step === "pass" ? "both" : ["list", "change", "revoke", "read", "check"].includes(step) ? "records" : "cases";

function stepsAbout(themes: readonly Theme[]): fc.Arbitrary<Step[]> {
  const fitting = table.filter(([step]) => [...themes, "both"].includes(themeOf(step)));
  const beginning = fc.array(fc.oneof(...themes.map((theme) => beginnings[theme])), { minLength: 1, maxLength: 2, size: "max" });
  const choices = fitting.map(([, weight, arbitrary]) => ({ weight, arbitrary }));
  const rest = fc.array(fc.oneof(...choices), { minLength: 4, maxLength: 8, size: "max" });
  return fc.tuple(beginning, rest).map(([first, more]) => [...first.flat(), ...more]);
}

/** What happens, in order: to records, to cases, or to both. */
export const sequences: fc.Arbitrary<Step[]> = fc.oneof(stepsAbout(["records"]), stepsAbout(["cases"]), stepsAbout(["records", "cases"]));

/** A step in words. */
export function told(step: Step): string {
  const { do: what, ...rest } = step;
  const parts = Object.entries(rest).map(([name, value]) => (name === "by" ? `as ${String(value)}` : `${name}=${String(value)}`));
  return `${what} ${parts.join(" ")}`;
}
