import { createHeldRows } from "../../cluster/held-rows.ts";
import type { Deps } from "../deps.ts";
import { earliestOf, firstOf } from "../../database/earliest.ts";
import { insertRows } from "../../database/insert.ts";
import type { ReadClient, TransactionClient, Tx } from "../../database/database.ts";
import { Prisma, type FollowedEntry, type FollowedList } from "../../generated/sqlite/client.ts";
import { requirePermission, type Call } from "../../kernel/call.ts";
import type { ListedByView, ListedLinkView } from "../../kernel/listed-by.ts";
import { severities } from "../../kernel/vocabulary.ts";
import { isInForce, isKept, type KeptEntry } from "./follows.policy.ts";
import type { EntryKind } from "./follows.schema.ts";
import { isIP } from "node:net";
import { domainToASCII } from "node:url";
import { plainText } from "../../kernel/written.ts";
import { hostIn, hostKind, refanged } from "./subjects.ts";

/** The invites and domains that texts lead to. */
interface FoundLinks {
  invite: readonly string[];
  domain: readonly string[];
}

/** Labels of a host that are looked at one by one; the whole host always is. */
const maxLabels = 10;
/** What comes after the scheme is only looked at, as there may be an address within an address. It ends before the next slash. */
const addresses = /https?\s?:\/+(?=([^\s/?#<>"`|]{1,2048}))/gi;
/** A host without a scheme: at the beginning of a word or of a value in an address. */
const names =
  /(?<![\p{L}\p{M}\p{N}_.@%-]|[^/]\/|^\/)[\p{L}\p{M}\p{N}_-]{1,63}(?:\.[\p{L}\p{M}\p{N}_-]{1,63}){1,126}(?!\.?[\p{L}\p{M}\p{N}_@-])/gu;
/** The same among letters of scripts that put no space between words. */
const asciiNames =
  /(?<=^|[^\p{L}\p{M}\p{N}_.@%/-]|\/\/|[\p{sc=Han}\p{sc=Hiragana}\p{sc=Katakana}\p{sc=Hangul}\p{sc=Thai}])[\w-]{1,63}(?:\.[\w-]{1,63}){1,126}(?!\.?[\w@\p{sc=Latin}\p{sc=Cyrillic}\p{sc=Greek}-])/gu;
const invites =
  /(?:(?<![\w-])discord(?:\s?[.,]\s?gg|(?:app)?\s?\.\s?com\s?\/+\s?invite)|(?<![\w-])\.gg)\s?\/+\s?(?:invite\/+)?([A-Za-z0-9-]{2,64})/gi;
/** Where an address ends in a text that goes on: the bracket of a masked link, or a mark of Markdown. */
const brackets = /[()[\]{},;*'!\u2018-\u201f\u00ab\u00bb\u2026]/;
const ends: ReadonlySet<string> = new Set(".,:;!?*_~-");

/** Characters below 128 that are written by their number, as addresses within addresses are. */
function decoded(text: string): string {
  return text.replace(/%([0-7][0-9a-f])/gi, (_, hex: string) => String.fromCharCode(Number.parseInt(hex, 16)));
}

/** A text as it stands there, and as it reads once and twice decoded. */
function readingsOf(text: string): string[] {
  const once = decoded(text);
  const twice = decoded(once);
  return [...new Set([text, once, twice])];
}

function withoutEnd(text: string): string {
  let end = text.length;
  while (end > 0 && ends.has(text[end - 1] ?? "")) end -= 1;
  return text.slice(0, end);
}

const beforeBracket = (text: string): string => text.slice(0, brackets.exec(text)?.index);
const afterName = (text: string): string => text.slice(text.lastIndexOf("@") + 1);

/** The hosts of an address whose end nobody has marked. What stands before an @ is a name, which can look like a host. */
function* hostsAfterScheme(authority: string): Generator<string> {
  for (const one of new Set([afterName(beforeBracket(authority)), beforeBracket(afterName(authority))])) {
    const name = withoutEnd(one);
    const host = hostIn(name) ?? hostIn(name.replace(/:.*$/, ""));
    if (host !== undefined) yield host;
  }
}

function* hostsIn(text: string): Generator<string> {
  for (const [, authority = ""] of text.matchAll(addresses)) yield* hostsAfterScheme(authority);
  for (const pattern of /[^\0-\u007f]/.test(text) ? [names, asciiNames] : [names])
    for (const [found] of text.matchAll(pattern)) {
      const host = domainToASCII(withoutEnd(found).replace(/^_+/, ""));
      if (hostIn(host) === host && isIP(host) === 0 && hostKind(host, true) === "domain") yield host;
    }
}

/** A host with those above it, as an entry stands for all below. */
function withParents(host: string): string[] {
  if (isIP(host) !== 0) return [host];
  const labels = host.split(".");
  const parents = labels.slice(-maxLabels).map((_, index, some) => some.slice(index).join("."));
  return [...new Set([host, ...parents])].filter((one) => hostKind(one) === "domain");
}

/**
 * The invites and domains that texts lead to, however people write them: masked, without a scheme, made harmless, hidden in the address of
 * another site, or with characters in between that nobody sees.
 */
export function linksIn(texts: readonly (string | null)[]): FoundLinks {
  const [invite, hosts] = [new Set<string>(), new Set<string>()];
  for (const text of readingsOf(refanged(plainText(texts.filter((one) => one !== null).join("\n"))))) {
    for (const [, code = ""] of text.matchAll(invites)) invite.add(code);
    for (const host of hostsIn(text)) hosts.add(host);
  }
  return { invite: [...invite], domain: [...new Set([...hosts].flatMap(withParents))] };
}

/** Told of the accounts of whom a list says something else from now on. */
type OnChange = (tx: Tx, userIds: readonly string[]) => void;

type ListName = Pick<FollowedList, "name" | "trust" | "revision">;

export interface FollowedEntries {
  load(): Promise<void>;
  /** How many lists are followed. No I/O. */
  count(): number;
  /** Hear, in the transaction, about whom a list says something else: entries that were stored, changed or removed, or whose date has come. */
  onChange(hear: OnChange): void;
  /** Hear, in the transaction, of a list that is followed no more. */
  onEnd(hear: (tx: Tx, listId: string) => Promise<void>): void;
  /** A list is followed from now on, or is called or trusted otherwise. */
  noteList(tx: Tx, id: string, given: ListName): void;
  /** A list is followed no more: everything it said is forgotten. */
  endList(tx: Tx, id: string): Promise<void>;
  /** What a followed list is called; undefined where none has this id. No I/O. */
  nameOf(id: string): string | undefined;
  nextDue(): Promise<Date | null>;
  /** Report the accounts whose entries have started or ended by their own dates. For the job that runs at these dates. @returns how many */
  reportDated(call: Call): Promise<number>;
  listed(kind: EntryKind, ids: readonly string[]): Promise<Map<string, ListedByView[]>>;
  inForce(
    db: Pick<ReadClient | TransactionClient, "followedEntry">,
    kind: EntryKind,
    ids: readonly string[],
    now: Date,
  ): Promise<
    {
      entry: KeptEntry;
      list: ListName;
    }[]
  >;
  /** The invites and domains in each of these groups of texts that followed lists name, as far as they do. Two queries for all of them. */
  listedLinks(groups: readonly (readonly (string | null)[])[]): Promise<ListedLinkView[][]>;
  /** Every account that an entry is about, in parts. */
  userIds(): AsyncGenerator<string[]>;
  /** Everything a list has said, in parts. */
  pagesOf(listId: string): AsyncGenerator<FollowedEntry[]>;
  /** The entries of a list by their ids at the origin. */
  known(tx: Pick<Tx, "db">, listId: string, originIds: readonly string[]): Promise<Map<string, FollowedEntry>>;
  /** Put entries in the place of those of the same ids. @param gone ids of which nothing is kept any more */
  put(
    tx: Tx,
    listId: string,
    options: {
      before: readonly FollowedEntry[];
      rows: readonly FollowedEntry[];
      gone: readonly string[];
    },
  ): Promise<void>;
  forgetAll(tx: Tx, listId: string): Promise<void>;
}

/** Values of one statement, of which SQLite is given at most 999. */
const idsAtOnce = 900;
const readAtOnce = 5000;
/** Whole rows that are read at once, as others wait meanwhile. */
const comparedAtOnce = 100;
/** The setting that holds up to when the starts and ends of entries were reported. */
const reportedKey = "followed_entries_reported";
const empty = {
  kind: null,
  subject: null,
  category: null,
  severity: null,
  recommendedAction: null,
  startsAt: null,
  expiresAt: null,
} as const;

/** What followed lists say of people and servers: the only writer of entries. */
export function createFollowedEntries({ database, clock }: Deps<"database" | "clock">): FollowedEntries {
  /** By id. Which lists there are is asked with every check, and changes by hand alone. */
  const lists = createHeldRows<ListName>(async () => {
    const rows = await database.read.followedList.findMany({ select: { id: true, name: true, trust: true, revision: true } });
    return new Map(rows.map(({ id, ...list }) => [id, list]));
  });
  const hearers: OnChange[] = [];
  const endings: ((tx: Tx, listId: string) => Promise<void>)[] = [];

  /** One list can say two things of an account: in two scopes. */
  function tell(tx: Tx, before: readonly FollowedEntry[], after: readonly FollowedEntry[]): void {
    const said = (rows: readonly FollowedEntry[]) =>
      new Set(rows.flatMap((row) => (row.kind === "user" ? [JSON.stringify([row.subject, row.originId, saidBy(row)])] : [])));
    const [was, is] = [said(before), said(after)];
    const differing = [...was].filter((one) => !is.has(one)).concat([...is].filter((one) => !was.has(one)));
    const userIds = [...new Set(differing.map((text) => (JSON.parse(text) as [string])[0]))];
    if (userIds.length > 0) for (const hear of hearers) hear(tx, userIds);
  }

  /** Up to when starts and ends were reported; null: no list is followed, so there are none. */
  async function reportedUntil(db: Pick<ReadClient | TransactionClient, "setting" | "followedList">): Promise<Date | null> {
    const row = await db.setting.findUnique({ where: { key: reportedKey } });
    if (row !== null) return new Date(String(row.value));
    return (await db.followedList.findFirst({ orderBy: { createdAt: "asc" }, select: { createdAt: true } }))?.createdAt ?? null;
  }

  /** The accounts whose entries started or ended in a stretch of time. What was stored after its date was reported when it was stored. */
  async function datedBetween(tx: Tx, from: Date, now: Date): Promise<string[]> {
    const dated = { gt: from, lte: now };
    const select = { subject: true, updatedAt: true, startsAt: true, expiresAt: true } as const;
    const started = await tx.db.followedEntry.findMany({ where: { kind: "user", startsAt: dated }, select });
    const ended = await tx.db.followedEntry.findMany({ where: { kind: "user", expiresAt: dated }, select });
    const due = [
      ...started.filter(({ updatedAt, startsAt }) => startsAt !== null && updatedAt < startsAt),
      ...ended.filter(({ updatedAt, expiresAt }) => expiresAt !== null && updatedAt < expiresAt),
    ];
    return [...new Set(due.flatMap(({ subject }) => subject ?? []))];
  }

  /** When the next entry starts or ends. */
  async function nextDue(): Promise<Date | null> {
    const from = await reportedUntil(database.read);
    if (from === null) return null;
    return firstOf(
      await earliestOf(database.read, "FollowedEntry", "startsAt", [{ kind: "user", startsAt: { gt: from } }]),
      await earliestOf(database.read, "FollowedEntry", "expiresAt", [{ kind: "user", expiresAt: { gt: from } }]),
    );
  }

  /** Forget everything a list has said. */
  async function forgetAll(tx: Tx, listId: string): Promise<void> {
    const before = await tx.db.followedEntry.findMany({ where: { listId, kind: { not: null } } });
    await tx.db.followedEntry.deleteMany({ where: { listId } });
    tell(tx, before, []);
  }

  return {
    load: lists.load,
    count: lists.count,

    onChange: (hear: OnChange): void => void hearers.push(hear),

    onEnd: (hear: (tx: Tx, listId: string) => Promise<void>): void => void endings.push(hear),

    noteList: (tx: Tx, id: string, { name, trust, revision }: ListName): void =>
      tx.afterCommit(() => lists.set(id, { name, trust, revision })),

    async endList(tx: Tx, id: string): Promise<void> {
      await forgetAll(tx, id);
      for (const hear of endings) await hear(tx, id);
      tx.afterCommit(() => lists.remove(id));
    },

    nameOf: (id: string): string | undefined => lists.get(id)?.name,

    nextDue,

    async reportDated(call: Call): Promise<number> {
      requirePermission(call, "system.act");
      const next = await nextDue();
      if (next === null || next > clock.now()) return 0;
      return await database.write(call, async (tx) => {
        await tx.lock(reportedKey);
        const from = await reportedUntil(tx.db);
        if (from === null || from >= tx.now) return 0;
        const userIds = await datedBetween(tx, from, tx.now);
        if (userIds.length > 0) for (const hear of hearers) hear(tx, userIds);
        const value = tx.now.toISOString();
        await tx.db.setting.upsert({ where: { key: reportedKey }, create: { key: reportedKey, value }, update: { value } });
        return userIds.length;
      });
    },

    listed,
    inForce,

    async listedLinks(groups: readonly (readonly (string | null)[])[]): Promise<ListedLinkView[][]> {
      const found = groups.map((texts) => linksIn(texts));
      const says = async (kind: "invite" | "domain") => await listed(kind, [...new Set(found.flatMap((links) => links[kind]))]);
      const [invite, domain] = [await says("invite"), await says("domain")];
      const of = (kind: "invite" | "domain", by: ReadonlyMap<string, ListedByView[]>, subjects: readonly string[]) =>
        subjects.flatMap((subject) => {
          const lists = by.get(subject);
          return lists === undefined ? [] : [{ kind, subject, listed_by: lists }];
        });
      return found.map((links) => [...of("invite", invite, links.invite), ...of("domain", domain, links.domain)]);
    },

    async *userIds(): AsyncGenerator<string[]> {
      for (let after: { listId: string; originId: string } | undefined; ;) {
        const rows = await database.read.followedEntry.findMany({
          where: { kind: "user" },
          select: { listId: true, originId: true, subject: true },
          orderBy: [{ listId: "asc" }, { originId: "asc" }],
          take: readAtOnce,
          ...(after !== undefined && { skip: 1, cursor: { listId_originId: after } }),
        });
        yield rows.flatMap(({ subject }) => subject ?? []);
        after = rows.at(-1);
        if (after === undefined || rows.length < readAtOnce) return;
        after = { listId: after.listId, originId: after.originId };
      }
    },

    async *pagesOf(listId: string): AsyncGenerator<FollowedEntry[]> {
      for (let after = ""; ;) {
        const next = Prisma.sql`WHERE t.list_id = ${listId} AND t.origin_id > ${after} ORDER BY t.origin_id LIMIT ${comparedAtOnce}`;
        const rows = await database.read.$select("FollowedEntry", next);
        yield rows;
        const last = rows.at(-1);
        if (last === undefined || rows.length < comparedAtOnce) return;
        after = last.originId;
      }
    },

    async known(tx: Pick<Tx, "db">, listId: string, originIds: readonly string[]): Promise<Map<string, FollowedEntry>> {
      const found = new Map<string, FollowedEntry>();
      for (let from = 0; from < originIds.length; from += idsAtOnce) {
        const originId = { in: originIds.slice(from, from + idsAtOnce) };
        for (const row of await tx.db.followedEntry.findMany({ where: { listId, originId } })) found.set(row.originId, row);
      }
      return found;
    },

    async put(
      tx: Tx,
      listId: string,
      { before, rows, gone }: { before: readonly FollowedEntry[]; rows: readonly FollowedEntry[]; gone: readonly string[] },
    ): Promise<void> {
      const ids = [...gone, ...rows.map(({ originId }) => originId)];
      for (let from = 0; from < ids.length; from += idsAtOnce)
        await tx.db.followedEntry.deleteMany({ where: { listId, originId: { in: ids.slice(from, from + idsAtOnce) } } });
      await insertRows(tx, "FollowedEntry", rows);
      tell(tx, before, rows);
    },

    forgetAll,
  };

  /** The entries about some subjects that count now. One query, and none where no list is followed. */
  async function inForce(
    db: Pick<ReadClient | TransactionClient, "followedEntry">,
    kind: EntryKind,
    ids: readonly string[],
    now: Date,
  ): Promise<{ entry: KeptEntry; list: ListName }[]> {
    if (lists.count() === 0) return [];
    const rows: FollowedEntry[] = [];
    for (let from = 0; from < ids.length; from += idsAtOnce)
      rows.push(...(await db.followedEntry.findMany({ where: { kind, subject: { in: ids.slice(from, from + idsAtOnce) } } })));
    return rows.flatMap((entry) => {
      const list = lists.get(entry.listId);
      return list !== undefined && isKept(entry) && isInForce(entry, now) ? [{ entry, list }] : [];
    });
  }

  /** What followed lists say of some subjects now; who is on none is left out. */
  async function listed(kind: EntryKind, ids: readonly string[]): Promise<Map<string, ListedByView[]>> {
    const found = new Map<string, ListedByView[]>();
    for (const { entry, list } of await inForce(database.read, kind, ids, clock.now())) {
      const { listId, number, category, subject } = entry;
      const severity = entry.severity as ListedByView["severity"];
      const one = { list_id: listId, list: list.name, trust: list.trust, number, category, severity };
      found.set(subject, [...(found.get(subject) ?? []), one]);
    }
    for (const some of found.values()) some.sort(byWeight);
    return found;
  }
}

/** An entry of which nothing but its number and revision is kept. */
export function emptied(row: Pick<FollowedEntry, "listId" | "originId" | "number" | "revision" | "updatedAt">): FollowedEntry {
  const { listId, originId, number, revision, updatedAt } = row;
  return { listId, originId, number, revision, updatedAt, ...empty };
}

function saidBy({ category, severity, recommendedAction, startsAt, expiresAt }: FollowedEntry) {
  return [category, severity, recommendedAction, startsAt?.getTime() ?? null, expiresAt?.getTime() ?? null];
}

/** Whether two entries say the same of the same. */
export function saySame(one: FollowedEntry, other: FollowedEntry): boolean {
  const said = saidBy(other);
  return one.kind === other.kind && one.subject === other.subject && saidBy(one).every((value, index) => value === said[index]);
}

/** The most trusted first, then the most severe. */
function byWeight(one: ListedByView, other: ListedByView): number {
  return (
    other.trust - one.trust || severities.indexOf(other.severity) - severities.indexOf(one.severity) || (one.list < other.list ? -1 : 1)
  );
}
