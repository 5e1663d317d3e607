import type { Case } from "./scene.ts";
import { left, reason, right } from "./filed.ts";
import { common, haste, words } from "./request-common.ts";

/** What is about servers. */
export const servers: readonly Case[] = [
  {
    entry: "request server-merge",
    by: "admin",
    given: () => ({
      source: left,
      target: right,
      effective: "2027-01-31",
      "callsign-policy": "renumber",
      ...haste,
    }),
    form: () => words,
    http: (scene) => [
      "POST",
      "/workflows/server-merge",
      {
        source_server_id: left,
        target_server_id: right,
        effective_at: "2027-01-31T00:00:00.000Z",
        callsign_policy: "renumber",
        reason,
        ...common(scene),
      },
    ],
    wrong: {
      given: () => ({ source: left, target: left, effective: "2027-01-31 12:30" }),
      form: () => ({ reason }),
      http: () => [
        "POST",
        "/workflows/server-merge",
        { source_server_id: left, target_server_id: left, effective_at: "2027-01-31T12:30:00.000Z", reason },
      ],
    },
  },
  {
    entry: "request poach",
    by: "admin",
    given: ({ ann }) => ({
      kind: "report",
      offender: ann,
      "offending-server": left,
      "victim-server": right,
      occurred: "2026-11-20 10:00",
      method: "role_offer",
      ...haste,
    }),
    form: () => words,
    http: (scene) => [
      "POST",
      "/workflows/poach",
      {
        kind: "report",
        offender_user_ids: [scene.ann.id],
        offending_server_id: left,
        victim_server_id: right,
        occurred_at: "2026-11-20T10:00:00.000Z",
        method: "role_offer",
        reason,
        ...common(scene),
      },
    ],
    wrong: { given: () => ({ kind: "report" }), form: () => ({}), http: () => ["POST", "/workflows/poach", { kind: "report" }] },
  },
  {
    entry: "request poach",
    by: "admin",
    given: () => ({ kind: "agreement", parties: `${left} ${right}`, covers: "staff", ...haste }),
    form: () => ({ ...words, terms: "Nobody is asked to leave." }),
    http: (scene) => [
      "POST",
      "/workflows/poach",
      { kind: "agreement", party_server_ids: [left, right], covers: "staff", terms: "Nobody is asked to leave.", reason, ...common(scene) },
    ],
    wrong: {
      given: () => ({ kind: "agreement", parties: left }),
      form: () => ({}),
      http: () => ["POST", "/workflows/poach", { kind: "agreement", party_server_ids: [left] }],
    },
  },
  {
    entry: "request poach",
    by: "admin",
    given: ({ bob }) => ({ kind: "clearance", user: bob, "from-server": left, "to-server": right, ...haste }),
    form: () => words,
    http: (scene) => [
      "POST",
      "/workflows/poach",
      { kind: "clearance", user_id: scene.bob.id, from_server_id: left, to_server_id: right, reason, ...common(scene) },
    ],
  },
];
