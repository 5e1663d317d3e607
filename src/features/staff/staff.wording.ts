import { escapeText } from "../../discord/replies.ts";
import type { Page } from "../../kernel/page.ts";
import type { LeaveStateView, SuspensionStateView } from "./staff.duty.schema.ts";
import type { ActivityView, DisciplineView, LeaveView, ProfileView } from "./staff.profile.schema.ts";
import type { QuietHours } from "./staff.quiet-hours.ts";
import type { AccessView, StaffEntryView } from "./staff.schema.ts";

const days = ["Sun", "Mon", "Tue", "Wed", "Thu", "Fri", "Sat"];

const reasons: Readonly<Record<AccessView["reasons"][number]["code"], (source: string) => string>> = {
  owner: () => "is an owner",
  role_mapping: (source) => `holds a Discord role that stands for the staff role **${escapeText(source)}**`,
  user_allow: (source) => `was given ${escapeText(source)} personally`,
  user_deny: (source) => `was denied ${escapeText(source)} personally`,
  suspension: () => "is suspended",
  blacklist: () => "is blacklisted",
  not_member: (source) => (source === "guild" ? "is not a member of a guild of this community" : "is a member without a staff role"),
  loa_policy: () => "is on leave",
};

export function accessText(view: AccessView): string {
  const lines = [
    `<@${view.user_id}> ${view.allowed ? "**has access**" : "**has no access**"}`,
    `Level: ${view.level} · status: ${view.status ?? "never was staff"} · ${view.permissions.length.toString()} permissions`,
    ...new Set(view.reasons.map(({ code, source }) => `• ${reasons[code](source)}`)),
  ];
  if (view.expires_at !== null) lines.push(`A temporary entry ends ${timeText(view.expires_at)}.`);
  if (view.stale === true) lines.push("-# Discord cannot be reached; this is the last known state.");
  return lines.join("\n");
}

export function profileText(view: ProfileView): string {
  const { user, level, rank, status, staff_roles: roles, department, timezone, availability, leave, quiet_hours: quiet } = view;
  const lines = [
    `<@${user.id}> ${escapeText(user.display_name ?? user.username_snapshot ?? "")}`.trimEnd(),
    `Level: ${level} · rank ${rank.toString()} · status: ${status} · ${availability}`,
    `Staff roles: ${roles.length === 0 ? "none" : roles.map(({ name }) => escapeText(name)).join(", ")}`,
    `Department: ${department === null ? "none" : escapeText(department)} · time zone: ${timezone === null ? "none" : escapeText(timezone)}`,
  ];
  if (quiet !== undefined && quiet.length > 0) lines.push(`Quiet hours: ${quiet.map(quietText).join("; ")}`);
  if (leave !== null) lines.push(`Leave: ${leaveText(leave)}`);
  if (view.activity !== undefined) lines.push(activityText(view.activity));
  if (view.discipline !== undefined) lines.push(...disciplineLines(view.discipline));
  return lines.join("\n");
}

function activityText({
  requests_filed: filed,
  requests_decided: decided,
  median_decision_seconds: median,
  open_overdue: overdue,
}: ActivityView): string {
  const pace = median === null ? "" : ` · median ${Math.round(median / 60).toString()} min`;
  return `30 days: ${filed.last_30_days.toString()} filed · ${decided.last_30_days.toString()} decided${pace} · ${overdue.toString()} overdue`;
}

function disciplineLines({ suspension, punishments }: DisciplineView): string[] {
  const shown = punishments.slice(0, 10).map(({ reference, action, points }) => `• ${reference}: ${action}, ${points.toString()} points`);
  if (punishments.length > shown.length) shown.push(`• and ${(punishments.length - shown.length).toString()} more`);
  return [...(suspension === null ? [] : [`Suspended: ${escapeText(suspension.reason)}${untilText(suspension.until)}`]), ...shown];
}

export function listText({ data }: Page<StaffEntryView>, total: number, page: number, pages: number): string {
  if (data.length === 0) return total === 0 ? "Nobody." : `There is no page ${page.toString()}; the last one is ${pages.toString()}.`;
  const lines = data.map(
    ({ user, level, status, available }) =>
      `<@${user.id}> · ${level} · ${status}${status === "active" && !available ? " (not available)" : ""}`,
  );
  return [...lines, `-# Page ${page.toString()} of ${pages.toString()} · ${total.toString()} in all`].join("\n");
}

export function suspensionText({ user_id: id, status, suspension }: SuspensionStateView): string {
  if (suspension === null) return `<@${id}> is not suspended any more; status: ${status}.`;
  return `<@${id}> is **suspended**${untilText(suspension.until)}: ${escapeText(suspension.reason)}`;
}

export function leaveStateText({ user_id: id, status, leave }: LeaveStateView): string {
  return leave === null ? `<@${id}> is not on leave; status: ${status}.` : `<@${id}> · leave ${leaveText(leave)}; status: ${status}.`;
}

export function quietHoursText({ user, timezone, quiet_hours: quiet = [] }: ProfileView): string {
  const zone = timezone === null ? "UTC" : escapeText(timezone);
  return `<@${user.id}> ${quiet.length === 0 ? "has no quiet hours." : `has quiet hours: ${quiet.map(quietText).join("; ")} (${zone}).`}`;
}

function quietText({ days: on, from, to }: QuietHours): string {
  return `${from}–${to}${on === undefined ? "" : ` on ${on.map((day) => days[day]).join(", ")}`}`;
}

function leaveText({ from, until, reason }: LeaveView): string {
  return `from ${timeText(from)}${untilText(until)}${typeof reason === "string" ? `: ${escapeText(reason)}` : ""}`;
}

function untilText(until: string | null): string {
  return until === null ? "" : ` until ${timeText(until)}`;
}

/** A time as Discord shows it to each reader in their own zone. */
function timeText(at: string): string {
  return `<t:${Math.floor(Date.parse(at) / 1000).toString()}:f>`;
}
