import type { Case } from "./scene.ts";
import { left, reason, right, silence } from "./filed.ts";
import { besides, common, haste, origin, pieces, words } from "./request-common.ts";
import { servers } from "./request-servers.ts";

const mine = (by: "owner" | "admin"): Case => ({
  entry: "request mine",
  by,
  isOpen: true,
  given: () => ({ state: "open" }),
  http: () => ["GET", "/workflows?limit=10&requester=@me&status=open"],
});

const listings: readonly Case[] = [
  {
    entry: "request blacklist-user",
    before: silence,
    given: ({ ann, world }) => ({
      user: ann,
      category: "raid",
      severity: "high",
      scope: "servers",
      servers: world.guild.id,
      "recommended-action": "verify",
      duration: "p30d",
      ...haste,
    }),
    form: () => words,
    http: (scene) => [
      "POST",
      "/workflows/blacklist-user",
      {
        user_id: scene.ann.id,
        category: "raid",
        severity: "high",
        scope: "servers",
        server_ids: [scene.world.guild.id],
        recommended_action: "verify",
        duration: "P30D",
        reason,
        ...common(scene),
      },
    ],
    wrong: {
      given: ({ ann }) => ({ user: ann, category: "raid", severity: "high", scope: "servers" }),
      form: () => ({ reason }),
      http: ({ ann }) => [
        "POST",
        "/workflows/blacklist-user",
        { user_id: ann.id, category: "raid", severity: "high", scope: "servers", reason },
      ],
    },
  },
  {
    entry: "request blacklist-server",
    given: ({ ann }) => ({
      server: left,
      category: "scam",
      severity: "low",
      "member-policy": "flag",
      "server-name": "Raid Central",
      owner: ann,
      duration: "permanent",
      ...haste,
    }),
    form: () => words,
    http: (scene) => [
      "POST",
      "/workflows/blacklist-server",
      {
        server_id: left,
        category: "scam",
        severity: "low",
        member_policy: "flag",
        server_name: "Raid Central",
        owner_user_id: scene.ann.id,
        duration: null,
        reason,
        ...common(scene),
      },
    ],
    wrong: {
      given: () => ({ server: "twenty-is-no-server", category: "scam", severity: "low", "member-policy": "flag", duration: "soon" }),
      form: () => ({ reason }),
      http: () => [
        "POST",
        "/workflows/blacklist-server",
        { server_id: "twenty-is-no-server", category: "scam", severity: "low", member_policy: "flag", duration: "soon", reason },
      ],
    },
  },
  {
    entry: "request punishment",
    given: ({ bob, world }) => ({
      user: bob,
      action: "demotion",
      servers: world.guild.id,
      points: 2,
      duration: "P7D",
      rules: "1.2, 3",
      "case-reference": "CASE-000001",
      "demote-to": "viewer",
      discord: "timeout",
      "notify-subject": false,
      ...haste,
    }),
    form: () => words,
    http: (scene) => [
      "POST",
      "/workflows/punishment",
      {
        user_id: scene.bob.id,
        action: "demotion",
        points: 2,
        duration: "P7D",
        rules: ["1.2", "3"],
        case_reference: "CASE-000001",
        demote_to: "viewer",
        discord: { action: "timeout", guild_ids: [scene.world.guild.id] },
        notify_subject: false,
        reason,
        ...common(scene),
      },
    ],
    wrong: {
      given: ({ bob }) => ({ user: bob, action: "demotion" }),
      form: () => ({ reason }),
      http: ({ bob }) => ["POST", "/workflows/punishment", { user_id: bob.id, action: "demotion", reason }],
    },
  },
];

const people: readonly Case[] = [
  {
    entry: "request investigation",
    given: ({ ann, senior }) => ({
      user: ann,
      category: "leak",
      staff: true,
      confidential: true,
      lead: senior,
      interim: "remove_from_queue",
      ...haste,
    }),
    form: () => ({ ...besides, allegation: "Shared internal screenshots." }),
    http: (scene) => [
      "POST",
      "/workflows/investigation",
      {
        subject: { kind: "staff", id: scene.ann.id },
        category: "leak",
        confidential: true,
        lead_user_id: scene.senior.id,
        interim: "remove_from_queue",
        allegation: "Shared internal screenshots.",
        ...common(scene),
      },
    ],
    wrong: {
      given: () => ({ category: "leak" }),
      form: () => ({ allegation: "Nobody is named in this one." }),
      http: () => ["POST", "/workflows/investigation", { category: "leak", allegation: "Nobody is named in this one." }],
    },
  },
  {
    entry: "request investigation",
    given: () => ({ server: right, category: "security", ...haste }),
    form: () => ({ ...besides, allegation: "It hosts the leaked files." }),
    http: (scene) => [
      "POST",
      "/workflows/investigation",
      { subject: { kind: "server", id: right }, category: "security", allegation: "It hosts the leaked files.", ...common(scene) },
    ],
  },
  {
    entry: "request recruitment",
    given: ({ ann, bob }) => ({
      user: bob,
      position: "moderator",
      department: "north",
      "referred-by": ann,
      timezone: "Europe/Berlin",
      "trial-days": 14,
      ...haste,
    }),
    form: () => ({ ...words, experience: "Two years.", availability: "In the evening." }),
    http: (scene) => [
      "POST",
      "/workflows/recruitment",
      {
        user_id: scene.bob.id,
        position: "moderator",
        department: "north",
        referred_by: scene.ann.id,
        timezone: "Europe/Berlin",
        trial_days: 14,
        experience: "Two years.",
        availability: "In the evening.",
        reason,
        ...common(scene),
      },
    ],
    wrong: {
      // It is refused before its form is shown.
      given: ({ bob }) => ({ user: bob, position: "   " }),
      form: () => ({}),
      http: ({ bob }) => ["POST", "/workflows/recruitment", { user_id: bob.id, position: "   " }],
    },
  },
  {
    entry: "request alt",
    given: ({ ann, bob, senior, admin }) => ({
      user: ann,
      other: bob,
      third: senior,
      fourth: admin,
      confidence: "probable",
      "account-kind": "shared_account",
      "basis-kind": "behaviour",
      ...haste,
    }),
    form: () => ({ ...words, basis: "Never online together." }),
    http: (scene) => [
      "POST",
      "/workflows/alt-request",
      {
        user_ids: [scene.ann.id, scene.bob.id, scene.senior.id, scene.admin.id],
        primary_user_id: scene.ann.id,
        confidence: "probable",
        kind: "shared_account",
        basis: [{ type: "behaviour", note: "Never online together." }],
        reason,
        ...common(scene),
      },
    ],
    wrong: {
      given: ({ ann }) => ({ user: ann, other: ann, confidence: "probable" }),
      form: () => ({ basis: "Never online together." }),
      http: ({ ann }) => [
        "POST",
        "/workflows/alt-request",
        { user_ids: [ann.id], primary_user_id: ann.id, confidence: "probable", basis: [{ note: "Never online together." }] },
      ],
    },
  },
  {
    entry: "request appeal",
    isPersonal: true,
    given: ({ bob }) => ({ target: "PUN-REQ-000001", "desired-outcome": "reduce", user: bob, ...haste }),
    form: () => ({ grounds: "The record is about somebody else.", evidence: words.evidence }),
    http: (scene) => [
      "POST",
      "/workflows/appeal",
      {
        target: "PUN-REQ-000001",
        desired_outcome: "reduce",
        user_id: scene.bob.id,
        grounds: "The record is about somebody else.",
        evidence: pieces,
        ...haste,
        ...origin(scene),
      },
    ],
    wrong: {
      given: () => ({ target: "PUN-REQ-000001" }),
      form: () => ({ grounds: " ".repeat(20) }),
      http: () => ["POST", "/workflows/appeal", { target: "PUN-REQ-000001", grounds: " ".repeat(20) }],
    },
  },
];

/** Every kind is filed; lists of what was filed show all that was kept of it. */
export const filings: readonly Case[] = [...listings, ...people, mine("owner"), ...servers, mine("admin")];
