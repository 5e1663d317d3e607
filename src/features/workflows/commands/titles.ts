import { worded, type KeyAfter, type Translate } from "../../../kit/say.ts";
import { enumLabel, codeText, mentionOf } from "../../../commands/show.ts";
import { idText } from "../../../commands/records.ts";
import { escapeText } from "../../../discord/replies.ts";
import { sentenceText } from "../../../discord/sentence.ts";
import type { WorkflowKind } from "../../../kernel/vocabulary.ts";
import { kinds } from "../kinds/kinds.ts";
import type { WorkflowView } from "../requests/workflows.schema.ts";

export type Titled = Pick<WorkflowView, "type" | "title" | "payload" | "subjects">;

interface TitleSpec {
  /** The text: one, or by what the payload says. */
  key: KeyAfter<"title"> | ((payload: Titled["payload"]) => KeyAfter<"title"> | undefined);
  /** The fields of the payload that the title says. */
  says: readonly string[];
}

const poachTitles: Readonly<Record<string, KeyAfter<"title">>> = {
  report: "poach-report",
  agreement: "poach-agreement",
  clearance: "poach-clearance",
};

/** How requests are called in Discord, by their kind; others by the word of their kind and whom they are about. */
const titles: Readonly<Partial<Record<WorkflowKind, TitleSpec>>> = {
  "blacklist-server": { key: "blacklist-server", says: ["server_id", "server_name"] },
  "blacklist-user": { key: "blacklist-user", says: ["user_id"] },
  investigation: { key: "investigation", says: ["subject"] },
  recruitment: { key: "recruitment", says: ["user_id", "position"] },
  "server-merge": { key: "server-merge", says: ["source_server_id", "target_server_id"] },
  "alt-request": { key: "alt-request", says: ["user_ids"] },
  punishment: { key: "punishment", says: ["user_id", "action"] },
  poach: {
    key: ({ kind }) => poachTitles[String(kind)],
    says: ["kind", "offending_server_id", "offender_user_ids", "party_server_ids", "user_id"],
  },
  appeal: { key: "appeal", says: ["target", "user_id"] },
};
const maxNamed = 5;

/** What a request asks for, in the reader's language and with whom it is about; the words of a client that gave it a title of its own. */
export function requestTitle(view: Titled, t: Translate): string {
  const { type, title, payload } = view;
  if (hasOwnTitle(view)) return sentenceText(title, t);
  const { key = "other" } = titles[type] ?? {};
  const found = typeof key === "string" ? key : key(payload);
  const subject = subjectsText(view, t);
  if (found === undefined || subject === "") return kindWord(view, t);
  const said = (field: string) => String(payload[field] ?? "–");
  const [source, target] = [idText(said("source_server_id")), idText(said("target_server_id"))];
  const position = codeText(said("position"));
  return t(`title ${found}`, { subject, action: kindWord(view, t), position, source, target });
}

/** The same where Discord shows no mention, such as in a menu. */
export function plainTitle(view: Titled, t: Translate): string {
  return hasOwnTitle(view) ? view.title : kindWord(view, t);
}

/** What the title of a request says of its payload, and so need not be said again. */
export function saidInTitle(view: Titled): ReadonlySet<string> {
  return new Set(hasOwnTitle(view) ? [] : titles[view.type]?.says);
}

/** Whether a client gave it a title. */
function hasOwnTitle({ type, title, payload }: Titled): boolean {
  // A payload of an earlier version may have no title any more.
  const own = kinds[type].title(payload) as string | undefined;
  return title.trim() !== "" && (own === undefined || worded(title) !== worded(own));
}

/** The kind of a request as a word; of a punishment, what it is. */
export function kindWord({ type, payload }: Pick<Titled, "type" | "payload">, t: Translate): string {
  const action = type === "punishment" ? payload["action"] : undefined;
  const word = enumLabel(typeof action === "string" ? action : type, t, "request");
  return word.charAt(0).toUpperCase() + word.slice(1);
}

/** Whom and what a request is about: people as mentions, servers by name with their ids. */
function subjectsText({ subjects, payload, type }: Titled, t: Translate): string {
  const servers = subjects.filter(({ kind }) => kind === "server");
  const people = subjects.filter(({ kind }) => kind === "user");
  const records = subjects.filter(({ kind }) => kind === "record");
  const name = type === "blacklist-server" ? payload["server_name"] : undefined;
  const serverText = (id: string) => (typeof name === "string" ? `${escapeText(name)} ${idText(id)}` : idText(id));
  // An appeal is against a record, poaching is a server's doing; who else is named stands on the card.
  const texts =
    [records.map(({ id }) => escapeText(id)), servers.map(({ id }) => serverText(id)), people.map(({ id }) => mentionOf(id))].find(
      (some) => some.length > 0,
    ) ?? [];
  const more = texts.length > maxNamed ? [t("say more", { count: texts.length - maxNamed })] : [];
  return [...texts.slice(0, maxNamed), ...more].join(", ");
}
