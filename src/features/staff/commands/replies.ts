import { textFor, type Translate } from "../../../kit/say.ts";
import { escapeText } from "../../../discord/replies.ts";
import { permissionText } from "../../../discord/sentence.ts";
import type { LeaveStateView, SuspensionStateView } from "../duty/duty.schema.ts";
import type { ActivityView, DisciplineView, LeaveView, ProfileView, RoleChangeView } from "../profile/profile.schema.ts";
import type { QuietHours } from "../quiet-hours.ts";
import type { AccessView, StaffEntryView } from "../staff.schema.ts";
import { momentOf, enumLabel } from "../../../commands/show.ts";
import { lengthText } from "../../../commands/length-text.ts";

/** What somebody may do here, and why. */
export function accessText(view: AccessView, t: Translate): string {
  const reasons = view.reasons.map(({ code, source }) => {
    const key = code === "not_member" && source !== "guild" ? (source === "bot" ? "not_member-bot" : "not_member-role") : code;
    return `• ${t(`staff because ${key}`, { source: permissionText(source, t) ?? escapeText(source) })}`;
  });
  const isUnknown = view.reasons.some(({ code }) => code === "unknown");
  const decisions = (view.decisions ?? []).map(({ permission, allowed }) => {
    return `${allowed ? "✓" : "✗"} ${permissionText(permission, t) ?? `\`${permission}\``}`;
  });
  return [
    t(view.allowed ? "staff access yes" : "staff access no", { user: `<@${view.user_id}>` }),
    t("staff access line", {
      level: enumLabel(view.level, t),
      status: view.status === null ? t(isUnknown ? "staff unknown" : "staff never") : enumLabel(view.status, t),
      count: view.permissions.length,
    }),
    ...decisions,
    ...new Set(reasons),
    ...(view.expires_at === null ? [] : [t("staff access ends", { at: momentOf(view.expires_at) })]),
    ...(view.stale === true && typeof view.as_of === "string" ? [t("staff access stale")] : []),
  ].join("\n");
}

/** Who a staff member is, as far as the caller may see it. */
export function profileText(view: ProfileView, t: Translate): string {
  const { user, staff_roles: roles, quiet_hours: quiet = [], leave, roster, callsigns = [], role_history: changes = [] } = view;
  const none = t("say none");
  return [
    `<@${user.id}> ${escapeText(user.display_name ?? user.username_snapshot ?? "")}`.trimEnd(),
    t("staff profile line", {
      level: enumLabel(view.level, t),
      rank: view.rank,
      status: enumLabel(view.status, t),
      availability: enumLabel(view.availability, t),
    }),
    t("staff profile roles", { roles: roles.length === 0 ? none : roles.map(({ name }) => escapeText(name)).join(", ") }),
    t("staff profile place", {
      department: view.department === null ? none : escapeText(view.department),
      timezone: view.timezone === null ? none : escapeText(view.timezone),
    }),
    ...(callsigns.length === 0 ? [] : [t("staff profile callsigns", { callsigns: callsigns.map(escapeText).join(", ") })]),
    ...(roster?.status !== "trial" || roster.trial_ends_at === null
      ? []
      : [t("staff profile trial", { at: momentOf(roster.trial_ends_at) })]),
    ...(changes.length === 0
      ? []
      : [
          t("staff profile history", {
            changes: changes
              .slice(0, 5)
              .map((change) => changeText(change, none))
              .join("; "),
          }),
        ]),
    ...(quiet.length === 0 ? [] : [t("staff profile quiet", { quiet: quiet.map((one) => quietText(one, t)).join("; ") })]),
    ...(leave === null ? [] : [t("staff profile leave", { leave: leaveText(leave, t) })]),
    ...(view.activity === undefined ? [] : [activityText(view.activity, t)]),
    ...(view.discipline === undefined ? [] : disciplineLines(view.discipline, t)),
  ].join("\n");
}

function changeText({ from, to, since }: RoleChangeView, none: string): string {
  return `${momentOf(since, "R")} ${escapeText(from ?? none)} → ${escapeText(to ?? none)}`;
}

function activityText(activity: ActivityView, t: Translate): string {
  const { median_decision_seconds: median } = activity;
  return t("staff activity", {
    filed: activity.requests_filed.last_30_days,
    decided: activity.requests_decided.last_30_days,
    pace: median === null ? "" : t("staff activity pace", { length: lengthText(median, t) }),
    overdue: activity.open_overdue,
  });
}

function disciplineLines({ suspension, punishments }: DisciplineView, t: Translate): string[] {
  const shown = punishments
    .slice(0, 10)
    .map(({ reference, action, points }) =>
      t("staff punishment", { reference: escapeText(reference), action: enumLabel(action, t), points }),
    );
  if (punishments.length > shown.length) shown.push(t("staff punishments more", { count: punishments.length - shown.length }));
  if (suspension === null) return shown;
  return [t("staff discipline", { reason: escapeText(suspension.reason), until: untilText(suspension.until, t) }), ...shown];
}

/** A colleague as a line of a list. */
export function entryLine({ user, level, status, available }: StaffEntryView, t: Translate): string {
  const note = status === "active" && !available ? ` ${t("staff not-available")}` : "";
  return `<@${user.id}> · ${enumLabel(level, t)} · ${enumLabel(status, t)}${note}`;
}

/** API keys that an answer names; the others are counted. */
const maxKeys = 10;

export function suspensionText({ user_id: id, status, suspension, keys }: SuspensionStateView, t: Translate): string {
  const user = `<@${id}>`;
  if (suspension === null) return t("staff reinstated", { user, status: enumLabel(status, t) });
  const told = t("staff suspended", { user, until: untilText(suspension.until, t), reason: escapeText(suspension.reason) });
  if (keys.length === 0) return told;
  const shown = keys.slice(0, maxKeys).map((key) => `\`${key}\``);
  const more = keys.length > maxKeys ? [t("say more", { count: keys.length - maxKeys })] : [];
  return `${told}\n${t("staff keys", { keys: [...shown, ...more].join(" ") })}`;
}

export function leaveStateText({ user_id: id, status, leave }: LeaveStateView, t: Translate): string {
  const filled = { user: `<@${id}>`, status: enumLabel(status, t) };
  return leave === null ? t("staff leave none", filled) : t("staff leave", { ...filled, leave: leaveText(leave, t) });
}

export function quietHoursText({ user, timezone, quiet_hours: quiet = [] }: ProfileView, t: Translate): string {
  if (quiet.length === 0) return t("staff quiet none", { user: `<@${user.id}>` });
  const zone = timezone === null ? "UTC" : escapeText(timezone);
  return t("staff quiet", { user: `<@${user.id}>`, quiet: quiet.map((one) => quietText(one, t)).join("; "), zone });
}

function quietText({ days: on, from, to }: QuietHours, t: Translate): string {
  const days =
    on === undefined ? "" : ` ${t("staff quiet on", { days: on.map((day) => textFor(`day ${day.toString()}`, t) ?? day).join(", ") })}`;
  return `${from}–${to}${days}`;
}

function leaveText({ from, until, reason }: LeaveView, t: Translate): string {
  const why = typeof reason === "string" ? `: ${escapeText(reason)}` : "";
  return `${t("say from", { at: momentOf(from) })}${untilText(until, t)}${why}`;
}

function untilText(until: string | null, t: Translate): string {
  return until === null ? "" : ` ${t("say until", { at: momentOf(until) })}`;
}
