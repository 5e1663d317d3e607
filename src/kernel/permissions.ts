import { inEnglish } from "../kit/say.ts";
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
  description: string,
  more?: { danger?: true; implies?: readonly Key[] },
];
const danger = { danger: true } as const;

const fixed = [
  ["system.health.read", "viewer", "See ages, reasons and the build in the health answer, and the metrics"],
  ["system.act", "none", "Lets an API key write without naming a staff member; never held by a person", danger],
  ["system.settings.read", "admin", "See the settings of this installation"],
  ["system.settings.manage", "owner", "Change the settings of this installation", { danger: true, implies: ["system.settings.read"] }],
  ["system.webhooks.manage", "owner", "Have addresses told of events, and change and stop that", danger],
  ["clients.manage", "owner", "Create and revoke API keys", danger],
  ["authorize.create", "moderator", "Ask a user to grant access to their server list"],
  ["authorize.revoke", "senior", "End a grant or an open session of a user"],
  ["users.authorization.read", "viewer", "See whether a user has granted access"],
  ["users.servers.read", "moderator", "See the server information a user has approved"],
  ["users.servers.read_unlisted_count", "senior", "See how many servers of a user are not listed", { implies: ["users.servers.read"] }],
  ["users.matches.read", "moderator", "See intelligence matches of a user"],
  ["users.matches.resolve", "senior", "Confirm, dismiss or exempt a match", { implies: ["users.matches.read"] }],
  ["users.refresh", "moderator", "Read a user's authorized information again"],
  ["users.refresh.force", "admin", "Refresh a user without waiting for the cool-down", { implies: ["users.refresh"] }],
  ["users.links.read", "moderator", "See which accounts belong to one person"],
  ["users.links.manage", "senior", "Link and unlink accounts", { implies: ["users.links.read"] }],
  ["users.export", "admin", "Download what is stored about a user"],
  ["users.redact", "owner", "Erase what is stored about a user", danger],
  ["servers.read", "viewer", "See the server registry"],
  ["servers.manage", "senior", "Change the server registry", { implies: ["servers.read"] }],
  ["staff.read", "viewer", "See who is staff"],
  ["staff.access.read", "viewer", "See what a staff member may do; everybody sees their own"],
  ["staff.profile.read", "viewer", "See the profile of a staff member"],
  ["staff.stats", "senior", "See the activity of a staff member", { implies: ["staff.profile.read"] }],
  ["staff.discipline", "senior", "See strikes and cases of a staff member", { implies: ["staff.profile.read"] }],
  ["staff.manage", "senior", "Change department, time zone and leave of a staff member", { implies: ["staff.profile.read"] }],
  ["staff.suspend", "admin", "Take every permission of a staff member away at once", danger],
  ["staffroles.read", "viewer", "See which Discord roles stand for which staff roles"],
  [
    "staffroles.manage",
    "admin",
    "Change staff roles and the Discord roles that stand for them",
    { danger: true, implies: ["staffroles.read"] },
  ],
  ["permissions.read", "viewer", "See the catalog and what each staff role holds"],
  ["permissions.explain", "moderator", "See which rule decides a permission", { implies: ["permissions.read"] }],
  ["permissions.roles.manage", "admin", "Change what a staff role holds", { danger: true, implies: ["permissions.read"] }],
  ["permissions.users.manage", "admin", "Change what one person holds", { danger: true, implies: ["permissions.read"] }],
  ["blacklist.read", "moderator", "See blacklist records"],
  ["blacklist.read_confidential", "senior", "See internal reasons and confidential evidence", { implies: ["blacklist.read"] }],
  ["blacklist.check", "viewer", "Ask whether users or servers are listed"],
  ["blacklist.create", "admin", "Blacklist without a request", { danger: true, implies: ["blacklist.read"] }],
  ["blacklist.update", "senior", "Change a blacklist record", { implies: ["blacklist.read"] }],
  ["blacklist.revoke", "admin", "End a blacklist record", { danger: true, implies: ["blacklist.read"] }],
  ["blacklist.purge", "owner", "Erase a blacklist record for good", danger],
  ["blacklist.import", "admin", "Add blacklist records in bulk", danger],
  ["blacklist.export", "senior", "Download blacklist records in bulk", { implies: ["blacklist.read"] }],
  ["lists.read", "moderator", "See the lists of others that are followed, and what they say"],
  ["lists.manage", "admin", "Follow lists of others, change and stop that", { danger: true, implies: ["lists.read"] }],
  ["cases.read", "moderator", "See cases one opened or is assigned to"],
  ["cases.read_all", "senior", "See every case that is not confidential", { implies: ["cases.read"] }],
  ["cases.confidential", "admin", "See confidential cases", { implies: ["cases.read"] }],
  ["cases.create", "moderator", "Open a case"],
  ["cases.update", "moderator", "Change a case", { implies: ["cases.read"] }],
  ["cases.note", "moderator", "Add notes to a case", { implies: ["cases.read"] }],
  ["cases.close", "senior", "Close a case with an outcome", { implies: ["cases.read"] }],
  ["cases.reopen", "senior", "Open a closed case again", { implies: ["cases.read"] }],
  ["cases.delete", "owner", "Move a case to the bin", danger],
  ["evidence.add", "moderator", "Store files and captured messages"],
  ["evidence.read", "moderator", "Open stored evidence"],
  ["evidence.redact", "admin", "Remove the content of stored evidence", danger],
  ["audit.read", "senior", "See what was done by whom"],
  ["audit.read_own", "viewer", "See what one did oneself"],
  ["audit.export", "admin", "Download audit entries in bulk", { implies: ["audit.read"] }],
  ["audit.see_redactions", "admin", "See the names of fields an answer leaves out"],
  ["workflows.read", "moderator", "See one's own requests and the queues one may work on"],
  ["workflows.read_all", "senior", "See every request", { implies: ["workflows.read"] }],
  ["workflows.review", "moderator", "Ask for information, escalate, comment", { implies: ["workflows.read"] }],
  ["workflows.claim", "moderator", "Take a request to work on", { implies: ["workflows.read"] }],
  ["workflows.assign", "senior", "Give a request to a named person", { implies: ["workflows.read"] }],
  ["workflows.hold", "moderator", "Stop a decision for the moment", { implies: ["workflows.read"] }],
  ["workflows.edit_any", "senior", "Change the content of other people's requests", { implies: ["workflows.read_all"] }],
  ["workflows.void", "senior", "Take a mistaken or duplicate request out", { implies: ["workflows.read"] }],
  ["workflows.reopen", "senior", "Open a denied, withdrawn or expired request again", { implies: ["workflows.read"] }],
  ["workflows.decide_escalated", "admin", "Decide what was escalated", { implies: ["workflows.read"] }],
  ["workflows.override", "owner", "Decide against a missing approval, with a reason that is audited", danger],
  ["workflows.bulk", "admin", "Decide many requests at once", { implies: ["workflows.read"] }],
  ["workflows.stats", "senior", "See numbers about requests"],
  ["callsigns.read", "viewer", "See callsigns and pools"],
  ["callsigns.allocate", "moderator", "Reserve or allocate a callsign", { implies: ["callsigns.read"] }],
  ["callsigns.release", "senior", "Take a callsign back", { implies: ["callsigns.read"] }],
  ["callsigns.manage", "senior", "Change callsign pools", { implies: ["callsigns.read"] }],
  ["callsigns.repair", "admin", "Apply a repair plan to the registry", { danger: true, implies: ["callsigns.read"] }],
  ["roster.read", "viewer", "See roster entries"],
  ["roster.history", "moderator", "See what changed in the roster", { implies: ["roster.read"] }],
  ["roster.sync", "moderator", "Compare a Discord member with the roster", { implies: ["roster.read"] }],
  ["roster.edit", "senior", "Change roster entries", { implies: ["roster.read"] }],
  ["roster.audit", "senior", "Run a roster audit", { implies: ["roster.read"] }],
  ["roster.apply_fixes", "admin", "Apply what a roster audit proposes", { danger: true, implies: ["roster.audit"] }],
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
    [`${key}.create`, filedByViewers.has(kind) ? "viewer" : "moderator", `File requests of the kind ${kind}`],
    [`${key}.decide`, decidedByAdmins.has(kind) ? "admin" : "senior", `Vote on and decide requests of the kind ${kind}`, read],
    [`${key}.reverse`, "admin", `Undo approved requests of the kind ${kind}`, { danger: true, ...read }],
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

function toEntry([key, level, description, more = {}]: Row): CatalogEntry {
  const group = key.slice(0, key.indexOf("."));
  return Object.freeze({
    key,
    group,
    label: inEnglish(`permission ${key}`),
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
