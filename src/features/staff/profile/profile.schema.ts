import { say } from "../../../kit/say.ts";
import { z } from "zod";
import { redacted, Snowflake, Timestamp, UserRef, text } from "../../../kernel/fields.ts";
import { isTimeZone } from "../quiet-hours.ts";
import { StaffLevel, staffLimits, StaffStatus } from "../staff.schema.ts";

const ClockTime = z.string().regex(/^([01]\d|2[0-3]):[0-5]\d$/, say("staff.write-a-time-of-day-such-as"));

const QuietHours = z
  .strictObject({
    days: z
      .array(z.int().min(0).max(6))
      .min(1)
      .max(7)
      .optional()
      .meta({ description: "The days on which they begin, 0 is Sunday; without them every day" }),
    from: ClockTime.meta({ example: "22:00" }),
    to: ClockTime.meta({ description: "Not later than `from`: on the next day; the same time is a whole day", example: "07:00" }),
  })
  .meta({ id: "QuietHours", description: "When somebody is not to be asked, by the clock of their time zone (UTC without one)" });
export const Availability = z.enum(["available", "unavailable"]).meta({ id: "StaffAvailability" });

const TimeZone = z
  .string()
  .max(staffLimits.timezone)
  .refine(isTimeZone, { message: say("staff.write-an-iana-time-zone-such-as"), params: { code: "unknown_timezone" } })
  .meta({ description: "An IANA time zone", example: "Europe/Berlin" });

export const UpdateProfileInput = z
  .strictObject({
    department: text(1, staffLimits.department).nullable().optional().meta({ description: "Needs staff.manage and a rank above theirs" }),
    timezone: TimeZone.nullable().optional(),
    quiet_hours: z.array(QuietHours).max(staffLimits.quietHours).nullable().optional().meta({ description: "The whole list; null: none" }),
    availability: Availability.optional(),
  })
  .refine((input) => Object.values(input).some((value) => value !== undefined), {
    message: say("staff.change-at-least-one-thing"),
    params: { code: "required" },
  })
  .meta({ id: "UpdateStaffProfileInput", description: "Fields that are not sent stay" });
export type UpdateProfileInput = z.infer<typeof UpdateProfileInput>;

export const LeaveView = z
  .object({
    from: Timestamp,
    until: Timestamp.nullable().meta({ description: "null: until it is ended" }),
    reason: z.string().nullable().optional(),
  })
  .meta({ id: "StaffLeave", description: "The leave that runs or is planned" });
export type LeaveView = z.infer<typeof LeaveView>;

export const SuspensionView = z
  .object({
    id: z.string(),
    reason: z.string(),
    by: z.string().nullable().meta({ description: "Who suspended; null: the service itself" }),
    at: Timestamp,
    until: Timestamp.nullable().meta({ description: "null: until it is ended" }),
  })
  .meta({ id: "StaffSuspension" });
export type SuspensionView = z.infer<typeof SuspensionView>;

const span = { last_7_days: z.int(), last_30_days: z.int() };
export const ActivityView = z
  .object({
    requests_filed: z.object(span),
    requests_decided: z.object(span).meta({ description: "Requests whose decision was theirs" }),
    votes: z.object(span),
    median_decision_seconds: z
      .int()
      .nullable()
      .meta({ description: "From filing to their decision, over 30 days; null without a decision" }),
    reversal_rate: z
      .number()
      .nullable()
      .meta({ description: "Share of their approvals of 30 days that were reversed; null without an approval" }),
    open_overdue: z.int().meta({ description: "Open requests they have voted on whose time to decide is over" }),
  })
  .meta({ id: "StaffActivity", description: "Numbers about requests. Investigations and confidential requests are in none of them" });
export type ActivityView = z.infer<typeof ActivityView>;

export const DisciplineView = z
  .object({
    suspension: SuspensionView.nullable(),
    punishments: z
      .array(z.object({ reference: z.string(), action: z.string(), points: z.int(), decided_at: Timestamp.nullable() }))
      .meta({ description: "Approved punishments, newest first, at most 50" }),
  })
  .meta({ id: "StaffDiscipline" });
export type DisciplineView = z.infer<typeof DisciplineView>;

const GuildView = z.object({
  guild_id: Snowflake,
  name: z.string().nullable(),
  nick: z.string().nullable(),
  joined_at: Timestamp.nullable(),
  present: z.boolean(),
});

const EmploymentView = z
  .object({
    status: z.string().meta({ example: "trial" }),
    staff_role: z.string().nullable(),
    department: z.string().nullable(),
    supervisor_id: Snowflake.nullable(),
    joined_at: Timestamp.nullable(),
    trial_ends_at: Timestamp.nullable(),
    suspended_until: Timestamp.nullable(),
    ended_at: Timestamp.nullable(),
  })
  .meta({ id: "StaffEmployment", description: "The entry on the roster, in short" });
export type EmploymentView = z.infer<typeof EmploymentView>;

const RoleChangeView = z
  .object({
    event: z.string().meta({ example: "promoted" }),
    from: z.string().nullable(),
    to: z.string().nullable(),
    by: z.string().nullable().meta({ description: "null: the service itself" }),
    since: Timestamp,
  })
  .meta({ id: "StaffRoleChange", description: "A change of the staff role, by the keys of the roles" });
export type RoleChangeView = z.infer<typeof RoleChangeView>;

export const ProfileView = z
  .object({
    user: UserRef,
    level: StaffLevel,
    rank: z.int(),
    status: StaffStatus,
    staff_roles: z.array(z.object({ key: z.string(), name: z.string(), rank: z.int(), level: StaffLevel })),
    department: z.string().nullable(),
    timezone: z.string().nullable(),
    availability: Availability.meta({ description: "As they say themselves; leave and quiet hours come on top" }),
    quiet_hours: z.array(QuietHours).optional().meta({ description: "Only for themselves and holders of staff.profile.read" }),
    leave: LeaveView.nullable(),
    guilds: z.array(GuildView).optional().meta({ description: "Only for holders of staff.profile.read" }),
    roster: EmploymentView.nullable().optional().meta({ description: "Only when the profile is read; null: not on the roster" }),
    callsigns: z.array(z.string()).optional().meta({ description: "Those they have now; only when the profile is read" }),
    role_history: z
      .array(RoleChangeView)
      .optional()
      .meta({ description: "Only for holders of staff.profile.read, and only when the profile is read: newest first, at most 20" }),
    activity: ActivityView.optional().meta({ description: "Only for holders of staff.stats, and only when the profile is read" }),
    discipline: DisciplineView.optional().meta({ description: "Only for holders of staff.discipline, and only when the profile is read" }),
    revision: z.int().nonnegative(),
    redacted,
  })
  .meta({ id: "StaffProfile" });
export type ProfileView = z.infer<typeof ProfileView>;
