import fc from "fast-check";

/** The six people. `linked` has a further account, Lou, that some requests are about. */
export const people = ["viewer", "moderator", "senior", "linked", "admin", "owner"] as const;
export type Person = (typeof people)[number];

/** Whom requests are about: few, so that they meet. Two of them are staff. */
export const users = ["Ann", "Ben", "Lou", "moderator", "senior"] as const;
export type User = (typeof users)[number];
export const servers = ["Den", "Far", "Src", "Dst"] as const;
export type Server = (typeof servers)[number];
export const severities = ["low", "high", "critical"] as const;
export type Severity = (typeof severities)[number];
export const confidences = ["suspected", "probable", "confirmed"] as const;
export type Confidence = (typeof confidences)[number];
export const punishments = [
  "note",
  "warning",
  "strike",
  "probation",
  "suspension",
  "demotion",
  "termination",
  "blacklist_referral",
] as const;
export type Punishment = (typeof punishments)[number];

/** So many days; null: said to be permanent; undefined: nothing is said. */
export type Length = number | null | undefined;

/** What a request asks for. `words` stands for texts, so that every payload can be amended. */
export type Draft =
  | { kind: "blacklist-user"; user: User; scope: "network" | "servers"; severity: Severity; days: Length; words: number }
  | { kind: "blacklist-server"; server: "Den" | "Far"; severity: Severity; days: Length; words: number }
  | {
      kind: "investigation";
      about: User | "Den";
      confidential: boolean;
      lead: Person | null;
      kept: Person | null;
      interim: boolean;
      words: number;
    }
  | { kind: "recruitment"; user: User; trial: 0 | 30; words: number }
  | { kind: "server-merge"; swapped: boolean; consented: boolean; inDays: 3 | 50; words: number }
  | { kind: "alt-request"; pair: readonly [User, User]; confidence: Confidence; words: number }
  | { kind: "punishment"; user: User; action: Punishment; points: number; days: Length; words: number }
  | { kind: "poach"; what: "report" | "agreement" | "clearance"; user: User; pair: readonly [Server, Server]; days: Length; words: number }
  | { kind: "appeal"; which: number; desired: "overturn" | "reduce" | "clarify"; user: User | null; words: number };
export type Kind = Draft["kind"];

export const actions = [
  "claim",
  "assign",
  "unassign",
  "approve",
  "deny",
  "request_info",
  "provide_info",
  "amend",
  "escalate",
  "deescalate",
  "hold",
  "release",
  "withdraw",
  "void",
  "reopen",
  "reverse",
  "abstain",
  "object",
] as const;
export type Action = (typeof actions)[number];
export type Ruling = "overturn" | "reduce" | "remit";

export interface Act {
  do: "act";
  by: Person;
  which: number;
  action: Action;
  /** The place of another action among those that are open to this person, which is done instead; null: the one above, come what may. */
  legal: number | null;
  steal: boolean;
  override: boolean;
  /** The revision that is sent. */
  revision: "none" | "right" | "wrong";
  assignee: Person;
  /** What an amendment writes. */
  words: number;
  severity: Severity;
  /** What is made of an appeal that is approved; null: what it asks for. */
  ruling: Ruling | null;
}

/** Requests are named by their place in the order they were filed, counted around. */
export type Step =
  | { do: "file"; by: Person; joins: boolean; draft: Draft }
  | Act
  | { do: "try"; by: Person; which: number; override: boolean }
  | { do: "settle"; which: number; how: "approve" | "reverse" }
  | { do: "pass"; minutes: number; sweeps: boolean };

const words = fc.nat({ max: 2 });
const user = fc.constantFrom<User>("Ann", "Ann", "Ann", "Ben", "Ben", "Lou", "moderator", "senior");
const person = fc.constantFrom(...people);
const days = fc.constantFrom<Length[]>(undefined, null, 3, 20);
const pair = fc.constantFrom<(readonly [User, User])[]>(
  ["Ann", "Ben"],
  ["Ann", "Ben"],
  ["Ann", "Lou"],
  ["Ben", "Lou"],
  ["Ann", "moderator"],
);
const parties = fc.constantFrom<(readonly [Server, Server])[]>(["Den", "Far"], ["Src", "Den"], ["Src", "Dst"], ["Dst", "Far"]);

const drafts: Readonly<Record<Kind, fc.Arbitrary<Draft>>> = {
  "blacklist-user": fc.record({
    kind: fc.constant("blacklist-user"),
    user,
    scope: fc.constantFrom("network", "servers", "servers"),
    severity: fc.constantFrom(...severities),
    days,
    words,
  }),
  "blacklist-server": fc.record({
    kind: fc.constant("blacklist-server"),
    server: fc.constantFrom("Den", "Den", "Far"),
    severity: fc.constantFrom(...severities),
    days,
    words,
  }),
  investigation: fc.record({
    kind: fc.constant("investigation"),
    about: fc.constantFrom("Ann", "Ben", "Lou", "moderator", "Den"),
    confidential: fc.constantFrom(false, false, true),
    lead: fc.constantFrom<(Person | null)[]>(null, ...people),
    kept: fc.constantFrom<(Person | null)[]>(null, null, null, ...people),
    interim: fc.boolean(),
    words,
  }),
  recruitment: fc.record({ kind: fc.constant("recruitment"), user, trial: fc.constantFrom(0, 30), words }),
  "server-merge": fc.record({
    kind: fc.constant("server-merge"),
    swapped: fc.constantFrom(false, false, true),
    consented: fc.constantFrom(true, true, true, false),
    inDays: fc.constantFrom(3, 50),
    words,
  }),
  "alt-request": fc.record({ kind: fc.constant("alt-request"), pair, confidence: fc.constantFrom(...confidences), words }),
  punishment: fc.record({
    kind: fc.constant("punishment"),
    user,
    action: fc.constantFrom(...punishments),
    points: fc.nat({ max: 2 }),
    days,
    words,
  }),
  poach: fc.record({
    kind: fc.constant("poach"),
    what: fc.constantFrom("report", "agreement", "clearance"),
    user,
    pair: parties,
    days,
    words,
  }),
  appeal: fc.record({
    kind: fc.constant("appeal"),
    which: fc.nat({ max: 3 }),
    desired: fc.constantFrom("overturn", "overturn", "reduce", "clarify"),
    user: fc.constantFrom<(User | null)[]>(null, "Ann", "Ben", "moderator"),
    words,
  }),
};

const which = fc.constantFrom(0, 0, 0, 0, 1, 1, 2, 3, 4);
const decider = fc.constantFrom<Person>(
  "owner",
  "owner",
  "owner",
  "admin",
  "admin",
  "admin",
  "senior",
  "senior",
  "linked",
  "moderator",
  "viewer",
);
const rarely = fc.constantFrom(false, false, false, true);

const file = (kinds: readonly Kind[]): fc.Arbitrary<Step> =>
  fc.record({
    do: fc.constant("file"),
    by: fc.constantFrom<Person>("viewer", "moderator", "moderator", "senior", "linked", "admin", "owner"),
    joins: rarely,
    draft: fc.oneof(...kinds.map((kind) => drafts[kind])),
  });

const act: fc.Arbitrary<Step> = fc.record({
  do: fc.constant("act"),
  by: decider,
  which,
  action: fc.oneof(
    { weight: 2, arbitrary: fc.constantFrom<Action>("approve", "approve", "reverse", "deny") },
    { weight: 3, arbitrary: fc.constantFrom(...actions) },
  ),
  legal: fc.constantFrom(null, null, 0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11),
  steal: fc.boolean(),
  override: rarely,
  revision: fc.constantFrom("none", "none", "none", "none", "none", "none", "right", "right", "wrong"),
  assignee: person,
  words,
  severity: fc.constantFrom(...severities),
  ruling: fc.constantFrom<(Ruling | null)[]>(null, "overturn", "reduce", "remit"),
});

/** As many as it needs, the ones who may. */
const settle: fc.Arbitrary<Step> = fc.record({
  do: fc.constant("settle"),
  which,
  how: fc.constantFrom("approve", "approve", "approve", "reverse", "reverse"),
});
const trial: fc.Arbitrary<Step> = fc.record({ do: fc.constant("try"), by: decider, which, override: rarely });
const pass: fc.Arbitrary<Step> = fc.record({
  do: fc.constant("pass"),
  minutes: fc.constantFrom(20, 70, 300, 1500, 4500, 11_000, 22_000, 45_000, 90_000, 144_000),
  sweeps: fc.boolean(),
});

/** Kinds that meet, so that not every sequence is about everything. */
const themes: readonly (readonly Kind[])[] = [
  ["blacklist-user", "recruitment", "punishment", "appeal"],
  ["blacklist-server", "poach", "server-merge", "appeal"],
  ["alt-request", "blacklist-user", "investigation", "appeal"],
  ["punishment", "recruitment", "investigation", "appeal"],
  ["blacklist-user", "blacklist-server", "investigation", "recruitment", "server-merge", "alt-request", "punishment", "poach", "appeal"],
];

function stepsAbout(kinds: readonly Kind[]): fc.Arbitrary<Step[]> {
  const usual = kinds.filter((kind) => kind !== "appeal");
  const beginning = fc.array(file(usual), { minLength: 1, maxLength: 3, size: "max" });
  const rest = fc.array(
    fc.oneof(
      { weight: 3, arbitrary: file(kinds) },
      { weight: 9, arbitrary: act },
      { weight: 4, arbitrary: settle },
      { weight: 1, arbitrary: trial },
      { weight: 3, arbitrary: pass },
    ),
    { minLength: 5, maxLength: 14, size: "max" },
  );
  return fc.tuple(beginning, rest).map(([first, more]) => [...first, ...more]);
}

/** What happens, in order. */
export const sequences: fc.Arbitrary<Step[]> = fc.oneof(...themes.map(stepsAbout));

/** A step in words. */
export function told(step: Step): string {
  const { do: what, ...rest } = step;
  return `${what} ${JSON.stringify(rest)}`;
}
