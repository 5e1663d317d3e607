import type { Case } from "./scene.ts";

/** Servers that nobody knows. */
export const server = "80351110224678912";
export const first = "80351110224678913";
export const second = "80351110224678914";

export const blacklistAdding: readonly Case[] = [
  {
    entry: "blacklist add",
    given: ({ ann }) => ({
      user: ann,
      category: "raid",
      severity: "critical",
      duration: "30d",
      "recommended-action": "kick",
      "include-alts": "probable",
      tags: "one, two words,",
    }),
    form: () => ({ "reason-public": "Led a raid", "reason-internal": "Told by a friend", evidence: "Seen by three" }),
    http: ({ ann }) => [
      "POST",
      "/blacklist",
      {
        kind: "user",
        subject_id: ann.id,
        category: "raid",
        severity: "critical",
        duration: "30d",
        recommended_action: "kick",
        include_alts: "probable",
        tags: ["one", "two words"],
        reason_public: "Led a raid",
        reason_internal: "Told by a friend",
        evidence: [{ kind: "text", note: "Seen by three" }],
      },
    ],
    wrong: {
      given: ({ ann }) => ({ user: ann, category: "raiding", "member-policy": "flag", duration: "soon" }),
      form: () => ({ "reason-public": "Led a raid" }),
      http: ({ ann }) => [
        "POST",
        "/blacklist",
        {
          kind: "user",
          subject_id: ann.id,
          category: "raiding",
          member_policy: "flag",
          duration: "soon",
          reason_public: "Led a raid",
        },
      ],
    },
  },
  {
    entry: "blacklist add",
    by: "admin",
    given: () => ({ server, category: "poaching", "member-policy": "flag", servers: `${first}, ${second}` }),
    form: () => ({ "reason-public": "Poaches staff" }),
    http: () => [
      "POST",
      "/blacklist",
      {
        kind: "server",
        subject_id: server,
        category: "poaching",
        member_policy: "flag",
        scope: "servers",
        server_ids: [first, second],
        reason_public: "Poaches staff",
      },
    ],
    wrong: {
      given: ({ ann }) => ({ user: ann }),
      form: () => ({ "reason-public": "Again" }),
      http: ({ ann }) => ["POST", "/blacklist", { kind: "user", subject_id: ann.id, reason_public: "Again" }],
    },
  },
  {
    entry: "blacklist add",
    by: "admin",
    given: ({ bob }) => ({ user: bob, servers: first }),
    form: () => ({ "reason-public": "Only there" }),
    http: ({ bob }) => [
      "POST",
      "/blacklist",
      { kind: "user", subject_id: bob.id, scope: "servers", server_ids: [first], reason_public: "Only there" },
    ],
    wrong: {
      // Servers that are none of them do not make the record one of the whole network.
      given: ({ bob }) => ({ user: bob, servers: ", ," }),
      form: () => ({ "reason-public": "Only there" }),
      http: ({ bob }) => [
        "POST",
        "/blacklist",
        { kind: "user", subject_id: bob.id, scope: "servers", server_ids: [], reason_public: "Only there" },
      ],
    },
  },
  {
    entry: "blacklist add",
    given: () => ({ server: first }),
    form: () => ({ "reason-public": "Poaches staff" }),
    http: () => ["POST", "/blacklist", { kind: "server", subject_id: first, reason_public: "Poaches staff" }],
    wrong: {
      form: () => ({ "reason-public": "Nobody" }),
      http: () => ["POST", "/blacklist", { kind: "server", reason_public: "Nobody" }],
    },
  },
];
