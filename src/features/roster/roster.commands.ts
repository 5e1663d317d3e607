import { rosterAuditSources, rosterAuditEntries } from "./audit/audit.commands.ts";
import type { CommandSet, Entry, FieldSpec, CommandInput, OptionSpec, PickSpec, Reply, Wording } from "../../commands/entry.ts";
import type { VerbInput } from "../../commands/verbs.ts";
import { escapeText } from "../../discord/replies.ts";
import type { LineView, RosterStatusView } from "./history/history.schema.ts";
import type { EntryView, OneEntryView } from "./roster.schema.ts";
import { picked, textIn } from "../../commands/input.ts";
import { rosterSyncEntries } from "./sync/sync.commands.ts";
import { card, idText } from "../../commands/records.ts";
import { cut, codeText, lineText, mentionOf, momentOf, valueOf } from "../../commands/show.ts";

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
    ...(role === null ? [] : [codeText(role)]),
    ...(of === null ? [] : [escapeText(of)]),
    ...callsigns.map(({ callsign }) => `**${escapeText(callsign)}**`),
    ...(since === null ? [] : [t("roster since", { at: momentOf(since, "R") })]),
  ];
  return told.join(" · ");
}

/** Opens an entry from the list. */
const opensEntry: PickSpec = {
  press: { name: "re", carries: [someone] },
  placeholder: "roster pick",
  of: ({ user }: EntryView) => ({ value: user.id, label: user.display_name ?? user.username_snapshot ?? user.id }),
};

/** Somebody's entry as a card. */
function entryReply(view: OneEntryView, { t }: Wording): Reply {
  if (view.state === "absent") return { content: t("roster absent", { user: mentionOf(view.id) }) };
  const when = (at: string | null) => (at === null ? undefined : momentOf(at));
  const { user, loa, discord, supervisor } = view;
  const embed = card(
    t(`= ${view.status}`),
    [
      ["staff_role", view.staff_role === null ? undefined : codeText(view.staff_role)],
      ["rank", view.rank],
      ["department", view.department === null ? undefined : escapeText(view.department)],
      ["callsigns", view.callsigns.map(({ callsign }) => escapeText(callsign)).join(", ")],
      ["joined_at", when(view.joined_at)],
      ["trial_ends_at", when(view.trial_ends_at)],
      ["status_before", view.status_before === null ? undefined : t(`= ${view.status_before}`)],
      ["suspended_until", when(view.suspended_until)],
      ["ended_at", when(view.ended_at)],
      ["loa", loa === null ? undefined : leaveText(loa, t)],
      ["last_seen_at", view.last_seen_at === null ? undefined : momentOf(view.last_seen_at, "R")],
      ["supervisor", supervisor === null ? undefined : `<@${supervisor.id}>`],
      ["nickname", discord.nickname === null ? undefined : escapeText(discord.nickname)],
      ["drift", discord.drift.map((code) => t(`= ${code}`)).join(", ")],
      ["notes", typeof view.notes === "string" ? escapeText(view.notes) : undefined],
      ["origin_reference", view.origin_reference === null ? undefined : escapeText(view.origin_reference)],
      ["revision", view.revision],
    ],
    t,
  );
  return { content: "", embeds: [{ ...embed, description: `<@${user.id}> ${idText(user.id)}` }] };
}

function leaveText({ from, until, reason: why }: NonNullable<EntryView["loa"]>, t: Wording["t"]): string {
  const span = [t("say from", { at: momentOf(from) }), ...(until === null ? [] : [t("say until", { at: momentOf(until) })])].join(" ");
  return typeof why === "string" ? `${span}: ${escapeText(why)}` : span;
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
  const user = mentionOf(textIn(given, "user") ?? "");
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
    show: entryReply,
    press: opensEntry.press,
  },
  { command, path: "list", operation: "listRoster", options: filters, input: listed, line: entryLine, picks: [opensEntry] },
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
