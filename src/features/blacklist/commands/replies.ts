import type { VerbInput, Verbs } from "../../../commands/verbs.ts";
import type { BlacklistImport } from "../import/import.schema.ts";
import type { BlacklistCheck, BlacklistView, CheckedRecord } from "../blacklist.schema.ts";
import type { ListedByView } from "../../../kernel/listed-by.ts";
import { escapeText } from "../../../discord/replies.ts";
import { sentenceText } from "../../../discord/sentence.ts";
import type { Reply, Wording, CommandInput, Question } from "../../../commands/entry.ts";
import { card, colours, idText, personOf, subjectOf, withId, numberIn, pickedQuery, readOptional } from "../../../commands/records.ts";
import { enumLabel, cut, mentionOf, momentOf } from "../../../commands/show.ts";
import { inJson, type Translate } from "../../../kit/say.ts";
import { textIn } from "../../../commands/input.ts";
import { askAboutSubjects, peopleIn } from "../../../commands/subject-question.ts";

const maxWords = 1900;
const maxProblems = 10;

/** A record as a card. */
export function recordCard(view: BlacklistView, t: Translate) {
  const { status, severity, revoked } = view;
  const colour = status === "active" || status === "scheduled" ? colours[severity] : colours.over;
  const text = (value: string | null | undefined) => (value === null || value === undefined ? undefined : escapeText(value));
  return card(
    `${view.number} · ${enumLabel(status, t) ?? status}`,
    [
      ["subject", withId(view.kind, view.subject_id, aboutOf(view))],
      ["category", enumLabel(view.category, t)],
      ["severity", enumLabel(severity, t)],
      ["scope", enumLabel(view.scope, t)],
      ["server_ids", view.server_ids.map(idText).join(", ")],
      ["reason_public", text(view.reason_public)],
      ["reason_internal", text(view.reason_internal)],
      ["recommended_action", enumLabel(view.recommended_action, t)],
      ["member_policy", enumLabel(view.member_policy, t)],
      ["include_alts", enumLabel(view.include_alts, t)],
      ["tags", view.tags.map(escapeText).join(", ")],
      ["ends_at", view.expires_at === null ? t("blacklist for good") : momentOf(view.expires_at)],
      ["review_at", view.review_at === null ? undefined : momentOf(view.review_at)],
      ["created_by", personOf(view.created_by)],
      ["created_at", momentOf(view.created_at)],
      ["origin_reference", text(view.origin_reference)],
      ["supersedes", text(view.supersedes)],
      ["revoked", revoked === null ? undefined : revokedText(revoked)],
      ["history_count", view.history_count],
      ["revision", view.revision],
    ],
    t,
    colour,
  );
}

function revokedText({ at, by, reason }: NonNullable<BlacklistView["revoked"]>): string {
  return [momentOf(at), personOf(by), reason === null ? undefined : escapeText(reason)].filter((part) => part !== undefined).join(" · ");
}

/** Who or what a record is about. */
export function aboutOf({ kind, subject_id: id, subject_snapshot: snapshot }: BlacklistView): string {
  return subjectOf({ kind, id, name: snapshot?.name });
}

/** How far a search of several filters came that has not filled its page. */
export function examinedNote({ examined_to: to }: { examined_to?: string }, { t }: Wording): string {
  return to === undefined ? "" : t("blacklist search examined", { to: momentOf(to) });
}

/** A record as one line of a list. */
export function recordLine(view: BlacklistView, { t }: Wording): string {
  const { expires_at: ends, created_by: by, created_at: at } = view;
  const facts = [
    aboutOf(view),
    enumLabel(view.category, t),
    t("blacklist severity", { severity: enumLabel(view.severity, t) }),
    enumLabel(view.status, t),
    ends === null ? undefined : t("blacklist ends", { at: momentOf(ends, "R") }),
    by === null ? momentOf(at, "R") : t("blacklist by", { user: mentionOf(by), at: momentOf(at, "R") }),
  ];
  return [`**${view.number}**`, ...facts.filter((fact) => fact !== undefined)].join(" · ");
}

/** A record where Discord shows no mention. */
export function recordName({ number, subject_snapshot: named, category, status }: BlacklistView, t: Translate): string {
  return [number, named?.name, t(`= ${category}`), t(`= ${status}`)].filter(Boolean).join(" · ");
}

function factsOf(records: readonly CheckedRecord[], t: Translate): string {
  return records
    .map(({ number, kind, severity, category }) =>
      [number, enumLabel(kind, t), enumLabel(severity, t), enumLabel(category, t)].filter((fact) => fact !== undefined).join(" · "),
    )
    .join("; ");
}

/** An id alone does not tell whether it is a user's or a server's, so both answers become one line. */
export function checkReply({ users, servers, followed_lists: followed }: BlacklistCheck, { t }: Wording): Reply {
  const lines = users.flatMap((user, index) => {
    const server = servers[index];
    const records = [...user.records, ...(server?.records ?? [])];
    const id = escapeText(user.id);
    const own = records.length === 0 ? t("blacklist free", { id }) : `${t("blacklist listed", { id })}: ${factsOf(records, t)}`;
    const near = [
      ...(user.linked ?? []).map(({ user_id: other, confidence, records: of }) => ({ about: `<@${other}>`, how: confidence, of })),
      ...(server?.related ?? []).map(({ server_id: other, how, records: of }) => ({ about: idText(other), how, of })),
    ];
    const byOthers = [...(user.listed_by ?? []), ...(server?.listed_by ?? [])];
    const others = followed === undefined || byOthers.length === 0 ? [] : [othersLine(byOthers, followed, t)];
    return [own, ...others, ...near.map(({ about, how, of }) => `↳ ${about} (${enumLabel(how, t)}): ${factsOf(of, t)}`)];
  });
  const text = lines.join("\n");
  return text.length <= maxWords ? { content: text } : { content: "", embeds: [{ description: text }] };
}

/** By how many followed lists somebody is named, and what each says. */
function othersLine(found: readonly ListedByView[], followed: number, t: Translate): string {
  const count = new Set(found.map(({ list_id: id }) => id)).size;
  const said = found.map(({ list, number, category, severity }) =>
    [escapeText(list), escapeText(number), enumLabel(severity, t), enumLabel(category, t)].join(" · "),
  );
  return `↳ ${t("follows by", { count, all: followed })}: ${said.join("; ")}`;
}

/** A wrong field of a line, by the column of the file. */
function importProblem(pointer: string, detail: string, t: Translate): string {
  const [column = ""] = pointer.slice(1).split("/");
  return column === "" ? sentenceText(detail, t) : `\`${column.replaceAll("`", "")}\`: ${sentenceText(detail, t)}`;
}

/** What an import does or did, with the lines that are wrong. */
export function importText({ lines, counts, results }: BlacklistImport, t: Translate): string {
  const counted = Object.entries(counts).filter(([, count]) => count > 0);
  const wrong = results.filter(({ errors = [] }) => errors.length > 0);
  return [
    t("blacklist import lines", { lines }),
    ...counted.map(([outcome, count]) => `• ${enumLabel(outcome, t) ?? outcome}: ${count.toString()}`),
    ...wrong.slice(0, maxProblems).map(({ line, errors = [] }) => {
      const problems = errors.map(({ pointer, detail }) => importProblem(pointer, detail, t)).join("; ");
      return t("blacklist import wrong", { line, problems: cut(problems, 150) });
    }),
    ...(wrong.length > maxProblems ? [t("blacklist import more", { count: wrong.length - maxProblems })] : []),
  ].join("\n");
}

/** The address of the record that was named. */
export const recordAt = (given: CommandInput) => ({ id: textIn(given, "record") ?? "" });

/** Who would be kept out, and what is known of them. */
export async function asksToAdd(wording: Wording, verbs: Verbs): Promise<string> {
  const server = textIn(wording.given, "server");
  const subjects = server === undefined ? peopleIn(wording.given, "user") : [{ kind: "server" as const, id: server }];
  return await askAboutSubjects("blacklist add ask", subjects, wording, verbs);
}

/** What ends with a record: what it says, whom else it concerns, and the request it came from. */
export async function asksToRevoke(wording: Wording, verbs: Verbs): Promise<Question | undefined> {
  const { t, given } = wording;
  const view = await readOptional<BlacklistView>(verbs, "getBlacklistRecord", wording, { params: recordAt(given) });
  if (view === undefined) return undefined;
  const params = { discord_user_id: view.subject_id };
  const group = view.kind === "user" ? await readOptional<{ members: unknown[] }>(verbs, "getLinkGroup", wording, { params }) : undefined;
  const others = view.include_alts === "none" ? 0 : (group?.members.length ?? 0);
  const lines = [
    t("blacklist revoke ask", { number: view.number, subject: aboutOf(view) }),
    recordLine(view, wording),
    ...(others > 0 ? [t("blacklist revoke alts", { count: others })] : []),
    ...(view.member_policy === null ? [] : [t("blacklist revoke members")]),
    ...(view.origin_reference === null ? [] : [t("blacklist revoke request", { reference: escapeText(view.origin_reference) })]),
  ];
  return { content: lines.join("\n"), about: revisionOf(view, given) };
}

/** What is erased with a record cannot be had again: it is asked about as it stands. */
export async function asksToPurge(wording: Wording, verbs: Verbs): Promise<Question> {
  const { t, given } = wording;
  const view = await readOptional<BlacklistView>(verbs, "getBlacklistRecord", wording, { params: recordAt(given) });
  const head = t("blacklist purge ask", { number: escapeText(textIn(given, "record")?.toUpperCase() ?? "") });
  return view === undefined ? head : { content: `${head}\n${recordLine(view, wording)}`, about: revisionOf(view, given) };
}

/** What is shown is what ends, and not what the record is made into until the answer comes. */
function revisionOf({ revision: seenNow }: BlacklistView, given: CommandInput): CommandInput["values"] {
  return { revision: numberIn(given, "revision") ?? seenNow };
}

export async function asksToImport({ call, given, t }: Wording, verbs: Verbs): Promise<string> {
  const input = importInput(given);
  const found = (await verbs.run("importBlacklist", call, { ...input, query: { ...input.query, dry_run: "true" } })) as BlacklistImport;
  return `${t("blacklist import ask")}\n${importText(found, t)}`;
}

export function importInput(given: CommandInput): VerbInput {
  return { query: pickedQuery(given, "mode"), file: given.files["file"]?.[0] };
}

export function imported(view: BlacklistImport, { t }: Wording): Reply {
  const files = [{ name: "import.json", content: inJson(view.results, 2) }];
  return { content: `${t("blacklist import done")}\n${importText(view, t)}`, files };
}
