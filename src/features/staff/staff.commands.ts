import { staffRoleEntries } from "./roles/roles.commands.ts";
import type { CommandSet, Entry, FieldSpec, CommandInput, OptionSpec, PickSpec } from "../../commands/entry.ts";
import { permissionName, permissionText } from "../../discord/sentence.ts";
import { keyed } from "../../commands/sources.ts";
import type { VerbInput } from "../../commands/verbs.ts";
import type { AccessView, StaffEntryView } from "./staff.schema.ts";
import { mentionOf, momentOf, enumLabel } from "../../commands/show.ts";
import { picked, textIn, endOf } from "../../commands/input.ts";
import { readVisible } from "../../commands/records.ts";
import type { Call } from "../../kernel/call.ts";
import { textFor, type Translate } from "../../kit/say.ts";
import { escapeText } from "../../discord/replies.ts";
import type { LeaveStateView, SuspensionStateView } from "./duty/duty.schema.ts";
import type { ActivityView, DisciplineView, LeaveView, ProfileView, RoleChangeView } from "./profile/profile.schema.ts";
import type { QuietHours } from "./quiet-hours.ts";
import { lengthText } from "../../commands/length-text.ts";

/** What somebody may do here, and why. */
function accessText(view: AccessView, t: Translate): string {
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
function profileText(view: ProfileView, t: Translate): string {
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
function entryLine({ user, level, status, available }: StaffEntryView, t: Translate): string {
  const note = status === "active" && !available ? ` ${t("staff not-available")}` : "";
  return `<@${user.id}> · ${enumLabel(level, t)} · ${enumLabel(status, t)}${note}`;
}

/** API keys that an answer names; the others are counted. */
const maxKeys = 10;

function suspensionText({ user_id: id, status, suspension, keys }: SuspensionStateView, t: Translate): string {
  const user = `<@${id}>`;
  if (suspension === null) return t("staff reinstated", { user, status: enumLabel(status, t) });
  const told = t("staff suspended", { user, until: untilText(suspension.until, t), reason: escapeText(suspension.reason) });
  if (keys.length === 0) return told;
  const shown = keys.slice(0, maxKeys).map((key) => `\`${key}\``);
  const more = keys.length > maxKeys ? [t("say more", { count: keys.length - maxKeys })] : [];
  return `${told}\n${t("staff keys", { keys: [...shown, ...more].join(" ") })}`;
}

function leaveStateText({ user_id: id, status, leave }: LeaveStateView, t: Translate): string {
  const filled = { user: `<@${id}>`, status: enumLabel(status, t) };
  return leave === null ? t("staff leave none", filled) : t("staff leave", { ...filled, leave: leaveText(leave, t) });
}

function quietHoursText({ user, timezone, quiet_hours: quiet = [] }: ProfileView, t: Translate): string {
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

const command = "staff";
const person: OptionSpec = { name: "user", kind: "user", required: true };
const personOrSelf: OptionSpec = { name: "user", kind: "user" };
const until: OptionSpec = { name: "until", kind: "text" };
const reason: OptionSpec = { name: "reason", kind: "text" };
const whyForm: readonly FieldSpec[] = [{ name: "reason", kind: "paragraph", required: true }];
const timezone: OptionSpec = { name: "timezone", kind: "text" };
/** Permissions that a question names; the others are counted. */
const maxNamed = 20;

const about = (given: CommandInput, call: Call) => ({ discord_user_id: textIn(given, "user") ?? call.actor?.id ?? "" });

const opensProfile: PickSpec = {
  press: { name: "sp", carries: [personOrSelf] },
  placeholder: "staff pick",
  of: ({ user }: StaffEntryView) => ({ value: user.id, label: user.display_name ?? user.username_snapshot ?? user.id }),
};

const readers: readonly Entry[] = [
  {
    command,
    path: "profile",
    operation: "getStaffProfile",
    options: [personOrSelf],
    input: (given, call) => ({ params: about(given, call) }),
    show: (view, { t }) => ({ content: profileText(view, t) }),
    press: opensProfile.press,
  },
  {
    command,
    path: "list",
    operation: "listStaff",
    options: [
      { name: "role", kind: "text", completes: "staff-role", max: 50 },
      { name: "status", kind: "text" },
      { name: "available", kind: "boolean" },
      { name: "department", kind: "text" },
      { name: "name", kind: "text", max: 100 },
    ],
    input: (given) => ({ query: { ...picked(given, "role", "status", "available", "department"), q: textIn(given, "name") } }),
    line: (view, { t }) => entryLine(view, t),
    picks: [opensProfile],
  },
  {
    command,
    path: "access",
    operation: "getStaffAccess",
    options: [person, { name: "permission", kind: "text", completes: "permission", max: 100 }],
    input: (given, call) => ({ params: about(given, call), query: picked(given, "permission") as never }),
    show: (view, { t }) => ({ content: accessText(view, t) }),
  },
];

const suspension = (given: CommandInput, call: Call): VerbInput => ({
  params: about(given, call),
  body: { ...picked(given, "reason"), ...endOf(given) },
});

const suspensions: readonly Entry[] = [
  {
    command,
    path: "suspend",
    operation: "suspendStaff",
    options: [person, reason, until],
    form: whyForm,
    input: suspension,
    async asks({ t, call, given }, verbs) {
      const question = t("staff suspend ask", { user: mentionOf(textIn(given, "user") ?? "") });
      const access = await readVisible<AccessView>(verbs, "getStaffAccess", call, { params: about(given, call) });
      if (access === undefined) return question;
      const { permissions } = access;
      const shown = permissions.slice(0, maxNamed).map((key) => permissionName(key, t));
      const more = permissions.length > maxNamed ? [t("say more", { count: permissions.length - maxNamed })] : [];
      return [question, accessText(access, t), [...shown, ...more].join(", ")].join("\n");
    },
    show: (view, { t }) => ({ content: suspensionText(view, t) }),
  },
  {
    command,
    path: "reinstate",
    operation: "reinstateStaff",
    options: [person, reason],
    form: whyForm,
    input: (given, call) => ({ params: about(given, call), body: picked(given, "reason") }),
    show: (view, { t }) => ({ content: suspensionText(view, t) }),
  },
];

const leaves: readonly Entry[] = [
  {
    command,
    path: "loa start",
    operation: "startStaffLeave",
    options: [reason, until, { name: "from", kind: "text" }, personOrSelf],
    form: whyForm,
    input: (given, call) => ({
      params: about(given, call),
      body: { ...picked(given, "reason"), from: textIn(given, "from"), ...endOf(given) },
    }),
    show: (view, { t }) => ({ content: leaveStateText(view, t) }),
  },
  {
    command,
    path: "loa end",
    operation: "endStaffLeave",
    options: [reason, personOrSelf],
    input: (given, call) => ({ params: about(given, call), body: picked(given, "reason") }),
    show: (view, { t }) => ({ content: leaveStateText(view, t) }),
  },
];

const times: readonly OptionSpec[] = [
  { name: "from", kind: "text", max: 5 },
  { name: "to", kind: "text", max: 5 },
  { name: "days", kind: "text", max: 20 },
];

const profiles: readonly Entry[] = [
  {
    command,
    path: "quiet-hours",
    operation: "updateStaffProfile",
    options: [...times, timezone, { name: "none", kind: "boolean" }, personOrSelf],
    input: (given, call) => ({ params: about(given, call), body: { ...picked(given, "timezone"), quiet_hours: quietHoursIn(given) } }),
    show: (view, { t }) => ({ content: quietHoursText(view, t) }),
  },
  {
    command,
    path: "edit",
    operation: "updateStaffProfile",
    options: [{ name: "department", kind: "text" }, timezone, { name: "availability", kind: "text" }, personOrSelf],
    input: (given, call) => ({ params: about(given, call), body: picked(given, "department", "timezone", "availability") }),
    show: (view, { t }) => ({ content: profileText(view, t) }),
  },
];

/** `/staff`: who is staff here, and what they may do. */
const staffEntries: readonly Entry[] = [...readers, ...suspensions, ...leaves, ...profiles];

/** What is missing or no time is left for the service method to refuse. */
function quietHoursIn(given: CommandInput): object[] | null {
  if (given.values["none"] === true) return null;
  const days = textIn(given, "days");
  const on =
    days === undefined
      ? {}
      : {
          days: days
            .split(/[\s,]+/)
            .filter((day) => day !== "")
            .map(Number),
        };
  return [{ ...on, from: textIn(given, "from") ?? "", to: textIn(given, "to") ?? "" }];
}

/** What Discord offers of the staff and of the roles that make it. */
export const staffCommands: CommandSet = {
  entries: [...staffEntries, ...staffRoleEntries],
  sources: { "staff-role": keyed("listStaffRoles") },
};
