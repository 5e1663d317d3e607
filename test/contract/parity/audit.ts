import type { Case } from "./scene.ts";

const past = "2026-01-01";
export const audit: readonly Case[] = [
  {
    entry: "audit search",
    given: ({ ann }) => ({ user: ann, action: "roster.", outcome: "ok" }),
    http: ({ ann }) => ["GET", `/audit?limit=10&subject=${ann.id}&action_prefix=roster.&outcome=ok`],
    wrong: { given: () => ({ words: "x" }), http: () => ["GET", "/audit?limit=10&q=x"] },
  },
  {
    // Entries of refusals come a little later, each in its own time: of a finding there are none.
    entry: "audit show",
    given: ({ kept }) => ({ record: kept["finding"] ?? "" }),
    http: ({ kept }) => ["GET", `/audit?limit=10&target=${kept["finding"] ?? ""}`],
  },
  {
    entry: "audit mine",
    given: () => ({ action: "callsign.block", to: "2100-01-01" }),
    http: () => ["GET", "/audit/mine?limit=10&action_prefix=callsign.block&to=2100-01-01T00:00:00.000Z"],
    wrong: { given: () => ({ from: "soon" }), http: () => ["GET", "/audit/mine?limit=10&from=soon"] },
  },
  {
    entry: "audit verify",
    given: () => ({ first: 1, last: 3 }),
    http: () => ["GET", "/audit/verify?from=1&to=3"],
    wrong: { given: () => ({ first: 3, last: 1 }), http: () => ["GET", "/audit/verify?from=3&to=1"] },
  },
  {
    entry: "audit export",
    given: () => ({ to: past }),
    http: () => ["GET", `/audit/export?to=${past}T00:00:00.000Z`],
    wrong: { given: () => ({ from: "soon" }), http: () => ["GET", "/audit/export?from=soon"] },
  },
];
