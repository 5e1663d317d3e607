import { say } from "../../kit/say.ts";
import type { Logger } from "pino";
import type { Deps } from "../deps.ts";
import type { Tx } from "../../database/database.ts";
import { type FollowedEntry, type FollowedList, Prisma } from "../../generated/sqlite/client.ts";
import { shownAddress, wholeAddress } from "../../kernel/addresses.ts";
import { requirePermission, requireWrite, type Call } from "../../kernel/call.ts";
import { fieldError, ProblemError, recordNotFound } from "../../kernel/errors.ts";
import { uuid7 } from "../../kernel/ids.ts";
import { toPage, withTotal, type Page } from "../../kernel/page.ts";
import { requireRevision } from "../../kernel/revision.ts";
import { sealedIn } from "../../kernel/secrets.ts";
import type { Conflicts } from "../links/conflicts.ts";
import type { BlacklistService } from "../blacklist/blacklist.service.ts";
import type { CreateBlacklistInput } from "../blacklist/blacklist.schema.ts";
import { createTurns } from "../../kernel/turns.ts";
import { createTasks, leaseFrom, type TaskKind } from "../../kit/task.ts";
import { followsPolicy, isKept, presentEntry, presentList, presentListed } from "./follows.policy.ts";
import {
  AdoptInput,
  FollowListInput,
  ListEntriesQuery,
  ListFollowedQuery,
  SendFileInput,
  UpdateListInput,
  type AdoptedView,
  type FollowedEntryView,
  type FollowedListView,
} from "./follows.schema.ts";
import type { EntryChange } from "./compare.ts";
import { ReadingFailed } from "./feed.ts";
import { linesIn, type Lines } from "./file.ts";
import { createReading, fromBeginning, Outrun, type ReadingDeps } from "./reading.ts";

interface ReadingsDeps extends Deps<"database"> {
  /** Reads one list, and notes how that went. */
  read: (call: Call, id: string) => Promise<FollowedList | undefined>;
}

/** Lists that are read at the same time. */
const places = 8;

/** The reading of lists at their dates, as stored work: each by itself, so that one that is slow or fails delays no other. */
function createReadings({ database, read }: ReadingsDeps): TaskKind {
  return {
    name: "followed lists",
    places,

    async due(now, most, after) {
      const behind = after === undefined ? Prisma.empty : Prisma.sql`AND (t.next_read_at, t.id) > (${after.dueAt}, ${after.id})`;
      const rows = await database.read.$select(
        "FollowedList",
        Prisma.sql`WHERE t.state = 'following' AND t.next_read_at <= ${now} ${behind} ORDER BY t.next_read_at, t.id LIMIT ${most}`,
        ["id", "nextReadAt"],
      );
      return rows.flatMap(({ id, nextReadAt }) => (nextReadAt === null ? [] : [{ id, key: id, dueAt: nextReadAt }]));
    },

    async nextDue(now) {
      const row = await database.read.followedList.findFirst({
        where: { state: "following", nextReadAt: { gt: now } },
        orderBy: { nextReadAt: "asc" },
        select: { nextReadAt: true },
      });
      return row?.nextReadAt ?? null;
    },

    async attempt(call, id) {
      const isOurs = await database.write(call, async ({ db, now }) => {
        const due = { id, state: "following", nextReadAt: { lte: now } };
        return (await db.followedList.updateMany({ where: due, data: { nextReadAt: leaseFrom(now) } })).count > 0;
      });
      if (!isOurs) return "passed";
      await read(call, id);
      return "later";
    },
  };
}

export interface FollowsDeps extends ReadingDeps, Deps<"cursors"> {
  logger: Logger;
  blacklist: Pick<BlacklistService, "create">;
  conflicts: Pick<Conflicts, "accountsOf" | "ownMatter">;
}

export interface FollowsService {
  /** Follow a list. It is read for the first time within a minute. @throws ProblemError validation_failed */
  follow(call: Call, input: FollowListInput): Promise<FollowedListView>;
  /** @throws ProblemError record_not_found */
  get(call: Call, id: string): Promise<FollowedListView>;
  /** The lists that are followed, by their ids. */
  list(call: Call, query: ListFollowedQuery): Promise<Page<FollowedListView>>;
  /**
   * Change a list. Where it is read from, or what is taken, changes what it says: it is read from the beginning then.
   * @throws ProblemError record_not_found, precondition_failed, validation_failed, conflict_of_interest
   */
  update(call: Call, id: string, input: UpdateListInput, ifMatch?: number): Promise<FollowedListView>;
  /** Follow a list no more: everything it said is forgotten. @throws ProblemError record_not_found, precondition_failed, conflict_of_interest */
  unfollow(call: Call, id: string, ifMatch?: number): Promise<FollowedListView>;
  /** Read a list now. What goes wrong stands in the answer. @throws ProblemError record_not_found, invalid_transition where nothing can be read */
  refresh(call: Call, id: string): Promise<FollowedListView>;
  /**
   * Forget what a list said and read it from the beginning, after a person has looked.
   * @throws ProblemError record_not_found, precondition_failed, conflict_of_interest
   */
  reset(call: Call, id: string, ifMatch?: number): Promise<FollowedListView>;
  /**
   * Take a file that is sent, and take back what has left it. Files for the same list are taken one after the other.
   * @throws ProblemError record_not_found, validation_failed, invalid_transition, precondition_failed, conflict_of_interest
   */
  sendFile(call: Call, id: string, input: SendFileInput, ifMatch?: number): Promise<FollowedListView>;
  /** What a list says now, by the ids of its origin. @throws ProblemError record_not_found */
  entries(call: Call, id: string, query: ListEntriesQuery): Promise<Page<FollowedEntryView>>;
  /**
   * Make a record of one's own of what a list says. It stands for itself from then on, whatever becomes of the entry.
   * @throws ProblemError record_not_found, and as creating a record
   */
  adopt(call: Call, id: string, number: string, input: AdoptInput): Promise<AdoptedView>;
  /** Learn what other processes follow, and look at what is due. For the job that runs each minute. */
  lookAgain(): Promise<void>;
  /** The lists that need a person: they are stopped, or could not be read several times in a row. */
  inTrouble(): Promise<Pick<FollowedList, "name" | "state" | "problem">[]>;
  /** How many lists are followed, by how their reading goes: for the metric. */
  byState(): Promise<
    [
      {
        state: string;
      },
      number,
    ][]
  >;
  /** From now on lists are read at their dates. */
  start(): void;
  /** Begin with no further list, and wait for those that are being read. */
  stop(): Promise<void>;
}

const listsName = "followed_lists";
const entriesName = "followed_entries";
/** Minutes between two readings, unless told. */
const usualInterval = { provost: 5, file: 60 } as const;
/** Readings that have to fail in a row before anybody is told: an address may be away for a moment. */
const failuresToTell = 3;
/** How often a file is taken anew while somebody else changes the list. */
const triesToTake = 5;

/** Lists of others: which are followed, and what they say. */
export function createFollowsService(deps: FollowsDeps): FollowsService {
  const { database, audit, cursors, clock, keyring, entries, blacklist, conflicts, readers } = deps;
  const reading = createReading(deps);
  const tasks = createTasks(createReadings({ ...deps, read: reading.read }), deps);
  const turns = createTurns();

  async function find(id: string): Promise<FollowedList> {
    const row = await database.read.followedList.findUnique({ where: { id } });
    if (row === null) throw recordNotFound();
    return row;
  }

  /** A list under its lock. @throws ProblemError record_not_found, precondition_failed */
  async function open(tx: Tx, id: string, ifMatch?: number): Promise<FollowedList> {
    await tx.lock(`followed_list:${id}`);
    const row = await tx.db.followedList.findUnique({ where: { id } });
    if (row === null) throw recordNotFound();
    requireRevision(ifMatch, row.revision);
    return row;
  }

  /**
   * Nobody changes or forgets what a list says of themselves, or of an account of theirs.
   * @param changed the entries that change; all of the list unless told
   * @throws ProblemError conflict_of_interest
   */
  async function requireImpartial({ db, call }: Tx, listId: string, changed?: readonly FollowedEntry[]): Promise<void> {
    const own = await conflicts.accountsOf(db, call);
    const about = { kind: "user", subject: { in: own } };
    const isNamed =
      changed === undefined
        ? own.length > 0 && (await db.followedEntry.count({ where: { listId, ...about } })) > 0
        : changed.some(({ kind, subject }) => kind === "user" && own.includes(subject ?? ""));
    if (isNamed) throw conflicts.ownMatter();
  }

  async function requireFree(tx: Tx, name: string): Promise<void> {
    await tx.lock("followed_list_names");
    if ((await tx.db.followedList.count({ where: { name } })) > 0)
      throw fieldError("/name", "conflict", say("follows.another-list-is-called-that"));
  }

  function note(tx: Tx, verb: "follow" | "update" | "unfollow" | "reset" | "send", row: FollowedList, more: object = {}): void {
    const target = { kind: "followed_list", id: row.id, reference: row.id };
    audit.record(tx, { action: `followed_list.${verb}`, target, permission: followsPolicy.manage, ...more });
  }

  return {
    async follow(call: Call, input: FollowListInput): Promise<FollowedListView> {
      requireWrite(call, followsPolicy.manage);
      const { name, kind, address, key, categories, trust, interval_minutes: interval } = FollowListInput.parse(input);
      return await database.write(call, async (tx) => {
        await requireFree(tx, name);
        const id = uuid7(tx.now.getTime());
        const row = await tx.db.followedList.create({
          data: {
            id,
            name,
            kind,
            address: address === undefined ? null : wholeAddress("/address", address),
            key: key === undefined ? null : keyring.encrypt(key, sealedIn.listKey(id)),
            categories,
            trust,
            intervalMinutes: interval ?? usualInterval[kind],
            state: "following",
            failures: 0,
            nextReadAt: address === undefined ? null : tx.now,
            ...fromBeginning(),
            readings: 0,
            createdBy: tx.call.actor?.id ?? null,
            createdAt: tx.now,
            updatedAt: tx.now,
            revision: 1,
          },
        });
        note(tx, "follow", row, { after: toldOf(row) });
        entries.noteList(tx, id, row);
        return presentList(row);
      });
    },

    async get(call: Call, id: string): Promise<FollowedListView> {
      requirePermission(call, followsPolicy.read);
      return presentList(await find(id));
    },

    async list(call: Call, query: ListFollowedQuery): Promise<Page<FollowedListView>> {
      requirePermission(call, followsPolicy.read);
      const { limit, cursor, count } = ListFollowedQuery.parse(query);
      const after = cursor === undefined ? {} : { id: { gt: cursors.decode(listsName, {}, cursor)[1] } };
      const rows = await database.read.followedList.findMany({
        where: after,
        omit: { unreadLines: true },
        orderBy: { id: "asc" },
        take: limit + 1,
      });
      const page = toPage(rows, limit, presentListed, ({ id }) => cursors.encode(listsName, {}, [id, id]));
      return await withTotal(page, { count }, () => database.read.followedList.count());
    },

    async update(call: Call, id: string, input: UpdateListInput, ifMatch?: number): Promise<FollowedListView> {
      requireWrite(call, followsPolicy.manage);
      const wanted = UpdateListInput.parse(input);
      return await database.write(call, async (tx) => {
        const row = await open(tx, id, ifMatch);
        const address = wanted.address === undefined ? row.address : wholeAddress("/address", wanted.address, row.address);
        const moves = address !== row.address;
        if (row.kind === "file" && wanted.key !== undefined)
          throw fieldError("/key", "conflict", say("follows.only-another-provost-is-asked-with-a"));
        // A key is for whom it was got from: nobody has it sent elsewhere who does not know it.
        if (row.kind === "provost" && moves && wanted.key === undefined)
          throw fieldError("/key", "required", say("follows.send-the-key-for-the-new-address"));
        if (wanted.name !== undefined && wanted.name !== row.name) await requireFree(tx, wanted.name);
        const changes = {
          name: wanted.name ?? row.name,
          address,
          categories: (wanted.categories ?? row.categories) as string[],
          trust: wanted.trust ?? row.trust,
          intervalMinutes: wanted.interval_minutes ?? row.intervalMinutes,
        };
        const before = toldOf(row);
        const after = toldOf({ ...row, ...changes });
        const isSame = JSON.stringify(before) === JSON.stringify(after);
        if (!moves && isSame && wanted.key === undefined) {
          entries.noteList(tx, id, row);
          return presentList(row);
        }
        const rereads = moves || JSON.stringify(row.categories) !== JSON.stringify(changes.categories);
        if (rereads) {
          await requireImpartial(tx, id);
          await entries.forgetAll(tx, id);
        }
        const isRead = changes.address !== null && row.state === "following";
        const changed = await tx.db.followedList.update({
          where: { id },
          data: {
            ...changes,
            ...(wanted.key !== undefined && { key: keyring.encrypt(wanted.key, sealedIn.listKey(id)) }),
            ...(rereads && fromBeginning()),
            ...(isRead && { nextReadAt: tx.now }),
            readings: { increment: 1 },
            updatedAt: tx.now,
            revision: { increment: 1 },
          },
        });
        note(tx, "update", changed, {
          before,
          after: { ...after, ...(moves && { address_changed: true }), ...(wanted.key !== undefined && { key: "changed" }) },
        });
        entries.noteList(tx, id, changed);
        return presentList(changed);
      });
    },

    async unfollow(call: Call, id: string, ifMatch?: number): Promise<FollowedListView> {
      requireWrite(call, followsPolicy.manage);
      return await database.write(call, async (tx) => {
        const row = await open(tx, id, ifMatch);
        await requireImpartial(tx, id);
        await entries.endList(tx, id);
        await tx.db.followedList.delete({ where: { id } });
        note(tx, "unfollow", row, { before: toldOf(row) });
        return presentList(row);
      });
    },

    async refresh(call: Call, id: string): Promise<FollowedListView> {
      requireWrite(call, followsPolicy.manage);
      const replay = await database.findReplay(call);
      if (replay !== undefined) return replay.value as FollowedListView;
      const { state, address } = await find(id);
      if (state !== "following") throw new ProblemError("invalid_transition", { detail: say("follows.the-list-is-stopped-look-why-and") });
      if (address === null) throw new ProblemError("invalid_transition", { detail: say("follows.the-list-has-no-address-send-its") });
      const row = await reading.read(withoutKey(call), id);
      if (row === undefined) throw recordNotFound();
      return await kept(call, presentList(row));
    },

    async reset(call: Call, id: string, ifMatch?: number): Promise<FollowedListView> {
      requireWrite(call, followsPolicy.manage);
      return await database.write(call, async (tx) => {
        const row = await open(tx, id, ifMatch);
        await requireImpartial(tx, id);
        await entries.forgetAll(tx, id);
        const nextReadAt = row.address === null ? null : tx.now;
        const afresh = { ...fromBeginning(), state: "following", problem: null, failures: 0, nextReadAt };
        const changed = await tx.db.followedList.update({
          where: { id },
          data: { ...afresh, readings: { increment: 1 }, updatedAt: tx.now, revision: { increment: 1 } },
        });
        note(tx, "reset", changed, { before: { state: row.state, problem: row.problem } });
        return presentList(changed);
      });
    },

    async sendFile(call: Call, id: string, input: SendFileInput, ifMatch?: number): Promise<FollowedListView> {
      requireWrite(call, followsPolicy.manage);
      const { csv, records } = SendFileInput.parse(input);
      const replay = await database.findReplay(call);
      if (replay !== undefined) return replay.value as FollowedListView;
      const lines = (): Lines =>
        csv === undefined ? (records ?? []).map((value, index) => ({ line: index + 1, value })) : linesIn(readers, csv);
      try {
        return await kept(call, await turns.take(id, () => takeSent(withoutKey(call), id, lines, ifMatch)));
      } catch (error) {
        if (error instanceof ReadingFailed) throw fieldError(csv === undefined ? "/records" : "/csv", "malformed", error.message);
        throw error;
      }
    },

    async entries(call: Call, id: string, query: ListEntriesQuery): Promise<Page<FollowedEntryView>> {
      requirePermission(call, followsPolicy.read);
      const { limit, cursor, count } = ListEntriesQuery.parse(query);
      await find(id);
      const now = clock.now();
      const where = { listId: id, kind: { not: null }, startsAt: { lte: now }, OR: [{ expiresAt: null }, { expiresAt: { gt: now } }] };
      const after = cursor === undefined ? {} : { originId: { gt: cursors.decode(entriesName, { id }, cursor)[1] } };
      const rows = await database.read.followedEntry.findMany({
        where: { AND: [where, after] },
        orderBy: { originId: "asc" },
        take: limit + 1,
      });
      const cursorOf = ({ originId }: { originId: string }): string => cursors.encode(entriesName, { id }, [originId, originId]);
      const page = toPage(rows.filter(isKept), limit, presentEntry, cursorOf);
      return await withTotal(page, { count }, () => database.read.followedEntry.count({ where }));
    },

    async adopt(call: Call, id: string, number: string, input: AdoptInput): Promise<AdoptedView> {
      requirePermission(call, followsPolicy.read);
      requireWrite(call, followsPolicy.adopt);
      const { reason_public, reason_internal } = AdoptInput.parse(input);
      await find(id);
      const now = clock.now();
      const rows = await database.read.followedEntry.findMany({ where: { listId: id, number } });
      const entry = rows.filter(isKept).find(({ expiresAt }) => expiresAt === null || expiresAt > now);
      if (entry === undefined) throw recordNotFound();
      const { kind, subject_id, category, severity, recommended_action, starts_at, expires_at } = presentEntry(entry);
      if (kind !== "user" && kind !== "server")
        throw new ProblemError("invalid_transition", { detail: say("follows.only-people-and-servers-can-stand-on") });
      const told = { kind, subject_id, category, severity, recommended_action, expires_at, reason_public, reason_internal };
      const record = { ...told, ...(entry.startsAt > now && { starts_at }) } as CreateBlacklistInput;
      const originReference = `${id}/${number}`;
      const made = await blacklist.create(call, record, { originReference });
      return { id: made.id, number: made.number, origin_reference: originReference };
    },

    async lookAgain(): Promise<void> {
      await entries.load();
      tasks.wake();
    },

    async inTrouble(): Promise<Pick<FollowedList, "name" | "state" | "problem">[]> {
      return await database.read.followedList.findMany({
        where: { OR: [{ state: "stopped" }, { failures: { gte: failuresToTell } }] },
        select: { name: true, state: true, problem: true },
        orderBy: { id: "asc" },
      });
    },

    async byState(): Promise<[{ state: string }, number][]> {
      const count = (where: object) => database.read.followedList.count({ where });
      return [
        [{ state: "following" }, await count({ state: "following", failures: 0 })],
        [{ state: "failing" }, await count({ state: "following", failures: { gt: 0 } })],
        [{ state: "stopped" }, await count({ state: "stopped" })],
      ];
    },

    start: tasks.start,

    stop: tasks.stop,
  };

  /** What has several transactions keeps its answer in one more. */
  async function kept(call: Call, answer: FollowedListView): Promise<FollowedListView> {
    return call.idempotency === null ? answer : await database.write(call, () => Promise.resolve(answer));
  }

  /** Take a file while this process takes no other for the list; what others do meanwhile is found when it is stored. */
  async function takeSent(call: Call, id: string, lines: () => Lines, ifMatch: number | undefined): Promise<FollowedListView> {
    const also = async (tx: Tx, row: FollowedList, changes: readonly EntryChange[]): Promise<void> => {
      requireRevision(ifMatch, row.revision);
      await requireImpartial(
        tx,
        id,
        changes.flatMap(({ before }) => before ?? []),
      );
      note(tx, "send", row);
    };
    for (let tries = 1; tries <= triesToTake; tries += 1) {
      const list = await find(id);
      if (list.kind !== "file" || list.address !== null)
        throw new ProblemError("invalid_transition", { detail: say("follows.the-list-is-read-from-its-address") });
      try {
        return presentList(await reading.takeFile(call, list, lines(), also));
      } catch (error) {
        if (!(error instanceof Outrun)) throw error;
      }
    }
    throw new ProblemError("storage_busy", { detail: say("follows.others-change-the-list-at-the-same"), retryAfter: 1 });
  }
}

const withoutKey = (call: Call): Call => ({ ...call, idempotency: null, replayed: false });

/** What the audit says of a list: never its key, nor what may be one in its address. */
function toldOf({ name, kind, address, categories, trust, intervalMinutes }: FollowedList) {
  const shown = address && shownAddress(address);
  return { name, kind, address: shown, categories: categories as string[], trust, interval_minutes: intervalMinutes };
}
