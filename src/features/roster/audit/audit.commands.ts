import { plainSentence, type TextKey } from "../../../kit/say.ts";
import type { SourceSpec, Entry, FieldSpec, OptionSpec, PickSpec, PressSpec, Reply, Wording } from "../../../commands/entry.ts";
import { choiceLimit, minuteOf } from "../../../commands/sources.ts";
import type { Row } from "../../../discord/command.ts";
import { escapeText } from "../../../discord/replies.ts";
import { sentenceText } from "../../../discord/sentence.ts";
import {
  auditCodes,
  type FindingResults,
  type RosterAuditAnswer,
  type RosterAuditReport,
  type RosterAuditSummary,
  type RosterFindingView,
} from "./audit.schema.ts";
import { picked, textIn } from "../../../commands/input.ts";
import { pickRow, pressButton } from "../../../commands/press.ts";
import { cut, momentOf } from "../../../commands/show.ts";

const command = "roster";
const shown = 15;
const maxLength = 4000;
const marks = { critical: "🔴", warning: "🟠", info: "🔵" } as const;

const code: OptionSpec = { name: "check", kind: "text", choices: auditCodes };
const audit: OptionSpec = { name: "audit", kind: "text", required: true, completes: "roster-audit", max: 40 };
const finding: OptionSpec = { name: "finding", kind: "text", required: true, max: 40 };
const reason: OptionSpec = { name: "reason", kind: "text" };
const why: FieldSpec = { name: "reason", kind: "paragraph" };
const showing: PressSpec = { name: "rt", carries: [audit] };
const listing: PressSpec = { name: "rf", carries: [audit] };
const fixing: PressSpec = { name: "rx", carries: [finding] };
const acknowledging: PressSpec = { name: "rk", carries: [finding] };
const withdrawing: PressSpec = { name: "rw", carries: [finding] };

const named = ({ code: of, user, detail }: RosterFindingView, t: Wording["t"]): string =>
  [t(`= ${of}`), user?.display_name ?? user?.username_snapshot ?? user?.id, plainSentence(detail, t)]
    .filter((part) => part !== undefined)
    .join(" · ");

function findingLine(view: RosterFindingView, { t }: Wording): string {
  const { severity, code: of, user, detail, fix, is_new: isNew, acknowledged, fixed_at: fixedAt } = view;
  const told = [
    `${marks[severity]} **${t(`= ${of}`)}**`,
    ...(user === null ? [] : [`<@${user.id}>`]),
    sentenceText(detail, t),
    ...(isNew ? [t("roster audit new")] : []),
    ...(acknowledged === null ? [] : [t("roster audit acknowledged", { reason: cut(escapeText(acknowledged.reason), 100) })]),
    ...(fixedAt === null ? [] : [t("roster audit fixed", { at: momentOf(fixedAt) })]),
    ...(fix === null || fixedAt !== null ? [] : [t("roster audit fixable", { fix: sentenceText(fix.detail, t) })]),
  ];
  return told.join(" · ");
}

const isOpen = ({ id, fixed_at: fixedAt }: RosterFindingView): boolean => id !== null && fixedAt === null;
const pickOf = (press: PressSpec, placeholder: TextKey, isFor: (view: RosterFindingView) => boolean): PickSpec => ({
  press,
  placeholder,
  of: (view: RosterFindingView, { t }) =>
    view.id === null || !isFor(view) ? undefined : { value: view.id, label: cut(named(view, t), 100) },
});
/** From a finding on to what can be done about it. */
const picks = [
  pickOf(fixing, "roster audit pick-fix", (view) => isOpen(view) && view.fix !== null),
  pickOf(acknowledging, "roster audit pick-acknowledge", (view) => isOpen(view) && view.acknowledged === null),
  pickOf(withdrawing, "roster audit pick-withdraw", (view) => view.acknowledged !== null),
] as const;

function showReport(view: RosterAuditReport, wording: Wording): Reply {
  const { t } = wording;
  const first = view.findings.slice(0, shown);
  const lines = first.map((one) => findingLine(one, wording));
  const more = view.findings_total - first.length;
  const skipped = view.skipped.map((of) => t(`= ${of}`)).join(", ");
  const head = [
    t("roster audit head", { found: view.findings_total, new: view.new_total, people: view.members_scanned }),
    ...(view.compared_to === null ? [] : [t("roster audit resolved", { resolved: view.compared_to.resolved })]),
    ...(view.withheld === 0 ? [] : [t("roster audit withheld", { withheld: view.withheld })]),
    ...(skipped === "" ? [] : [t("roster audit skipped", { skipped })]),
  ];
  const all = view.id === null ? undefined : pressButton(listing, { audit: view.id }, t("button all-findings"));
  const rows = picks.flatMap((pick) => pickRow(pick, first, wording) ?? []);
  const last: Row[] = all === undefined || more <= 0 ? [] : [{ type: 1, components: [all] }];
  return {
    content: head.join("\n"),
    embeds: lines.length === 0 ? [] : [{ description: cut(lines.join("\n"), maxLength) }],
    components: [...rows, ...last],
  };
}

function showAnswer({ state, ...report }: RosterAuditAnswer, wording: Wording): Reply {
  return state === "absent" ? { content: wording.t("say nothing-found") } : showReport(report as RosterAuditReport, wording);
}

function showResults({ results }: FindingResults, { t }: Wording): Reply {
  return { content: results.map(({ outcome, detail }) => `**${t(`finding ${outcome}`)}** · ${sentenceText(detail, t)}`).join("\n") };
}

const findings = (given: Parameters<Entry["input"]>[0]) => ({ findings: [textIn(given, "finding")] });

/** Whether the roster is right, and what is done about it where it is not. */
export const rosterAuditEntries: readonly Entry[] = [
  {
    command,
    path: "audit run",
    operation: "runRosterAudit",
    options: [
      code,
      { name: "pool", kind: "text", completes: "pool", max: 100 },
      { name: "department", kind: "text", max: 100 },
      { name: "staff-role", kind: "text", completes: "staff-role", max: 100 },
    ],
    input: (given) => {
      const [only, role] = [textIn(given, "check"), textIn(given, "staff-role")];
      const scope = { ...picked(given, "pool", "department"), ...(role !== undefined && { role }) };
      return { body: { checks: only === undefined ? undefined : [only], scope: Object.keys(scope).length === 0 ? undefined : scope } };
    },
    show: showReport,
  },
  {
    command,
    path: "audit list",
    operation: "listRosterAudits",
    input: () => ({}),
    line: ({ started_at: at, by, findings_total: found, new_total: fresh }: RosterAuditSummary, { t }) =>
      t("roster audit list line", { at: momentOf(at), by: by === null ? t("roster audit nightly") : `<@${by}>`, found, new: fresh }),
    picks: [
      {
        press: showing,
        placeholder: "roster audit pick-report",
        of: ({ id, started_at: at }: RosterAuditSummary) => ({ value: id, label: `${at.slice(0, 16).replace("T", " ")} UTC` }),
      },
    ],
  },
  {
    command,
    path: "audit show",
    operation: "getRosterAudit",
    options: [audit],
    press: showing,
    input: (given) => ({ params: { id: textIn(given, "audit") ?? "" } }),
    show: showAnswer,
  },
  {
    command,
    path: "audit findings",
    operation: "listRosterFindings",
    options: [
      audit,
      code,
      { name: "severity", kind: "text" },
      { name: "user", kind: "user" },
      { name: "new", kind: "boolean" },
      { name: "acknowledged", kind: "boolean" },
    ],
    press: listing,
    input: (given) => ({
      params: { id: textIn(given, "audit") ?? "" },
      query: {
        code: textIn(given, "check"),
        severity: textIn(given, "severity"),
        user_id: textIn(given, "user"),
        is_new: textIn(given, "new"),
        acknowledged: textIn(given, "acknowledged"),
      },
    }),
    line: findingLine,
    picks,
  },
  {
    command,
    path: "audit fix",
    operation: "fixRosterFindings",
    options: [finding, reason, { name: "dry-run", kind: "boolean" }],
    form: [{ ...why, required: true }],
    press: fixing,
    input: (given) => ({ body: { ...findings(given), ...picked(given, "reason", "dry-run") } }),
    show: showResults,
  },
  {
    command,
    path: "audit acknowledge",
    operation: "acknowledgeRosterFindings",
    options: [finding, reason, { name: "until", kind: "text" }],
    form: [
      { ...why, required: true },
      { name: "until", kind: "line" },
    ],
    press: acknowledging,
    input: (given) => ({ body: { ...findings(given), ...picked(given, "reason"), until: textIn(given, "until") } }),
    show: showResults,
  },
  {
    command,
    path: "audit withdraw",
    operation: "withdrawRosterAcknowledgements",
    options: [finding, reason],
    form: [why],
    press: withdrawing,
    input: (given) => ({ body: { ...findings(given), ...picked(given, "reason") } }),
    show: showResults,
  },
];

/** What options about audits are completed from. */
export const rosterAuditSources: Readonly<Record<string, SourceSpec>> = {
  "roster-audit": {
    operation: "listRosterAudits",
    input: () => ({ query: { limit: choiceLimit } }),
    choice: ({ id, started_at: at, findings_total: found }: { id: string; started_at: string; findings_total: number }) => ({
      name: `${minuteOf(at)} · ${found.toString()}`,
      value: id,
    }),
  },
};
