import { workflowKinds, type WorkflowKind } from "./vocabulary.ts";

/** What a staff role stands for, from nothing by default to everything. */
export const levels = ["none", "viewer", "moderator", "senior", "admin", "owner"] as const;
export type Level = (typeof levels)[number];

/** The place of each level in their order, for comparisons. */
export const levelOrder: Readonly<Record<Level, number>> = { none: 0, viewer: 1, moderator: 2, senior: 3, admin: 4, owner: 5 };

/** One thing that can be permitted. */
export interface CatalogEntry {
  key: PermissionKey;
  group: string;
  label: string;
  description: string;
  /** The lowest level that holds it by default; `none` means that nobody does. */
  default_level: Level;
  /** Whether a wrong grant can do lasting harm. */
  danger: boolean;
  /** Where a grant may apply. */
  scopes: readonly ("network" | "server")[];
  /** Keys worth granting along; they are not granted by themselves. */
  implies: readonly PermissionKey[];
  /** Keys that should not be in the same hands. */
  conflicts: readonly PermissionKey[];
  /** The version that brought it. */
  since: string;
}

type Row<Key extends string = PermissionKey> = readonly [
  key: Key,
  level: Level,
  label: string,
  description: string,
  more?: { danger?: true; implies?: readonly Key[] },
];
const danger = { danger: true } as const;

const fixed = [
  ["system.health.read", "viewer", "Detailed health", "See ages, reasons and the build in the health answer, and the metrics"],
  ["system.act", "none", "Act as the system", "Lets an API key write without naming a staff member; never held by a person", danger],
  ["system.settings.read", "admin", "Read settings", "See the settings of this installation"],
  [
    "system.settings.manage",
    "owner",
    "Change settings",
    "Change the settings of this installation",
    { danger: true, implies: ["system.settings.read"] },
  ],
  ["system.webhooks.manage", "owner", "Manage web-hooks", "Have addresses told of events, and change and stop that", danger],
  ["clients.manage", "owner", "Manage API clients", "Create and revoke API keys", danger],
  ["authorize.create", "moderator", "Open authorization sessions", "Ask a user to grant access to their server list"],
  ["authorize.revoke", "senior", "Revoke authorizations", "End a grant or an open session of a user"],
  ["users.authorization.read", "viewer", "Read authorization status", "See whether a user has granted access"],
  ["users.servers.read", "moderator", "Read a user's servers", "See the server information a user has approved"],
  [
    "users.servers.read_unlisted_count",
    "senior",
    "Count unlisted servers",
    "See how many servers of a user are not listed",
    { implies: ["users.servers.read"] },
  ],
  ["users.matches.read", "moderator", "Read matches", "See intelligence matches of a user"],
  ["users.matches.resolve", "senior", "Resolve matches", "Confirm, dismiss or exempt a match", { implies: ["users.matches.read"] }],
  ["users.refresh", "moderator", "Refresh users", "Read a user's authorized information again"],
  ["users.refresh.force", "admin", "Refresh at once", "Refresh a user without waiting for the cool-down", { implies: ["users.refresh"] }],
  ["users.links.read", "moderator", "Read linked accounts", "See which accounts belong to one person"],
  ["users.links.manage", "senior", "Manage linked accounts", "Link and unlink accounts", { implies: ["users.links.read"] }],
  ["users.export", "admin", "Export personal data", "Download what is stored about a user"],
  ["users.redact", "owner", "Redact personal data", "Erase what is stored about a user", danger],
  ["servers.read", "viewer", "Read servers", "See the server registry"],
  ["servers.manage", "senior", "Manage servers", "Change the server registry", { implies: ["servers.read"] }],
  ["staff.read", "viewer", "List staff", "See who is staff"],
  ["staff.access.read", "viewer", "Read access answers", "See what a staff member may do; everybody sees their own"],
  ["staff.profile.read", "viewer", "Read staff profiles", "See the profile of a staff member"],
  ["staff.stats", "senior", "Read staff statistics", "See the activity of a staff member", { implies: ["staff.profile.read"] }],
  ["staff.discipline", "senior", "Read staff discipline", "See strikes and cases of a staff member", { implies: ["staff.profile.read"] }],
  [
    "staff.manage",
    "senior",
    "Manage staff data",
    "Change department, time zone and leave of a staff member",
    { implies: ["staff.profile.read"] },
  ],
  ["staff.suspend", "admin", "Suspend staff", "Take every permission of a staff member away at once", danger],
  ["staffroles.read", "viewer", "Read staff roles", "See which Discord roles stand for which staff roles"],
  [
    "staffroles.manage",
    "admin",
    "Manage staff roles",
    "Change staff roles and the Discord roles that stand for them",
    { danger: true, implies: ["staffroles.read"] },
  ],
  ["permissions.read", "viewer", "Read permissions", "See the catalog and what each staff role holds"],
  ["permissions.explain", "moderator", "Explain permissions", "See which rule decides a permission", { implies: ["permissions.read"] }],
  [
    "permissions.roles.manage",
    "admin",
    "Manage role permissions",
    "Change what a staff role holds",
    { danger: true, implies: ["permissions.read"] },
  ],
  [
    "permissions.users.manage",
    "admin",
    "Manage personal permissions",
    "Change what one person holds",
    { danger: true, implies: ["permissions.read"] },
  ],
  ["blacklist.read", "moderator", "Read the blacklist", "See blacklist records"],
  [
    "blacklist.read_confidential",
    "senior",
    "Read confidential fields",
    "See internal reasons and confidential evidence",
    { implies: ["blacklist.read"] },
  ],
  ["blacklist.check", "viewer", "Check the blacklist", "Ask whether users or servers are listed"],
  ["blacklist.create", "admin", "Create records", "Blacklist without a request", { danger: true, implies: ["blacklist.read"] }],
  ["blacklist.update", "senior", "Update records", "Change a blacklist record", { implies: ["blacklist.read"] }],
  ["blacklist.revoke", "admin", "Revoke records", "End a blacklist record", { danger: true, implies: ["blacklist.read"] }],
  ["blacklist.purge", "owner", "Purge records", "Erase a blacklist record for good", danger],
  ["blacklist.import", "admin", "Import records", "Add blacklist records in bulk", danger],
  ["blacklist.export", "senior", "Export records", "Download blacklist records in bulk", { implies: ["blacklist.read"] }],
  ["lists.read", "moderator", "Read followed lists", "See the lists of others that are followed, and what they say"],
  [
    "lists.manage",
    "admin",
    "Manage followed lists",
    "Follow lists of others, change and stop that",
    { danger: true, implies: ["lists.read"] },
  ],
  ["cases.read", "moderator", "Read cases", "See cases one opened or is assigned to"],
  ["cases.read_all", "senior", "Read all cases", "See every case that is not confidential", { implies: ["cases.read"] }],
  ["cases.confidential", "admin", "Read confidential cases", "See confidential cases", { implies: ["cases.read"] }],
  ["cases.create", "moderator", "Open cases", "Open a case"],
  ["cases.update", "moderator", "Update cases", "Change a case", { implies: ["cases.read"] }],
  ["cases.note", "moderator", "Write case notes", "Add notes to a case", { implies: ["cases.read"] }],
  ["cases.close", "senior", "Close cases", "Close a case with an outcome", { implies: ["cases.read"] }],
  ["cases.reopen", "senior", "Reopen cases", "Open a closed case again", { implies: ["cases.read"] }],
  ["cases.delete", "owner", "Delete cases", "Move a case to the bin", danger],
  ["evidence.add", "moderator", "Add evidence", "Store files and captured messages"],
  ["evidence.read", "moderator", "Read evidence", "Open stored evidence"],
  ["evidence.redact", "admin", "Redact evidence", "Remove the content of stored evidence", danger],
  ["audit.read", "senior", "Read the audit", "See what was done by whom"],
  ["audit.read_own", "viewer", "Read own audit entries", "See what one did oneself"],
  ["audit.export", "admin", "Export the audit", "Download audit entries in bulk", { implies: ["audit.read"] }],
  ["audit.see_redactions", "admin", "See redactions", "See the names of fields an answer leaves out"],
  ["workflows.read", "moderator", "Read requests", "See one's own requests and the queues one may work on"],
  ["workflows.read_all", "senior", "Read all requests", "See every request", { implies: ["workflows.read"] }],
  ["workflows.review", "moderator", "Review requests", "Ask for information, escalate, comment", { implies: ["workflows.read"] }],
  ["workflows.claim", "moderator", "Claim requests", "Take a request to work on", { implies: ["workflows.read"] }],
  ["workflows.assign", "senior", "Assign requests", "Give a request to a named person", { implies: ["workflows.read"] }],
  ["workflows.hold", "moderator", "Hold requests", "Stop a decision for the moment", { implies: ["workflows.read"] }],
  [
    "workflows.edit_any",
    "senior",
    "Edit any request",
    "Change the content of other people's requests",
    { implies: ["workflows.read_all"] },
  ],
  ["workflows.void", "senior", "Void requests", "Take a mistaken or duplicate request out", { implies: ["workflows.read"] }],
  ["workflows.reopen", "senior", "Reopen requests", "Open a denied, withdrawn or expired request again", { implies: ["workflows.read"] }],
  ["workflows.decide_escalated", "admin", "Decide escalated requests", "Decide what was escalated", { implies: ["workflows.read"] }],
  ["workflows.override", "owner", "Break the glass", "Decide against a missing approval, with a reason that is audited", danger],
  ["workflows.bulk", "admin", "Decide in bulk", "Decide many requests at once", { implies: ["workflows.read"] }],
  ["workflows.stats", "senior", "Read request statistics", "See numbers about requests"],
  ["callsigns.read", "viewer", "Read callsigns", "See callsigns and pools"],
  ["callsigns.allocate", "moderator", "Allocate callsigns", "Reserve or allocate a callsign", { implies: ["callsigns.read"] }],
  ["callsigns.release", "senior", "Release callsigns", "Take a callsign back", { implies: ["callsigns.read"] }],
  ["callsigns.manage", "senior", "Manage pools", "Change callsign pools", { implies: ["callsigns.read"] }],
  ["callsigns.repair", "admin", "Repair callsigns", "Apply a repair plan to the registry", { danger: true, implies: ["callsigns.read"] }],
  ["roster.read", "viewer", "Read the roster", "See roster entries"],
  ["roster.history", "moderator", "Read roster history", "See what changed in the roster", { implies: ["roster.read"] }],
  ["roster.sync", "moderator", "Synchronise members", "Compare a Discord member with the roster", { implies: ["roster.read"] }],
  ["roster.edit", "senior", "Edit the roster", "Change roster entries", { implies: ["roster.read"] }],
  ["roster.audit", "senior", "Audit the roster", "Run a roster audit", { implies: ["roster.read"] }],
  ["roster.apply_fixes", "admin", "Apply roster fixes", "Apply what a roster audit proposes", { danger: true, implies: ["roster.audit"] }],
] as const satisfies readonly Row<string>[];

/** The key of a permission. One that the catalog does not name does not compile. */
export type PermissionKey = (typeof fixed)[number][0] | `workflows.${WorkflowKind}.${"create" | "decide" | "reverse"}`;

/** A permission as a route names it: `{type}` stands for the kind in the path. */
export type RoutePermission = PermissionKey | `workflows.{type}.${"create" | "decide" | "reverse"}`;

const filedByViewers: ReadonlySet<WorkflowKind> = new Set(["investigation", "poach", "appeal"]);
const decidedByAdmins: ReadonlySet<WorkflowKind> = new Set(["blacklist-server", "server-merge"]);

function ofKind(kind: WorkflowKind): readonly Row[] {
  const key = `workflows.${kind}` as const;
  const read = { implies: ["workflows.read"] } as const;
  return [
    [`${key}.create`, filedByViewers.has(kind) ? "viewer" : "moderator", `File ${kind}`, `File requests of the kind ${kind}`],
    [
      `${key}.decide`,
      decidedByAdmins.has(kind) ? "admin" : "senior",
      `Decide ${kind}`,
      `Vote on and decide requests of the kind ${kind}`,
      read,
    ],
    [`${key}.reverse`, "admin", `Reverse ${kind}`, `Undo approved requests of the kind ${kind}`, { danger: true, ...read }],
  ];
}

/** Pairs that should not be in the same hands: one could be used to hide or to help what the other does. By default only owners hold both. */
const conflicting: readonly (readonly [PermissionKey, PermissionKey])[] = [
  ["clients.manage", "workflows.override"],
  ["permissions.roles.manage", "workflows.override"],
  ["permissions.users.manage", "workflows.override"],
  ["blacklist.purge", "evidence.redact"],
  ["cases.delete", "evidence.redact"],
];

/** The pairs among some permissions that should not be in the same hands. */
export function conflictsAmong(keys: readonly string[]): [PermissionKey, PermissionKey][] {
  const held = new Set(keys);
  return conflicting.flatMap(([one, other]) => (held.has(one) && held.has(other) ? [[one, other] as [PermissionKey, PermissionKey]] : []));
}

/** Groups whose permissions reach beyond any one guild. */
const networkOnly: ReadonlySet<string> = new Set(["system", "clients", "permissions", "staffroles", "audit", "servers", "users"]);

function toEntry([key, level, label, description, more = {}]: Row): CatalogEntry {
  const group = key.slice(0, key.indexOf("."));
  return Object.freeze({
    key,
    group,
    label,
    description,
    default_level: level,
    danger: more.danger ?? false,
    scopes: networkOnly.has(group) ? (["network"] as const) : (["network", "server"] as const),
    implies: more.implies ?? [],
    conflicts: conflicting.flatMap(([one, other]) => (one === key ? [other] : other === key ? [one] : [])).toSorted(),
    since: "1.0.0",
  });
}

/** Every permission there is, ordered by key. */
export const catalog: readonly CatalogEntry[] = [...(fixed satisfies readonly Row[]), ...workflowKinds.flatMap(ofKind)]
  .map(toEntry)
  .toSorted((a, b) => (a.key < b.key ? -1 : 1));

/** The keys of the catalog. */
export const knownPermissions: ReadonlySet<string> = new Set(catalog.map((entry) => entry.key));

/** A permission as a row keeps it. One that this version does not know is held by nobody but owners. */
export function storedPermission(key: string): PermissionKey {
  return key as PermissionKey;
}
