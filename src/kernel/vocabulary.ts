/** Words that several features, the document and the commands share. The stored values: renaming one is a migration. */

export const severities = ["low", "medium", "high", "critical"] as const;
export type Severity = (typeof severities)[number];

/** Why a user is on the blacklist, and why a server is. */
export const blacklistCategories = {
  user: [
    "raid",
    "harassment",
    "hate",
    "exploit",
    "scam",
    "doxxing",
    "impersonation",
    "ban_evasion",
    "leaking",
    "predatory",
    "staff_abuse",
    "poaching",
    "compromised",
    "other",
  ],
  server: ["poaching", "raiding", "exploits", "stolen_assets", "leaking", "scam", "predatory", "ban_evasion_hub", "terms", "other"],
} as const;

/** The list of this community; the lists it follows have ids of their own. */
export const ownList = "own";

/** What a record about a user recommends to anyone who meets them. */
export const recommendedActions = ["monitor", "verify", "deny_entry", "kick", "ban"] as const;
/** What is done about the members of a listed server. */
export const memberPolicies = ["inform", "flag", "verify", "deny_staff", "deny_entry"] as const;
/** Which linked accounts of a listed user a record concerns, too. */
export const altChoices = ["none", "confirmed", "probable"] as const;

/** How sure a link between accounts is. */
export const linkConfidences = ["suspected", "probable", "confirmed"] as const;
export const linkKinds = ["suspected_evasion", "declared_alt", "shared_account", "compromised"] as const;
/** What a link rests on. */
export const linkBases = ["admission", "staff_observation", "shared_connection", "behaviour", "invite_chain", "other"] as const;

/** Whom a no-poach agreement covers. */
export const agreementCovers = ["staff", "members", "both"] as const;

/** The kinds of request, spelled as in their routes. Permission keys, routes and counters are made from this one list. */
export const workflowKinds = [
  "blacklist-server",
  "blacklist-user",
  "investigation",
  "recruitment",
  "server-merge",
  "alt-request",
  "punishment",
  "poach",
  "appeal",
] as const;

export type WorkflowKind = (typeof workflowKinds)[number];

/** What somebody is asked to grant access for. */
export const authorizationPurposes = ["verification", "recruitment", "investigation", "recheck", "appeal"] as const;
/** How much of a person's servers is listed. */
export const serverDetails = ["full", "listed"] as const;
/** What stands in the timeline of a person. */
export const timelineKinds = ["authorization", "match", "blacklist", "request", "case", "staff", "link", "native_action"] as const;

/** What others do to people in Discord itself, as far as it is recorded. */
export const nativeActionKinds = ["ban", "unban", "kick", "timeout", "timeout_lift"] as const;
export type NativeActionKind = (typeof nativeActionKinds)[number];
/** The same, with what Discord does to many at once and names nobody of. Readers have to expect further ones. */
export const guildActionKinds = [...nativeActionKinds, "prune"] as const;
export type GuildActionKind = (typeof guildActionKinds)[number];

/** What a server's alerts channel is told of. Each can be muted there. */
export const alertKinds = [
  "discord_action_failed",
  "listed_person_joined",
  "list_actions_held",
  "match_opened",
  "appeal_filed",
  "request_overdue",
  "record_review_due",
  "callsign_pool_low",
  "roster_drift",
  "webhook_disabled",
] as const;
export type AlertKind = (typeof alertKinds)[number];
