import { rosterAuditSources, rosterAuditEntries } from "./audit/audit.commands.ts";
import type { CommandSet, Entry, FieldSpec, CommandInput, OptionSpec, Wording } from "../../commands/entry.ts";
import type { VerbInput } from "../../commands/verbs.ts";
import { escapeText } from "../../discord/replies.ts";
import type { LineView, RosterStatusView } from "./history/history.schema.ts";
import type { EntryView } from "./roster.schema.ts";
import { picked, textIn } from "../../commands/input.ts";
import { rosterSyncEntries } from "./sync/sync.commands.ts";
import { cut, lineText, momentOf, valueOf } from "../../commands/show.ts";

const command = "roster";
const text = (name: string, max = 100): OptionSpec => ({ name, kind: "text", max });
const time = (name: string): OptionSpec => ({ name, kind: "text" });
/** A time that is never in the future. */
const past = (name: string): OptionSpec => ({ ...time(name), time: { kind: "past" } });
const person: OptionSpec = { name: "user", kind: "user" };
const someone: OptionSpec = { ...person, required: true };
const supervisor: OptionSpec = { name: "supervisor", kind: "user" };
const status: OptionSpec = { name: "status", kind: "text" };
const staffRole: OptionSpec = { name: "staff-role", kind: "text", completes: "staff-role" };
const department: OptionSpec = { name: "department", kind: "text" };
const reason: OptionSpec = { name: "reason", kind: "text" };
const notes: FieldSpec = { name: "notes", kind: "paragraph" };
const why: FieldSpec = { name: "reason", kind: "paragraph" };
const filters = [status, staffRole, department, text("name"), { name: "include-left", kind: "boolean" }] as const satisfies OptionSpec[];

const listed = (given: CommandInput): VerbInput => ({
  query: {
    status: textIn(given, "status"),
    staff_role: textIn(given, "staff-role"),
    department: textIn(given, "department"),
    q: textIn(given, "name"),
    include_left: textIn(given, "include-left"),
  },
});
const facts = (given: CommandInput) => ({
  ...picked(given, "staff-role", "department", "notes", "reason"),
  supervisor_id: textIn(given, "supervisor"),
});

function entryLine(
  { user, status: now, staff_role: role, callsigns, joined_at: since, department: of }: EntryView,
  { t }: Wording,
): string {
  const told = [
    `<@${user.id}>`,
    t(`= ${now}`),
    ...(role === null ? [] : [escapeText(role)]),
    ...(of === null ? [] : [escapeText(of)]),
    ...callsigns.map(({ callsign }) => `**${escapeText(callsign)}**`),
    ...(since === null ? [] : [momentOf(since)]),
  ];
  return told.join(" · ");
}

function historyLine(view: LineView, { t }: Wording): string {
  const { user, event, effective_at: at, callsign, actor, cause_reference: cause, reason: because } = view;
  const told = [
    momentOf(at),
    `<@${user.id}>`,
    `**${t(`= ${event}`)}**`,
    ...(callsign === null ? [] : [escapeText(callsign)]),
    ...(cause === null ? [] : [escapeText(cause)]),
    ...(actor === null ? [] : [t("roster history by", { by: `<@${actor.id}>` })]),
    ...(because === null || because === undefined ? [] : [cut(lineText(because), 100)]),
  ];
  return told.join(" · ");
}

/** How somebody stood on the day that was asked about. */
function standingNote({ standing }: { standing?: RosterStatusView | null }, { t, given }: Wording): string {
  const on = textIn(given, "on");
  if (standing === undefined || on === undefined) return "";
  const user = `<@${textIn(given, "user") ?? ""}>`;
  if (standing === null) return t("roster history nobody", { user, on: momentOf(on) });
  const { status: stood, staff_role: role, department: of, callsigns } = standing;
  const told = [stood === undefined ? undefined : t(`= ${stood}`), role, of, ...callsigns.map(({ callsign }) => callsign)];
  const stand = told.flatMap((fact) => (typeof fact === "string" ? [valueOf(fact)] : [])).join(", ");
  return t("roster history standing", { user, on: momentOf(on), stand });
}

/** `/roster`: who is on it, what happened to them, and whether it is right. */
const rosterEntries: readonly Entry[] = [
  {
    command,
    path: "show",
    operation: "getRosterEntry",
    options: [someone],
    input: (given) => ({ params: { id: textIn(given, "user") ?? "" } }),
  },
  { command, path: "list", operation: "listRoster", options: filters, input: listed, line: entryLine },
  { command, path: "export", operation: "listRoster", options: filters, input: listed, asFiles: true },
  {
    command,
    path: "history",
    operation: "listRosterHistory",
    options: [
      person,
      { name: "callsign", kind: "text", completes: "callsign" },
      { name: "event", kind: "text" },
      time("from"),
      time("to"),
      time("on"),
      time("known-at"),
    ],
    input: (given) => ({
      query: {
        user_id: textIn(given, "user"),
        callsign: textIn(given, "callsign"),
        event: textIn(given, "event"),
        from: textIn(given, "from"),
        to: textIn(given, "to"),
        on: textIn(given, "on"),
        known_at: textIn(given, "known-at"),
      },
    }),
    line: historyLine,
    note: standingNote,
  },
  {
    command,
    path: "add",
    operation: "createRosterEntry",
    options: [someone, staffRole, department, supervisor, { name: "trial-days", kind: "integer" }, past("since"), reason],
    form: [{ ...why, required: true }, notes],
    input: (given) => ({
      body: { ...facts(given), ...picked(given, "trial-days"), user_id: textIn(given, "user"), joined_at: textIn(given, "since") },
    }),
  },
  {
    command,
    path: "edit",
    operation: "updateRosterEntry",
    options: [
      someone,
      status,
      staffRole,
      department,
      supervisor,
      time("trial-ends"),
      time("suspended-until"),
      past("effective"),
      { name: "correction", kind: "boolean" },
      reason,
    ],
    form: [why, notes],
    input: (given) => ({
      params: { id: textIn(given, "user") ?? "" },
      body: {
        ...facts(given),
        ...picked(given, "status", "correction"),
        trial_ends_at: textIn(given, "trial-ends"),
        suspended_until: textIn(given, "suspended-until"),
        effective_at: textIn(given, "effective"),
      },
    }),
  },
  ...rosterSyncEntries,
  ...rosterAuditEntries,
];

/** What Discord offers of the roster. */
export const rosterCommands: CommandSet = { entries: rosterEntries, sources: rosterAuditSources };
