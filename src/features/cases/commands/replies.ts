import type { CaseView } from "../cases.schema.ts";
import { escapeText } from "../../../discord/replies.ts";
import type { Reply, Wording, OptionSpec, PressSpec } from "../../../commands/entry.ts";
import { pressButton } from "../../../commands/press.ts";
import { card, colours, personOf, subjectOf } from "../../../commands/records.ts";
import { enumLabel, lineText, momentOf } from "../../../commands/show.ts";

const priorityColours = { low: colours.low, normal: colours.plain, high: colours.high, critical: colours.critical } as const;
const text = (value: string | null) => (value === null ? undefined : escapeText(value));
const when = (at: string | null) => (at === null ? undefined : momentOf(at));

/** A case as a card, with buttons to what hangs on it. */
export function caseReply(view: CaseView, { t }: Wording): Reply {
  const subjects = view.subjects.map(({ kind, id, name_current: current, name_snapshot: then }) =>
    subjectOf({ kind, id, name: current ?? then }),
  );
  const embed = card(
    `${view.number} · ${escapeText(view.title)}`,
    [
      ["case_state", enumLabel(view.status, t, "case")],
      ["type", enumLabel(view.type, t)],
      ["priority", enumLabel(view.priority, t)],
      ["subjects", subjects.join("\n")],
      ["lead", personOf(view.lead)],
      ["team", view.team.map((id) => `<@${id}>`).join(", ")],
      ["labels", view.labels.map(escapeText).join(", ")],
      ["policies", view.policies.map(escapeText).join("\n")],
      ["confidential", view.confidential ? "✓" : undefined],
      ["due_at", view.due_at === null ? undefined : `${momentOf(view.due_at)}${view.overdue ? ` – ${t("case overdue")}` : ""}`],
      ["outcome", enumLabel(view.outcome, t, "case")],
      ["outcome_reason", text(view.outcome_reason)],
      ["closed_by", personOf(view.closed_by)],
      ["closed_at", when(view.closed_at)],
      ["deleted_at", when(view.deleted_at)],
      ["origin_reference", text(view.origin_reference)],
      ["links", view.links.map(({ rel, reference }) => `${enumLabel(rel, t) ?? rel} ${escapeText(reference)}`).join("\n")],
      ["suggestions", view.suggestions?.map(({ reference }) => escapeText(reference)).join(", ")],
      ["notes_count", view.notes_count],
      ["evidence_count", view.evidence_count],
      ["actions_count", view.actions_count],
      ["points_in_force", view.points_in_force],
      ["opened_by", personOf(view.opened_by)],
      ["created_at", momentOf(view.created_at)],
      ["revision", view.revision],
    ],
    t,
    view.status === "closed" || view.status === "archived" ? colours.over : priorityColours[view.priority],
  );
  const buttons = [
    pressButton(caseNotesPress, { case: view.number }, t("label notes")),
    pressButton(caseFilesPress, { case: view.number }, t("label evidence")),
    pressButton(caseHistoryPress, { case: view.number }, t("label history")),
  ];
  return { content: "", embeds: [embed], components: [{ type: 1, components: buttons }] };
}

/** A case as one line of a list. */
export function caseLine(view: CaseView, { t }: Wording): string {
  const subjects = view.subjects.slice(0, 3).map(({ kind, id }) => subjectOf({ kind, id }));
  const facts = [
    lineText(view.title),
    enumLabel(view.status, t),
    enumLabel(view.priority, t),
    subjects.join(", ") + (view.subjects.length > 3 ? ", …" : ""),
    personOf(view.lead),
    view.overdue ? t("case overdue") : undefined,
  ];
  return [`**${view.number}**`, ...facts.filter((fact) => fact !== undefined && fact !== "")].join(" · ");
}

/** The option that names a case. */
export const caseOption: OptionSpec = { name: "case", kind: "text", required: true, completes: "case", max: 40 };

const carries = [caseOption];
export const caseShowPress: PressSpec = { name: "cs", carries };
export const caseNotesPress: PressSpec = { name: "cn", carries };
export const caseFilesPress: PressSpec = { name: "cf", carries };
export const caseHistoryPress: PressSpec = { name: "ch", carries };

/** Which part of somebody's history is shown. */
