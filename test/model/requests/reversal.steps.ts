import fc from "fast-check";

/** What is filed about the same few: a person, another one, and three servers. Ids stand for themselves in `fill`. */
export interface Wish {
  kind: string;
  body: Record<string, unknown>;
  /** How it is approved besides. */
  decision?: Record<string, unknown>;
}
export interface History extends Wish {
  isReversed: boolean;
}

const reason = "This is what is said about it here.";
const days = fc.constantFrom<object[]>({}, { duration: null }, { duration: "P20D" });
const severity = fc.constantFrom("low", "medium", "high", "critical");
const user = fc.constantFrom("$user", "$user", "$other");
const wish = (kind: string, body: fc.Arbitrary<object>): fc.Arbitrary<Wish> => body.map((more) => ({ kind, body: { reason, ...more } }));
const spread = (parts: fc.Arbitrary<object[]>): fc.Arbitrary<object> => parts.map((all) => Object.assign({}, ...all) as object);

/** A random payload of each kind. */
export const wishes: Readonly<Record<string, fc.Arbitrary<Wish>>> = {
  "blacklist-user": wish(
    "blacklist-user",
    spread(
      fc.tuple(
        fc.record({
          user_id: user,
          severity,
          category: fc.constantFrom("raid", "scam", "compromised"),
          include_alts: fc.constantFrom("none", "confirmed", "probable"),
          evidence: fc.constantFrom([], ["https://example.org/clip"]),
        }),
        fc.constantFrom<object>(
          { scope: "network" },
          { scope: "servers", server_ids: ["$a"] },
          { scope: "servers", server_ids: ["$a", "$b"] },
        ),
        days,
      ),
    ),
  ),
  "blacklist-server": wish(
    "blacklist-server",
    spread(
      fc.tuple(
        fc.record({
          server_id: fc.constantFrom("$a", "$b"),
          aliases: fc.constantFrom([], ["$c"]),
          severity,
          category: fc.constant("raiding"),
          member_policy: fc.constantFrom("flag", "deny_staff"),
        }),
        days,
      ),
    ),
  ),
  investigation: wish(
    "investigation",
    fc.record({
      subject: fc.constantFrom({ kind: "staff", id: "$user" }, { kind: "user", id: "$other" }, { kind: "server", id: "$a" }),
      allegation: fc.constant(reason),
      confidential: fc.boolean(),
      interim: fc.constantFrom("none", "suspend_permissions", "remove_from_queue"),
    }),
  ).map(({ kind, body: { reason: _reason, ...body } }) => ({ kind, body })),
  recruitment: wish(
    "recruitment",
    fc.record({
      user_id: user,
      position: fc.constantFrom("moderator", "helper"),
      trial_days: fc.constantFrom(0, 30),
      department: fc.constantFrom("North", "South"),
      callsign: fc.constantFrom("none", { pool: "main" }, { pool: "main", preferred: 7 }),
    }),
  ).map((one) => ({
    ...one,
    // Whatever is known of them: what the checks find is waived.
    decision: { decision: "approve", override: true },
  })),
  "server-merge": fc
    .record({
      pair: fc.constantFrom<[string, string][]>(["$a", "$b"], ["$b", "$a"], ["$a", "$c"]),
      callsign_policy: fc.constantFrom("keep_target", "renumber"),
      plan: fc.constantFrom<object[][]>([], [{ user_id: "$user", to_role: "helper" }], [{ user_id: "$user", to_role: "release" }]),
    })
    .map(({ pair: [source, target], plan, callsign_policy: callsigns }) => ({
      kind: "server-merge",
      body: {
        reason,
        source_server_id: source,
        target_server_id: target,
        effective_at: "$soon",
        owner_consents: [source, target].map((server) => ({ server_id: server, user_id: "$other", at: "$now" })),
        staff_plan: plan,
        callsign_policy: callsigns,
      },
    })),
  "alt-request": wish(
    "alt-request",
    fc.record({
      user_ids: fc.constantFrom(["$user", "$other"], ["$user", "$other", "$third"]),
      confidence: fc.constantFrom("suspected", "probable", "confirmed"),
      kind: fc.constantFrom("suspected_evasion", "declared_alt"),
      basis: fc.constantFrom([{ type: "behaviour", note: "They write alike." }], [{ type: "admission" }, { type: "other" }]),
      propagate: fc.constantFrom({}, { matches: true }, { blacklist: true }),
    }),
  ),
  punishment: wish(
    "punishment",
    spread(
      fc.tuple(
        fc.record({
          user_id: user,
          action: fc.constantFrom("note", "warning", "strike", "probation", "suspension", "demotion", "termination", "blacklist_referral"),
          points: fc.nat({ max: 6 }),
          demote_to: fc.constant("helper"),
          discord: fc.record({ action: fc.constantFrom("none", "timeout", "role_remove", "kick", "ban"), everywhere: fc.constant(true) }),
        }),
        days,
      ),
    ),
  ),
  poach: fc.oneof(
    wish(
      "poach",
      fc.record({
        kind: fc.constant("report"),
        offending_server_id: fc.constantFrom("$a", "$b"),
        victim_server_id: fc.constant("$c"),
        occurred_at: fc.constant("$now"),
        offender_user_ids: fc.constantFrom(["$user"], ["$user", "$other"]),
      }),
    ),
    wish(
      "poach",
      fc.record({ kind: fc.constant("agreement"), party_server_ids: fc.constantFrom(["$a", "$b"], ["$a", "$c"], ["$a", "$b", "$c"]) }),
    ),
    wish(
      "poach",
      fc.record({ kind: fc.constant("clearance"), user_id: user, from_server_id: fc.constant("$a"), to_server_id: fc.constant("$b") }),
    ),
  ),
  appeal: fc
    .record({
      target: fc.nat({ max: 3 }),
      ruling: fc.constantFrom(
        { decision: "overturn" },
        { decision: "remit", instructions: "Please look at all of it again." },
        { decision: "reduce", new_severity: "low", new_points: 0, new_duration: "P2D" },
      ),
    })
    .map(({ target, ruling }) => ({
      kind: "appeal",
      body: { target: `$${target.toString()}`, grounds: "There was more to it than this." },
      decision: ruling,
    })),
};

export const kinds = Object.keys(wishes);
const plain = kinds.filter((kind) => kind !== "appeal");
const anything = fc.oneof(...plain.map((kind) => wishes[kind] as fc.Arbitrary<Wish>));

/** What came before. */
export const histories: fc.Arbitrary<History[]> = fc.array(
  fc.tuple(anything, fc.constantFrom(false, false, false, true)).map(([one, isReversed]) => ({ ...one, isReversed })),
  { maxLength: 4 },
);

export const several: fc.Arbitrary<Wish[]> = fc.array(anything, { minLength: 2, maxLength: 5 });
