import { say, serverId } from "../../../kit/say.ts";
import { can, type Call } from "../../../kernel/call.ts";
import { validationProblem, type FieldError } from "../../../kernel/errors.ts";
import { isoOrNull } from "../../../kernel/fields.ts";
import { createVisibility, noClearance, seesRedactions, type Clearance, type FieldClasses } from "../../../kernel/visibility.ts";
import { onWire } from "../../../kernel/wire.ts";
import { catalog, type CatalogEntry } from "../../../kernel/permissions.ts";
import { entriesAt, suspensionAt, type Edit, type Wanted } from "../overrides.ts";
import { permissionsPolicy, summaryOf } from "../permissions.policy.ts";
import type { UpdateUserPermissionsInput, UserPermissionsView } from "./users.schema.ts";
import { clientOnly } from "../resolve.ts";
import type { Override } from "../access/subject.ts";

const entryFields = { id: "public", expires_at: "public", created_at: "public", reason: "requester", created_by: "staff" } as const;

/** What of somebody's entries is for whom: the person learns why, those who manage entries also who. */
const fields: FieldClasses<UserPermissionsView> = {
  user_id: "public",
  overrides: { ...entryFields, key: "public", effect: "public", scope: "public" },
  suspension: entryFields,
  revision: "public",
};
const visible = createVisibility(fields);

function clearanceFor(call: Call, userId: string): Clearance {
  const manages = can(call, permissionsPolicy.changeUser);
  return { ...noClearance, requester: manages || call.actor?.id === userId, staff: manages };
}

/** The view without what this caller may not see. */
export function visibleUser(call: Call, view: UserPermissionsView): UserPermissionsView {
  return visible(view, clearanceFor(call, view.user_id), seesRedactions(call));
}

/** Everything about a person's entries that count now. What leaves goes through {@link visibleUser}. */
export function presentUser(userId: string, rows: readonly Override[], revision: number, now: Date): UserPermissionsView {
  const suspension = suspensionAt(rows, now);
  const entries = entriesAt(rows, now).toSorted((a, b) => (placeOf(a) < placeOf(b) ? -1 : 1));
  return {
    user_id: userId,
    overrides: entries.map((entry) => ({ ...presentEntry(entry), key: entry.permission, effect: entry.effect, scope: entry.guildId })),
    suspension: suspension === undefined ? null : presentEntry(suspension),
    revision,
  };
}

function presentEntry(entry: Override) {
  return onWire(entry, "id", "reason", "expiresAt", "createdBy", "createdAt");
}

function placeOf({ permission, guildId }: Override): string {
  return `${permission} ${guildId ?? ""}`;
}

/** The wanted entries of a request. */
export function wantedOf({ overrides }: UpdateUserPermissionsInput): Wanted[] {
  return overrides.map(({ key, effect, scope = null, expires_at, reason }) => {
    return { key, effect, guildId: scope, expiresAt: typeof expires_at === "string" ? new Date(expires_at) : null, reason };
  });
}

const known: ReadonlyMap<string, CatalogEntry> = new Map(catalog.map((entry) => [entry.key, entry]));

type Flaw = readonly [isBroken: boolean, field: "key" | "scope" | "expires_at", code: string, detail: string];

/** Everything that is wrong with an entry, by its field; what is cleared may be anything. */
export function flawsOf({ key, effect, guildId, expiresAt }: Wanted, guilds: ReadonlySet<string>, now: Date): Flaw[] {
  if (effect === "clear") return [];
  const entry = known.get(key);
  const rules: readonly Flaw[] = [
    [entry === undefined, "key", "unknown_permission", say("permissions.is-not-a-permission-of-the-catalog", { key })],
    [key === clientOnly, "key", "client_only", say("permissions.api-keys-alone-hold-it-by-their-2")],
    [guildId !== null && !guilds.has(guildId), "scope", "unknown_guild", say("permissions.the-service-does-not-know-this-guild")],
    [
      guildId !== null && entry?.scopes.includes("server") === false,
      "scope",
      "scope_not_offered",
      say("permissions.cannot-be-limited-to-one-guild", { key }),
    ],
    [expiresAt !== null && expiresAt <= now, "expires_at", "invalid_value", say("permissions.it-has-to-end-in-the-future")],
  ];
  return rules.filter(([isBroken]) => isBroken);
}

/** @throws ProblemError validation_failed naming every entry that cannot be */
export function requireOffered(wanted: readonly Wanted[], guilds: ReadonlySet<string>, now: Date): void {
  const errors = wanted.flatMap((one, index) =>
    flawsOf(one, guilds, now).map(([, field, code, detail]): FieldError => {
      return { pointer: `/overrides/${index.toString()}/${field}`, in: "body", code, detail };
    }),
  );
  if (errors.length > 0) throw validationProblem(errors);
}

/** What is done to somebody's entries, in plain words. */
export function userSummary(userId: string, edits: readonly Edit[]): string {
  const keysOf = (effect: Wanted["effect"]): string[] => edits.flatMap(({ wanted }) => (wanted.effect === effect ? [within(wanted)] : []));
  return summaryOf("user", userId, { allow: keysOf("allow"), deny: keysOf("deny"), clear: keysOf("clear") });
}

function within({ key, guildId, expiresAt }: Wanted): string {
  return say("permissions.key-within", {
    key,
    guild: guildId === null ? "none" : serverId(guildId),
    at: expiresAt?.toISOString() ?? "none",
  });
}

/** As the audit keeps entries. */
export function auditOf(entries: readonly Override[]) {
  return entries.map(({ permission, effect, guildId, reason, expiresAt }) => {
    return { key: permission, effect, scope: guildId, reason, expires_at: isoOrNull(expiresAt) };
  });
}
