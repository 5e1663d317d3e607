import { say } from "../../../kit/say.ts";
import { z } from "zod";
import { Duration, parseDuration, Snowflake, Timestamp, text } from "../../../kernel/fields.ts";
import { addSeconds } from "../../../kernel/clock.ts";
import { LeaveView, SuspensionView } from "../profile/profile.schema.ts";
import { StaffStatus } from "../staff.schema.ts";

export const DutyReason = text(3, 500).meta({ description: "Why; kept in the audit", example: "Away until the exams are over." });

const end = {
  until: Timestamp.nullable().optional().meta({ description: "null or left out: until it is ended" }),
  duration: Duration.nullable().optional().meta({ description: "Instead of until" }),
};
type End = { until?: string | null | undefined; duration?: string | null | undefined };

function checkEnd({ until, duration }: End, context: z.RefinementCtx): void {
  if (until !== undefined && duration !== undefined) {
    context.addIssue({ code: "custom", path: ["duration"], message: say("staff.send-until-or-duration-not-both") });
  }
}

/** @returns the end that was asked for; null: none */
export function endOf({ until, duration }: End, from: Date): Date | null {
  if (typeof duration === "string") return addSeconds(from, parseDuration(duration) ?? 0);
  return typeof until === "string" ? new Date(until) : null;
}

export const SuspendInput = z
  .strictObject({ reason: DutyReason, ...end })
  .superRefine(checkEnd)
  .meta({ id: "SuspendStaffInput" });
export type SuspendInput = z.infer<typeof SuspendInput>;

export const ReinstateInput = z.strictObject({ reason: DutyReason }).meta({ id: "ReinstateStaffInput" });
export type ReinstateInput = z.infer<typeof ReinstateInput>;

export const StartLeaveInput = z
  .strictObject({
    reason: DutyReason,
    from: Timestamp.optional().meta({ description: "Now unless told; at most a year ahead or back" }),
    ...end,
  })
  .superRefine(checkEnd)
  .meta({ id: "StartLeaveInput" });
export type StartLeaveInput = z.infer<typeof StartLeaveInput>;

export const EndLeaveInput = z.strictObject({ reason: DutyReason.optional() }).meta({ id: "EndLeaveInput" });
export type EndLeaveInput = z.infer<typeof EndLeaveInput>;

export const SuspensionStateView = z
  .object({
    user_id: Snowflake,
    status: StaffStatus,
    suspension: SuspensionView.nullable(),
    revision: z.int().positive().meta({ description: "Of what this person is personally allowed and denied" }),
    keys: z.array(z.string()).meta({
      description:
        "Key ids of the API keys in force that this person made: while they are suspended, these do nothing. Rotate those that clients need",
    }),
  })
  .meta({ id: "StaffSuspensionState", description: "Whether somebody is suspended now" });
export type SuspensionStateView = z.infer<typeof SuspensionStateView>;

export const LeaveStateView = z
  .object({
    user_id: Snowflake,
    status: StaffStatus,
    leave: LeaveView.nullable(),
    revision: z.int().positive().meta({ description: "Of the profile" }),
  })
  .meta({ id: "StaffLeaveState", description: "The leave of somebody as it stands now" });
export type LeaveStateView = z.infer<typeof LeaveStateView>;
