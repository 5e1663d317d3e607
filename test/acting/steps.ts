import fc from "fast-check";

/** What happens to a person. Lengths are in `unit`s. */
export type Act =
  | { do: "ban"; units: number | null; way: "alone" | "approved" }
  | { do: "timeout"; units: number; way: "alone" | "approved" }
  | { do: "reverse" | "restore"; which: number }
  | { do: "reduce"; which: number; units: number }
  | { do: "list" | "revoke" | "exempt" | "unexempt" | "unban" | "untimeout" | "kick" | "leave" | "return" | "rejoin" }
  | { do: "timeout by hand"; units: number }
  | { do: "ban by hand" | "unban by hand" | "lift by hand" | "raise" | "lower" };

/** How Discord fails while that happens. */
export type Trouble = { with: "none" | "refusal" } | { with: "limit" | "server" | "lost" | "too many"; times: number };

export interface Step {
  acts: readonly Act[];
  trouble: Trouble;
}

/** What happens to everybody at the same time. */
export interface Round {
  steps: readonly Step[];
  /** A process dies before it has said so many statements to its database; at the latest when all is done. */
  kill: { process: number; statements: number } | null;
  /** How much time passes afterwards. */
  units: number;
}

const units = fc.integer({ min: 1, max: 5 });
const which = fc.nat(5);
const way = fc.constantFrom("alone" as const, "alone" as const, "approved" as const);

const act: fc.Arbitrary<Act> = fc.oneof(
  { weight: 4, arbitrary: fc.record({ do: fc.constant("ban" as const), units: fc.option(units), way }) },
  { weight: 4, arbitrary: fc.record({ do: fc.constant("timeout" as const), units, way }) },
  { weight: 5, arbitrary: fc.record({ do: fc.constantFrom("reverse" as const, "reverse" as const, "restore" as const), which }) },
  { weight: 2, arbitrary: fc.record({ do: fc.constant("reduce" as const), which, units }) },
  {
    weight: 7,
    arbitrary: fc.record({
      do: fc.constantFrom(
        "list" as const,
        "list" as const,
        "revoke" as const,
        "exempt" as const,
        "unexempt" as const,
        "unban" as const,
        "untimeout" as const,
        "kick" as const,
        "leave" as const,
        "return" as const,
        "rejoin" as const,
        "rejoin" as const,
      ),
    }),
  },
  { weight: 1, arbitrary: fc.record({ do: fc.constant("timeout by hand" as const), units }) },
  {
    weight: 3,
    arbitrary: fc.record({
      do: fc.constantFrom("ban by hand" as const, "unban by hand" as const, "lift by hand" as const, "raise" as const, "lower" as const),
    }),
  },
);
const times = fc.integer({ min: 1, max: 5 });
const trouble: fc.Arbitrary<Trouble> = fc.oneof(
  { weight: 4, arbitrary: fc.record({ with: fc.constant("none" as const) }) },
  { weight: 1, arbitrary: fc.record({ with: fc.constant("refusal" as const) }) },
  {
    weight: 4,
    arbitrary: fc.record({ with: fc.constantFrom("limit" as const, "server" as const, "lost" as const, "too many" as const), times }),
  },
);
const step: fc.Arbitrary<Step> = fc.record({ acts: fc.array(act, { minLength: 1, maxLength: 2, size: "max" }), trouble });

/** @param people how many */
export function roundsFor(people: number): fc.Arbitrary<readonly Round[]> {
  const round: fc.Arbitrary<Round> = fc.record({
    steps: fc.array(step, { minLength: people, maxLength: people, size: "max" }),
    kill: fc.option(fc.record({ process: fc.nat(1), statements: fc.integer({ min: 1, max: 60 * people }) }), { freq: 3 }),
    units: fc.constantFrom(0, 0, 1, 2),
  });
  return fc.array(round, { minLength: 4, maxLength: 7, size: "max" });
}
