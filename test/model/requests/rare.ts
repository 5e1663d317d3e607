import type { Act, Action, Person, Step } from "./steps.ts";

const act = (by: Person, which: number, action: Action, more: Partial<Act> = {}): Step => ({
  do: "act",
  by,
  which,
  action,
  legal: null,
  steal: false,
  override: false,
  revision: "none",
  assignee: "senior",
  words: 1,
  severity: "high",
  ruling: null,
  ...more,
});
const file = (draft: Extract<Step, { do: "file" }>["draft"], by: Person = "moderator"): Step => ({ do: "file", by, joins: false, draft });
const settle = (which: number, how: "approve" | "reverse" = "approve"): Step => ({ do: "settle", which, how });
const pass = (minutes: number): Step => ({ do: "pass", minutes, sweeps: true });

const listed = { kind: "blacklist-user", user: "Ann", severity: "low", days: null, words: 0 } as const;
const recruited = file({ kind: "recruitment", user: "Ann", trial: 0, words: 0 });
const onServers = file({ ...listed, scope: "servers" });
const everywhere = file({ ...listed, scope: "network" });
const merged = file({ kind: "server-merge", swapped: false, consented: true, inDays: 3, words: 0 });

/** Sequences that chance comes by seldom. */
export const rare: Readonly<Record<string, readonly Step[]>> = {
  "the last reversal lifts what several requests hold": [
    recruited,
    onServers,
    everywhere,
    act("senior", 1, "approve"),
    settle(2),
    settle(1, "reverse"),
    settle(2, "reverse"),
  ],
  "a request is not sent back beside one that was filed meanwhile": [
    onServers,
    act("senior", 0, "deny"),
    pass(31 * 1440),
    file({ kind: "appeal", which: 0, desired: "reduce", user: "Ann", words: 0 }),
    everywhere,
    { do: "try", by: "admin", which: 1, override: false },
    act("admin", 1, "approve", { ruling: "remit" }),
  ],
  "what an approval was let pass is not asked about when it is taken back by two": [
    file({ kind: "server-merge", swapped: false, consented: false, inDays: 50, words: 0 }, "senior"),
    act("owner", 0, "approve", { override: true }),
    act("admin", 0, "reverse"),
    act("owner", 0, "reverse"),
  ],
  "nobody rules on what they may not know of": [
    file({ kind: "investigation", about: "Ben", confidential: true, lead: null, kept: null, interim: false, words: 0 }),
    settle(0),
    file({ kind: "appeal", which: 0, desired: "reduce", user: "Ben", words: 0 }),
    act("linked", 1, "approve", { ruling: "overturn" }),
    settle(1),
  ],
  "a hold that somebody lifted does not come back": [
    recruited,
    onServers,
    settle(1),
    act("owner", 0, "release"),
    everywhere,
    settle(2),
    settle(2, "reverse"),
  ],
  "a hold that somebody else placed since stays, and is nobody's to pass on": [
    recruited,
    onServers,
    act("senior", 1, "approve"),
    act("owner", 0, "release"),
    act("senior", 0, "hold"),
    settle(1, "reverse"),
    act("owner", 0, "release"),
    everywhere,
    settle(2),
    settle(2, "reverse"),
  ],
  "a merger comes at its date whatever its requester was asked before": [
    merged,
    act("admin", 0, "request_info"),
    pass(300),
    act("moderator", 0, "provide_info"),
    settle(0),
    pass(4500),
    settle(0, "reverse"),
  ],
  "a merger that was carried out more than 30 days ago stays": [merged, settle(0), pass(4500), pass(45_000), settle(0, "reverse")],
  "a merger is called off when an agreement of the source is made meanwhile": [
    merged,
    settle(0),
    file({ kind: "poach", what: "agreement", user: "Ann", pair: ["Src", "Den"], days: undefined, words: 0 }),
    settle(1),
    pass(4500),
  ],
  "agreements follow a merger, and come back with it": [
    file({ kind: "poach", what: "agreement", user: "Ann", pair: ["Src", "Den"], days: undefined, words: 0 }),
    file({ kind: "poach", what: "agreement", user: "Ann", pair: ["Src", "Dst"], days: undefined, words: 0 }),
    settle(0),
    settle(1),
    merged,
    settle(2),
    pass(4500),
    settle(2, "reverse"),
    settle(1, "reverse"),
  ],
  "a request ends at its end, swept or not": [
    onServers,
    { do: "pass", minutes: 45_000, sweeps: false },
    { do: "pass", minutes: 90_000, sweeps: false },
    act("senior", 0, "reopen"),
  ],
  "a claim lasts four hours from the last thing its holder did": [
    recruited,
    act("senior", 0, "claim"),
    pass(200),
    act("senior", 0, "abstain"),
    pass(200),
    act("linked", 0, "claim"),
    pass(50),
    act("linked", 0, "claim"),
  ],
  "the clock of the decision stands still while questions wait": [
    recruited,
    act("senior", 0, "request_info"),
    pass(4500),
    act("moderator", 0, "provide_info"),
    act("owner", 0, "claim"),
    act("owner", 0, "request_info"),
    pass(70),
    act("admin", 0, "provide_info"),
  ],
  "what an appeal overturned is in force again when the appeal is reversed": [
    file({ kind: "punishment", user: "Ann", action: "suspension", points: 2, days: 20, words: 0 }),
    act("senior", 0, "approve"),
    file({ kind: "appeal", which: 0, desired: "overturn", user: "Ann", words: 0 }, "viewer"),
    act("admin", 1, "approve"),
    act("owner", 1, "reverse"),
    act("admin", 0, "reverse"),
  ],
  "a recruitment is not put in force again beside another one": [
    recruited,
    act("senior", 0, "approve"),
    file({ kind: "appeal", which: 0, desired: "overturn", user: "Ann", words: 0 }, "viewer"),
    act("admin", 1, "approve"),
    recruited,
    act("owner", 2, "approve"),
    act("owner", 1, "reverse"),
  ],
  "a confirmed link makes partial, and its end impartial": [
    file({ kind: "alt-request", pair: ["Ann", "Lou"], confidence: "confirmed", words: 0 }),
    settle(0),
    onServers,
    act("linked", 1, "approve"),
    settle(0, "reverse"),
    act("linked", 1, "approve"),
  ],
};
