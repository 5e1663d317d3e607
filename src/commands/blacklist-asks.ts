import type { BlacklistImport } from "../features/blacklist/import/import.schema.ts";
import type { BlacklistView } from "../features/blacklist/blacklist.schema.ts";
import { escapeText } from "../discord/replies.ts";
import { aboutOf, importText, recordLine } from "./blacklist-words.ts";
import type { Given, Question, Reply, VerbInput, Wording } from "./entry.ts";
import { textIn } from "./given.ts";
import { numberIn, pickedQuery, seen } from "./records.ts";
import { askAboutSubjects, peopleIn } from "./subject-question.ts";
import type { Verbs } from "./verbs.ts";

/** The address of the record that was named. */
export const recordAt = (given: Given) => ({ id: textIn(given, "record") ?? "" });

/** Who would be kept out, and what is known of them. */
export async function asksToAdd(wording: Wording, verbs: Verbs): Promise<string> {
  const server = textIn(wording.given, "server");
  const subjects = server === undefined ? peopleIn(wording.given, "user") : [{ kind: "server" as const, id: server }];
  return await askAboutSubjects("blacklist add ask", subjects, wording, verbs);
}

/** What ends with a record: what it says, whom else it concerns, and the request it came from. */
export async function asksToRevoke(wording: Wording, verbs: Verbs): Promise<Question | undefined> {
  const { say, given } = wording;
  const view = await seen<BlacklistView>(verbs, "getBlacklistRecord", wording, { params: recordAt(given) });
  if (view === undefined) return undefined;
  const params = { discord_user_id: view.subject_id };
  const group = view.kind === "user" ? await seen<{ members: unknown[] }>(verbs, "getLinkGroup", wording, { params }) : undefined;
  const others = view.include_alts === "none" ? 0 : (group?.members.length ?? 0);
  const lines = [
    say("blacklist revoke ask", { number: view.number, subject: aboutOf(view) }),
    recordLine(view, wording),
    ...(others > 0 ? [say("blacklist revoke alts", { count: others })] : []),
    ...(view.member_policy === null ? [] : [say("blacklist revoke members")]),
    ...(view.origin_reference === null ? [] : [say("blacklist revoke request", { reference: escapeText(view.origin_reference) })]),
  ];
  return { content: lines.join("\n"), about: revisionOf(view, given) };
}

/** What is erased with a record cannot be had again: it is asked about as it stands. */
export async function asksToPurge(wording: Wording, verbs: Verbs): Promise<Question> {
  const { say, given } = wording;
  const view = await seen<BlacklistView>(verbs, "getBlacklistRecord", wording, { params: recordAt(given) });
  const head = say("blacklist purge ask", { number: escapeText(textIn(given, "record")?.toUpperCase() ?? "") });
  return view === undefined ? head : { content: `${head}\n${recordLine(view, wording)}`, about: revisionOf(view, given) };
}

/** What is shown is what ends, and not what the record is made into until the answer comes. */
function revisionOf({ revision: seenNow }: BlacklistView, given: Given): Given["values"] {
  return { revision: numberIn(given, "revision") ?? seenNow };
}

export async function asksToImport({ call, given, say }: Wording, verbs: Verbs): Promise<string> {
  const input = importInput(given);
  const found = (await verbs.run("importBlacklist", call, { ...input, query: { ...input.query, dry_run: "true" } })) as BlacklistImport;
  return `${say("blacklist import ask")}\n${importText(found, say)}`;
}

export function importInput(given: Given): VerbInput {
  return { query: pickedQuery(given, "mode"), file: given.files["file"]?.[0] };
}

export function imported(view: BlacklistImport, { say }: Wording): Reply {
  const files = [{ name: "import.json", content: JSON.stringify(view.results, null, 2) }];
  return { content: `${say("blacklist import done")}\n${importText(view, say)}`, files };
}
