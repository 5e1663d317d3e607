import { say } from "../../kit/say.ts";
import { z } from "zod";
import type { FollowedEntry } from "../../generated/sqlite/client.ts";
import { ForeignTime, foreignText, readForeign, shownValue } from "../../kernel/foreign.ts";
import { parsingSlices } from "../../kernel/time-slices.ts";
import { recommendedActions, severities } from "../../kernel/vocabulary.ts";
import type { BlacklistTransfer } from "../blacklist/import/import.service.ts";
import type { SourceLine, TextLine } from "../blacklist/import-lines.ts";
import { saySame } from "./entries.ts";
import { ReadingFailed, type Unread } from "./feed.ts";
import { entryCategories, entryKinds, maxEntries, maxUnreadLines, type UnreadLineView } from "./follows.schema.ts";
import { readSubject } from "./subjects.ts";

const subjectLength = 2048;
/** What is read of a line; the other columns of an export are left alone. */
const Line = z.object({
  kind: z.enum(entryKinds),
  subject_id: foreignText(subjectLength),
  number: foreignText(40, 1).optional(),
  status: foreignText(40).optional(),
  scope: foreignText(40).optional(),
  category: z.enum(entryCategories).default("other"),
  severity: z.enum(severities).default("medium"),
  recommended_action: z.enum(recommendedActions).nullish(),
  starts_at: ForeignTime.optional(),
  expires_at: ForeignTime.nullish(),
});
type Line = z.infer<typeof Line>;
/** What tells whom a line is about where the rest of it cannot be read. */
const Named = z.object({ number: Line.shape.number.catch(undefined), scope: Line.shape.scope.catch(undefined) });

type Readers = BlacklistTransfer["readers"];
export type Lines = AsyncIterable<SourceLine> | Iterable<SourceLine>;

/**
 * The lines of a text in one of the documented forms: CSV, a JSON list, JSON line by line, or names of domains line by line.
 * @throws ReadingFailed where there is nothing, or it is cut off: what lacks would be taken for taken back
 */
export function linesIn(readers: Readers, text: string): AsyncIterable<SourceLine> {
  const start = text.replace(/^\ufeff/, "").trim();
  if (start === "") throw new ReadingFailed(say("follows.the-file-is-empty"));
  const list = /^\{\s*"(?:domains|records)"\s*:/.exec(start)?.[0] ?? (/^\[\s*[{"\]]/.test(start) ? "" : undefined);
  if (list !== undefined) {
    if (!start.endsWith(list === "" ? "]" : "}")) throw new ReadingFailed(say("follows.the-file-is-cut-off"));
    return readers.json([`{"records":`, start.slice(list.length)]);
  }
  if (start.startsWith("{")) return readers.ndjson([text]);
  const [first = ""] = start.split(/[\r\n]/, 1);
  const isTable = /^"?sep=/i.test(first) || (/[,;\t|]/.test(first) && /\b(?:kind|subject_id)\b/i.test(first));
  return isTable ? readers.csv([text]) : namesIn(readers.plain([text]));
}

/** What stands before the names in a file of hosts, and the names that each has and that lists nobody. */
const hostsLine = /^(?:0\.0\.0\.0|127\.0\.0\.1|::1?|fe80::1%lo0|ff0[0-2]::[0-3]|255\.255\.255\.255)\s+(.*)$/;
const ownName = /^(?:localhost(?:\.localdomain)?|local|broadcasthost|ip6-[a-z0-9-]+|0\.0\.0\.0)$/i;
const comment = /^(?:[#!;]|\/\/|\[adblock)|^$/i;

/** Names of domains line by line, as public lists are: plain, as a file of hosts, or as rules of an ad blocker. */
async function* namesIn(lines: AsyncIterable<TextLine>): AsyncGenerator<SourceLine> {
  for await (const { line, text: whole, isTooLong } of lines) {
    const bare = whole.replace("\ufeff", "").trim();
    if (comment.test(bare)) continue;
    const said = (/^([^]*?)\s[#!]/.exec(bare)?.[1] ?? bare).slice(0, subjectLength);
    const hosts = hostsLine.exec(said)?.[1]?.split(/\s+/);
    for (const name of (hosts ?? [said]).filter((one) => hosts === undefined || !ownName.test(one)))
      yield isTooLong
        ? { line, errors: [{ pointer: "", code: "malformed", detail: say("follows.the-line-is-too-long") }] }
        : { line, value: name };
  }
}

/** What a file says, as far as it could be read. */
export interface FileContents {
  entries: ReadonlyMap<string, FollowedEntry>;
  /** Entries whose line could not be read, though it says which they are: of them holds what they said before. */
  held: ReadonlySet<string>;
  /** How many lines could not be read. */
  unread: number;
  unreadLines: readonly UnreadLineView[];
}

const mostUnread = say("follows.most-lines-of-the-file-cannot-be");

/**
 * Everything a file lists. A line that cannot be read is reported, and the rest is taken; a file of which most cannot be read is another page,
 * and says nothing.
 * @throws ReadingFailed
 */
export async function entriesIn(
  lines: Lines,
  { listId, categories, now }: { listId: string; categories: readonly string[]; now: Date },
): Promise<FileContents> {
  const [entries, held] = [new Map<string, FollowedEntry>(), new Set<string>()];
  const unreadLines: UnreadLineView[] = [];
  const slices = parsingSlices();
  let [count, unread] = [0, 0];
  for await (const source of lines) {
    count += 1;
    if (count > maxEntries) throw new ReadingFailed(say("follows.a-list-holds-at-most-entries", { count: maxEntries }));
    if (slices.isSpent()) await slices.next();
    const read = readLine(source);
    const fault = "unread" in read ? read.unread : take(read);
    if (fault === undefined) continue;
    unread += 1;
    if (unreadLines.length < maxUnreadLines) unreadLines.push({ line: source.line, ...fault });
    if ("unread" in read && read.id !== undefined) held.add(read.id);
  }
  const [first] = unreadLines;
  if (count === 0) return { entries, held, unread, unreadLines };
  if (unread * 2 > count && first !== undefined)
    throw new ReadingFailed(`${mostUnread} ${say("follows.line", { line: first.line, detail: first.reason })}`);
  return { entries, held, unread, unreadLines };

  function take({ line, subject }: ReadLine): Unread | undefined {
    const { kind, number, status, category, severity } = line;
    if (status !== undefined && status !== "active" && status !== "scheduled") return undefined;
    if (categories.length > 0 && !categories.includes(category)) return undefined;
    const originId = number ?? idOf(line, subject);
    const row = {
      listId,
      originId,
      number: number ?? `${kind}-${subject}`,
      revision: 1,
      kind,
      subject,
      category,
      severity,
      recommendedAction: line.recommended_action ?? null,
      // Whoever is listed without a time is listed from the beginning, whenever the file is read.
      startsAt: line.starts_at ?? new Date(0),
      expiresAt: line.expires_at ?? null,
      updatedAt: now,
    };
    const before = entries.get(originId);
    if (before !== undefined)
      return saySame(before, row)
        ? undefined
        : { field: "", value: shownValue(originId), reason: say("follows.an-earlier-line-says-something-else-of") };
    entries.set(originId, row);
    return undefined;
  }
}

interface ReadLine {
  line: Line;
  subject: string;
}

function idOf({ kind, scope = "network" }: Pick<Line, "kind" | "scope">, subject: string): string {
  return `${kind}:${subject}:${scope}`;
}

/** A line, or why it cannot be read, with the id of its entry where that much can be read. */
function readLine({ value, errors, ...source }: SourceLine): ReadLine | { unread: Unread; id: string | undefined } {
  if (errors !== undefined) {
    const [fault] = errors;
    return { unread: { field: fault?.pointer ?? "", value: shownValue(source.text ?? ""), reason: fault?.detail ?? "" }, id: undefined };
  }
  const given = typeof value === "string" ? { kind: "domain", subject_id: value } : value;
  const parsed = readForeign(Line, given);
  if ("faults" in parsed) {
    const [{ pointer, detail } = { pointer: "", detail: "" }] = parsed.faults;
    const fields = given as Readonly<Record<string, unknown>> | null;
    const told = pointer === "" ? given : (fields?.[pointer.slice(1)] ?? "");
    return { unread: { field: pointer, value: shownValue(told), reason: detail }, id: idBefore(given) };
  }
  const { kind, subject_id: written } = parsed.data;
  const found = readSubject(kind, written);
  if ("subject" in found) return { line: parsed.data, subject: found.subject };
  return { unread: { field: "/subject_id", value: shownValue(written), reason: found.fault }, id: parsed.data.number };
}

function idBefore(given: unknown): string | undefined {
  const named = Named.safeParse(given);
  if (!named.success) return undefined;
  if (named.data.number !== undefined) return named.data.number;
  const about = Line.pick({ kind: true, subject_id: true }).safeParse(given);
  if (!about.success) return undefined;
  const found = readSubject(about.data.kind, about.data.subject_id);
  return "subject" in found ? idOf({ kind: about.data.kind, scope: named.data.scope }, found.subject) : undefined;
}
