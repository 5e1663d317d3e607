import { say } from "../../kit/say.ts";
import { z } from "zod";
import { Snowflake, Timestamp, UserRef, listQuery } from "../../kernel/fields.ts";
import { levels } from "../../kernel/permissions.ts";

export const staffLimits = {
  permissionQuery: 4000,
  search: 100,
  rank: 999_999,
  discordRoles: 100,
  capacity: 100_000,
  name: 80,
  pool: 50,
  department: 80,
  timezone: 64,
  quietHours: 7,
} as const;

export const StaffLevel = z.enum(levels).meta({ id: "StaffLevel", description: "What a person or a staff role stands for, lowest first" });

export const StaffStatus = z.enum(["active", "trial", "loa", "suspended", "former"]).meta({ id: "StaffStatus" });

export const RoleKey = z
  .string()
  .regex(/^[a-z0-9][a-z0-9_-]{0,49}$/, say("permissions.write-1-50-lower-case-letters-digits"))
  .meta({ description: "The key of a staff role", example: "senior-moderator" });

export const ReasonView = z
  .object({
    code: z.enum(["role_mapping", "user_allow", "user_deny", "suspension", "blacklist", "not_member", "unknown", "loa_policy", "owner"]),
    source: z.string().meta({ description: "Where the rule stands: a staff role, `role_allow`, `role_deny`, `default`, `guild`, …" }),
    ref: z.string().nullable().meta({ description: "What the rule belongs to: `guild:role`, a staff role, an override" }),
  })
  .meta({ id: "Reason", description: "One rule that spoke" });

export const AccessQuery = z.object({
  permission: z
    .string()
    .max(staffLimits.permissionQuery)
    .optional()
    .meta({ description: "Permissions to decide, as a comma list", example: "staff.read,cases.read" }),
  guild_id: Snowflake.optional().meta({ description: "Count entries limited to this guild, too, as for a command given there" }),
});
export type AccessQuery = z.infer<typeof AccessQuery>;

export const AccessView = z
  .object({
    user_id: Snowflake,
    guild_id: Snowflake.optional().meta({ description: "The guild asked for" }),
    allowed: z.boolean().meta({ description: "Whether they have access at all; with `permission`, whether they hold every one of them" }),
    level: StaffLevel,
    rank: z.int(),
    staff_roles: z.array(z.string()).meta({ description: "Keys of their staff roles, highest rank first" }),
    permissions: z.array(z.string()).meta({ description: "Every permission they hold, sorted" }),
    denied: z.array(z.string()).meta({ description: "Permissions that a deny entry takes away, sorted; `*` while suspended" }),
    status: StaffStatus.nullable().meta({ description: "null: never was staff here, or nobody knows while Discord cannot be asked" }),
    reasons: z.array(ReasonView).meta({ description: "Why, the deciding reason first" }),
    decisions: z
      .array(z.object({ permission: z.string(), allowed: z.boolean(), reasons: z.array(ReasonView) }))
      .optional()
      .meta({ description: "One decision for each asked permission, in the order asked" }),
    expires_at: Timestamp.nullable().meta({ description: "When a temporary entry ends, so that the answer may change by itself" }),
    stale: z.boolean().optional().meta({
      description: "True while Discord cannot be reached and the last known state answers, or while it could not be asked about them",
    }),
    as_of: Timestamp.nullable().optional().meta({ description: "The time of that state; null when there is none" }),
    evaluated_at: Timestamp,
    max_age_seconds: z.int().meta({ description: "How long a client may rely on the answer" }),
  })
  .meta({ id: "StaffAccess", description: "What somebody may do here, and why" });
export type AccessView = z.infer<typeof AccessView>;

export const StaffEntryView = z
  .object({
    user: UserRef,
    level: StaffLevel,
    rank: z.int(),
    status: StaffStatus,
    staff_roles: z.array(z.string()),
    department: z.string().nullable(),
    timezone: z.string().nullable(),
    available: z
      .boolean()
      .meta({ description: "Whether they can be asked now: active, not unavailable by their own word, not in quiet hours" }),
  })
  .meta({ id: "StaffEntry" });
export type StaffEntryView = z.infer<typeof StaffEntryView>;

export const StaffListQuery = z.object({
  ...listQuery,
  role: RoleKey.optional(),
  level: StaffLevel.optional(),
  department: z.string().max(staffLimits.department).optional(),
  available: z.enum(["true", "false"]).optional().meta({ description: "Whether they can be asked now; never former staff" }),
  status: StaffStatus.optional().meta({ description: "Without it everybody but former staff" }),
  q: z.string().trim().min(1).max(staffLimits.search).optional().meta({ description: "Part of a name, or the start of an id" }),
});
export type StaffListQuery = z.infer<typeof StaffListQuery>;
