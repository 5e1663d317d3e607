import { textFor, type Say } from "../../../commands/texts.ts";
import { escapeText } from "../../../discord/replies.ts";
import type { LeaveStateView, SuspensionStateView } from "../duty/duty.schema.ts";
import type { ActivityView, DisciplineView, LeaveView, ProfileView } from "../profile/profile.schema.ts";
import type { QuietHours } from "../quiet-hours.ts";
import type { AccessView, StaffEntryView } from "../staff.schema.ts";
import { momentOf, named } from "../../../commands/show.ts";

/** What somebody may do here, and why. */
export function accessText(view: AccessView, say: Say): string {
  const reasons = view.reasons.map(({ code, source }) => {
    const key = code === "not_member" && source !== "guild" ? "not_member-role" : code;
    return `• ${say(`staff because ${key}`, { source: escapeText(source) })}`;
  });
  const isUnknown = view.reasons.some(({ code }) => code === "unknown");
  const decisions = (view.decisions ?? []).map(({ permission, allowed }) => `${allowed ? "✓" : "✗"} \`${permission}\``);
  return [
    say(view.allowed ? "staff access yes" : "staff access no", { user: `<@${view.user_id}>` }),
    say("staff access line", {
      level: named(say, view.level),
      status: view.status === null ? say(isUnknown ? "staff unknown" : "staff never") : named(say, view.status),
      count: view.permissions.length,
    }),
    ...decisions,
    ...new Set(reasons),
    ...(view.expires_at === null ? [] : [say("staff access ends", { at: momentOf(view.expires_at) })]),
    ...(view.stale === true && typeof view.as_of === "string" ? [say("staff access stale")] : []),
  ].join("\n");
}

/** Who a staff member is, as far as the caller may see it. */
export function profileText(view: ProfileView, say: Say): string {
  const { user, staff_roles: roles, quiet_hours: quiet = [], leave } = view;
  const none = say("say none");
  return [
    `<@${user.id}> ${escapeText(user.display_name ?? user.username_snapshot ?? "")}`.trimEnd(),
    say("staff profile line", {
      level: named(say, view.level),
      rank: view.rank,
      status: named(say, view.status),
      availability: named(say, view.availability),
    }),
    say("staff profile roles", { roles: roles.length === 0 ? none : roles.map(({ name }) => escapeText(name)).join(", ") }),
    say("staff profile place", {
      department: view.department === null ? none : escapeText(view.department),
      timezone: view.timezone === null ? none : escapeText(view.timezone),
    }),
    ...(quiet.length === 0 ? [] : [say("staff profile quiet", { quiet: quiet.map((one) => quietText(one, say)).join("; ") })]),
    ...(leave === null ? [] : [say("staff profile leave", { leave: leaveText(leave, say) })]),
    ...(view.activity === undefined ? [] : [activityText(view.activity, say)]),
    ...(view.discipline === undefined ? [] : disciplineLines(view.discipline, say)),
  ].join("\n");
}

function activityText(activity: ActivityView, say: Say): string {
  const { median_decision_seconds: median } = activity;
  return say("staff activity", {
    filed: activity.requests_filed.last_30_days,
    decided: activity.requests_decided.last_30_days,
    pace: median === null ? "" : say("staff activity pace", { minutes: Math.round(median / 60) }),
    overdue: activity.open_overdue,
  });
}

function disciplineLines({ suspension, punishments }: DisciplineView, say: Say): string[] {
  const shown = punishments
    .slice(0, 10)
    .map(({ reference, action, points }) =>
      say("staff punishment", { reference: escapeText(reference), action: named(say, action), points }),
    );
  if (punishments.length > shown.length) shown.push(say("staff punishments more", { count: punishments.length - shown.length }));
  if (suspension === null) return shown;
  return [say("staff discipline", { reason: escapeText(suspension.reason), until: untilText(suspension.until, say) }), ...shown];
}

/** A colleague as a line of a list. */
export function entryLine({ user, level, status, available }: StaffEntryView, say: Say): string {
  const note = status === "active" && !available ? ` ${say("staff not-available")}` : "";
  return `<@${user.id}> · ${named(say, level)} · ${named(say, status)}${note}`;
}

export function suspensionText({ user_id: id, status, suspension }: SuspensionStateView, say: Say): string {
  const user = `<@${id}>`;
  if (suspension === null) return say("staff reinstated", { user, status: named(say, status) });
  return say("staff suspended", { user, until: untilText(suspension.until, say), reason: escapeText(suspension.reason) });
}

export function leaveStateText({ user_id: id, status, leave }: LeaveStateView, say: Say): string {
  const filled = { user: `<@${id}>`, status: named(say, status) };
  return leave === null ? say("staff leave none", filled) : say("staff leave", { ...filled, leave: leaveText(leave, say) });
}

export function quietHoursText({ user, timezone, quiet_hours: quiet = [] }: ProfileView, say: Say): string {
  if (quiet.length === 0) return say("staff quiet none", { user: `<@${user.id}>` });
  const zone = timezone === null ? "UTC" : escapeText(timezone);
  return say("staff quiet", { user: `<@${user.id}>`, quiet: quiet.map((one) => quietText(one, say)).join("; "), zone });
}

function quietText({ days: on, from, to }: QuietHours, say: Say): string {
  const days =
    on === undefined ? "" : ` ${say("staff quiet on", { days: on.map((day) => textFor(`day ${day.toString()}`, say) ?? day).join(", ") })}`;
  return `${from}–${to}${days}`;
}

function leaveText({ from, until, reason }: LeaveView, say: Say): string {
  const why = typeof reason === "string" ? `: ${escapeText(reason)}` : "";
  return `${say("say from", { at: momentOf(from) })}${untilText(until, say)}${why}`;
}

function untilText(until: string | null, say: Say): string {
  return until === null ? "" : ` ${say("say until", { at: momentOf(until) })}`;
}
