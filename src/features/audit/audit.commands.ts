import { isDeepStrictEqual } from "node:util";
import { plainSentence, textFor, type Translate } from "../../kit/say.ts";
import type { CommandSet, Entry, CommandInput, OptionSpec, Reply, Wording } from "../../commands/entry.ts";
import { escapeText } from "../../discord/replies.ts";
import { permissionText } from "../../discord/sentence.ts";
import type { AuditVerification, AuditView, CheckpointView } from "./audit.schema.ts";
import { textIn } from "../../commands/input.ts";
import { cut, codeText, labelOf, lineText, momentOf, showView, valueOf } from "../../commands/show.ts";
import { isProblemCode, problems } from "../../kernel/errors.ts";
import { jsonObject } from "../../kernel/parsing.ts";

const command = "audit";
const maxChange = 700;
const text = (name: string, max = 200): OptionSpec => ({ name, kind: "text", max });
const position = (name: string): OptionSpec => ({ name, kind: "integer", min: 1, max: 2_147_483_647 });
const record: OptionSpec = text("record");
/** What everybody may narrow their search by. */
const own = [
  text("action"),
  record,
  { name: "user", kind: "user" },
  { name: "via", kind: "text" },
  { name: "outcome", kind: "text" },
  text("request"),
  { name: "from", kind: "text" },
  { name: "to", kind: "text" },
  text("words"),
] as const satisfies OptionSpec[];
const filters: readonly OptionSpec[] = [{ name: "by", kind: "user" }, text("key"), ...own];

const searched = (given: CommandInput) => ({
  query: {
    actor: textIn(given, "by"),
    client: textIn(given, "key"),
    action_prefix: textIn(given, "action"),
    target: textIn(given, "record"),
    subject: textIn(given, "user"),
    via: textIn(given, "via"),
    outcome: textIn(given, "outcome"),
    request_id: textIn(given, "request"),
    from: textIn(given, "from"),
    to: textIn(given, "to"),
    q: textIn(given, "words"),
  },
});

/** An action in words and as it is searched for, such as **Blacklist record: created** (`blacklist.create`); of a refusal, the permission. */
function actionText(action: string, t: Translate): string {
  const at = action.lastIndexOf(".");
  const [kind, verb] = [textFor(`audit kind ${action.slice(0, at)}`, t), textFor(`audit verb ${action.slice(at + 1)}`, t)];
  if (kind === undefined || verb === undefined) return permissionText(action, t) ?? codeText(action);
  return `**${kind}: ${verb}** (\`${action}\`)`;
}

/** Fields that say what a record is called and how it stands come before the others. */
const leadingNames = ["name", "title", "status"];

/** An id is only of use to be copied: what it is of stands in the action. */
function targetText({ reference, id }: NonNullable<AuditView["target"]>): string {
  return codeText(reference ?? id);
}

function line({ seq, at, action, outcome, actor, via, target, subject_user_id: subject, reason }: AuditView, { t }: Wording): string {
  const told = [
    `\`${seq.toString()}\` ${momentOf(at)}`,
    actionText(action, t),
    ...(outcome === "ok" ? [] : [textFor(`audit search ${outcome}`, t) ?? escapeText(outcome)]),
    ...(actor === null ? [] : [`<@${actor.id}>`]),
    t(`= ${via}`),
    ...(target === null || target.id === subject ? [] : [targetText(target)]),
    ...(subject === null ? [] : [`→ <@${subject}>`]),
    ...(reason === null || reason === undefined ? [] : [cut(reasonText(reason, t), 100)]),
  ];
  return told.join(" · ");
}

/** Why it was done, as somebody wrote it, or the refusal of what was not done. */
function reasonText(reason: string, t: Translate): string {
  if (!isProblemCode(reason)) return lineText(plainSentence(reason, t));
  return textFor(`problem ${reason}`, t) ?? problems[reason].title;
}

/** Each field that changed, before and after, besides who and when: in an order of ours, as PostgreSQL keeps none of the fields of a document. */
function wholeLine(view: AuditView, wording: Wording): string {
  const { t } = wording;
  const [before, after] = [jsonObject(view.before), jsonObject(view.after)];
  const rankOf = (name: string): number => (leadingNames.includes(name) ? leadingNames.indexOf(name) : leadingNames.length);
  const changes = [...new Set([...Object.keys(before), ...Object.keys(after)])]
    .toSorted((a, b) => rankOf(a) - rankOf(b) || labelOf(a, t).localeCompare(labelOf(b, t), "en"))
    .filter((name) => !isDeepStrictEqual(before[name], after[name]))
    .map((name) => {
      const now = valueOf(after[name], t, name);
      return `${labelOf(name, t)}: ${name in before ? `${valueOf(before[name], t, name)} → ${now}` : now}`;
    });
  return changes.length === 0
    ? line(view, wording)
    : `${line(view, wording)}\n> ${cut(changes.join("; ").replaceAll(/\s+/g, " "), maxChange)}`;
}

function examinedNote({ examined_to: to }: { examined_to?: number }, { t }: Wording): string {
  return to === undefined ? "" : t("audit search examined", { to });
}

function showVerification(view: AuditVerification, { t }: Wording): Reply {
  const { ok, entries, checkpoints, first_bad_seq: seq = 0, kind = "" } = view;
  if (ok) return { content: t("audit verify sound", { entries, checkpoints }) };
  return { ...showView(view, t, t("audit verify title")), content: t("audit verify broken", { seq, kind: t(`= ${kind}`) }) };
}

/** The line as it stands in the file of signed positions, as a file to be kept, and the key that proves it. */
function showCheckpoint({ checkpoint, key }: CheckpointView, { t }: Wording): Reply {
  if (checkpoint === null) return { content: t("audit checkpoint none") };
  const head = t("audit checkpoint at", { seq: checkpoint.seq, at: momentOf(checkpoint.at) });
  const files = [{ name: "checkpoint.jsonl", content: `${JSON.stringify(checkpoint)}\n` }];
  return { content: `${head}\n${t("audit checkpoint key", { key: escapeText(key.public_key) })}`, files };
}

/** `/audit`: who did what, and the proof that nobody has changed it. */
const auditEntries: readonly Entry[] = [
  { command, path: "search", operation: "listAudit", options: filters, input: searched, line, note: examinedNote },
  {
    command,
    path: "show",
    operation: "listAudit",
    options: [{ ...record, required: true }],
    input: (given) => ({ query: { target: textIn(given, "record") } }),
    line: wholeLine,
  },
  { command, path: "mine", operation: "listOwnAudit", options: own, input: searched, line, note: examinedNote },
  { command, path: "export", operation: "exportAudit", options: filters, input: searched },
  {
    command,
    path: "verify",
    operation: "verifyAudit",
    options: [position("first"), position("last")],
    input: ({ values }) => ({ query: { from: values["first"], to: values["last"] } }),
    show: showVerification,
  },
  { command, path: "checkpoint", operation: "getAuditCheckpoint", input: () => ({}), show: showCheckpoint },
];

/** What Discord offers of the audit. */
export const auditCommands: CommandSet = { entries: auditEntries };
