import type { CaseView } from "../cases.schema.ts";
import { escapeText } from "../../../discord/replies.ts";
import type { Reply, Wording, OptionSpec, PressSpec } from "../../../commands/entry.ts";
import { pressButton } from "../../../commands/press.ts";
import { card, colours, personOf, subjectOf, withId } from "../../../commands/records.ts";
import { enumLabel, mentionOf, momentOf } from "../../../commands/show.ts";
import type { Translate } from "../../../kit/say.ts";
import { sentenceText } from "../../../discord/sentence.ts";

const priorityColours = { low: colours.low, normal: colours.plain, high: colours.high, critical: colours.critical } as const;
const text = (value: string | null) => (value === null ? undefined : escapeText(value));
const when = (at: string | null) => (at === null ? undefined : momentOf(at));

/** A case as a card, with buttons to what hangs on it. */
export function caseReply(view: CaseView, { t }: Wording): Reply {
  const subjects = view.subjects.map(({ kind, id, name_current: current, name_snapshot: then }) =>
    withId(kind, id, subjectOf({ kind, id, name: current ?? then })),
  );
  const embed = card(
    `${view.number} · ${enumLabel(view.status, t, "case") ?? view.status}`,
    [
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
      ["links", view.links.map(({ rel, reference }) => `${enumLabel(rel, t)} ${escapeText(reference)}`).join("\n")],
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
  return {
    content: "",
    embeds: [{ ...embed, description: `**${titleText(view.title, t)}**` }],
    components: [{ type: 1, components: buttons }],
  };
}

/** A title as a part of a line: people who are named by id in it as mentions. */
function titleText(title: string, t: Translate): string {
  return sentenceText(title.replaceAll(/\s+/g, " "), t);
}

/** A case as one line of a list. */
export function caseLine(view: CaseView, { t }: Wording): string {
  const subjects = view.subjects
    .slice(0, 3)
    .map(({ kind, id, name_current: now, name_snapshot: then }) =>
      subjectOf(kind === "user" ? { kind, id } : { kind, id, name: now ?? then }),
    );
  const { lead, opened_by: by, created_at: at, due_at: due } = view;
  const facts = [
    titleText(view.title, t),
    subjects.join(", ") + (view.subjects.length > 3 ? ", …" : ""),
    enumLabel(view.status, t, "case"),
    t("case priority", { priority: enumLabel(view.priority, t) }),
    by === null ? momentOf(at, "R") : t("case opened", { user: mentionOf(by), at: momentOf(at, "R") }),
    lead === null ? undefined : t("case led", { user: mentionOf(lead) }),
    view.overdue ? t("case overdue") : due === null ? undefined : t("case due", { at: momentOf(due, "R") }),
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
