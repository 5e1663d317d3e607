import { staffRoleEntries } from "./roles/roles.commands.ts";
import type { CommandSet, Entry, FieldSpec, CommandInput, OptionSpec, PickSpec } from "../../commands/entry.ts";
import { permissionName } from "../../discord/sentence.ts";
import { keyed } from "../../commands/sources.ts";
import type { VerbInput } from "../../commands/verbs.ts";
import type { AccessView, StaffEntryView } from "./staff.schema.ts";
import { mentionOf } from "../../commands/show.ts";
import { picked, textIn, endOf } from "../../commands/input.ts";
import { readVisible } from "../../commands/records.ts";
import { accessText, entryLine, leaveStateText, profileText, quietHoursText, suspensionText } from "./commands/replies.ts";
import type { Call } from "../../kernel/call.ts";

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
