import { say } from "../../kit/say.ts";
import type { PrivacyDeps, Wipe } from "./wipe.ts";
import type { Tx, ReadClient } from "../../database/database.ts";
import { Prisma } from "../../generated/sqlite/client.ts";
import { processCall, type Call } from "../../kernel/call.ts";
import { uuid7 } from "../../kernel/ids.ts";
import { erasureKinds, type ErasureKind, type JournalLine } from "./journal/journal.ts";
import { privacyPolicy, sharedActions } from "./privacy.policy.ts";

type CatchUpDeps = Pick<PrivacyDeps, "database" | "audit" | "events" | "journal" | "hashOf" | "logger"> & { wipe: Wipe };

/** What each line takes from a database that does not know of it, and the details of which audit entries go with it. */
const steps: Readonly<Record<ErasureKind, { wipe?: Exclude<keyof Wipe, "told">; details?: readonly string[] }>> = {
  revocation: { wipe: "grant" },
  deletion: { wipe: "shared", details: sharedActions },
  redaction: { wipe: "all", details: [""] },
  suppression: {},
  release: {},
};

/** Brings database and journal together. */
export function createCatchUp({ database, audit, events, journal, hashOf, logger, wipe }: CatchUpDeps) {
  async function carryOut(tx: Tx, line: JournalLine, userId: string): Promise<void> {
    const step = steps[line.kind];
    if (step.wipe === undefined) return;
    const deleted = await wipe[step.wipe](tx, { userId, before: line.at });
    const entry = {
      action: "user.erase_again",
      user: userId,
      reason: say("privacy.the-journal-of-deletions-says-so-this"),
      after: { erasure: line.id, kind: line.kind, deleted },
      permission: privacyPolicy.jobs,
    };
    if (step.details === undefined) return audit.record(tx, entry);
    events.emit(tx, { type: "user.erased", data: { user_id: userId, kind: line.kind } });
    await audit.erase(tx, { subjectUserId: userId, before: line.at, actionPrefixes: step.details }, entry);
  }

  async function apply(call: Call, line: JournalLine, userId: string | undefined): Promise<void> {
    const { id, kind, subjectHash, at } = line;
    await database.write(call, async (tx) => {
      if (userId !== undefined) await carryOut(tx, line, userId);
      await tx.db.erasure.create({ data: { id, kind, subjectHash, at, appliedAt: tx.now } });
    });
  }

  async function compare() {
    const { lines, isCut } = await journal.read();
    if (isCut) logger.warn({}, "the last line of the journal of deletions was cut off; its deletion was never finished");
    const rows = await database.read.$select("Erasure", Prisma.sql`ORDER BY t.at, t.id`);
    const done = new Set(rows.map(({ id }) => id));
    const written = new Set(lines.map(({ id }) => id));
    const lost = rows.filter(({ id }) => !written.has(id)).map((row) => ({ ...row, kind: kindOf(row.kind) }));
    await journal.append(lost);
    return { lost, missing: lines.filter(({ id }) => !done.has(id)), rows: rows.length };
  }

  let copied: number | undefined;

  return {
    /**
     * Carry out lines that an older, restored database does not know of, and write rows into the journal whose lines were lost with the file. Once,
     * at boot. @returns how many deletions were carried out again. @throws Error in plain words
     */
    async catchUp(call: Call = processCall(uuid7())): Promise<number> {
      const { lost, missing } = await compare();
      if (lost.length > 0) logger.warn({ lines: lost.length }, "lines that the journal of deletions had lost were written again");
      if (missing.length === 0) return 0;
      const people = await findPeople(database.read, new Set(missing.map(({ subjectHash }) => subjectHash)), hashOf);
      for (const line of missing) await apply(call, line, people.get(line.subjectHash));
      logger.warn(
        { deletions: missing.length, people: people.size },
        "deletions that this database did not know of were carried out again",
      );
      return missing.length;
    },

    /** Write what other processes have deleted into the journal of this one. */
    async copyLost(): Promise<void> {
      if ((await database.read.erasure.count()) !== copied) copied = (await compare()).rows;
    },
  };
}

function kindOf(text: string): ErasureKind {
  const kind = erasureKinds.find((one) => one === text);
  if (kind === undefined) throw new Error(`a row of erasures has the unknown kind ${text}`);
  return kind;
}

const pageSize = 5000;

/** Where ids of people stand whose data a deletion takes. Pages follow each other by the id, so that memory stays small. */
function sources(read: ReadClient): ((after: string) => Promise<string[]>)[] {
  const page = (after: string) => ({ userId: { gt: after } });
  const byUser = { orderBy: { userId: "asc" as const }, take: pageSize, by: ["userId" as const] };
  return [
    async (after) => present((await read.authorization.groupBy({ where: page(after), ...byUser })).map(({ userId }) => userId)),
    async (after) => present((await read.authorizationSession.groupBy({ where: page(after), ...byUser })).map(({ userId }) => userId)),
    async (after) => present((await read.userServer.groupBy({ where: page(after), ...byUser })).map(({ userId }) => userId)),
    async (after) => present((await read.match.groupBy({ where: page(after), ...byUser })).map(({ userId }) => userId)),
    async (after) => present((await read.dataRead.groupBy({ where: page(after), ...byUser })).map(({ userId }) => userId)),
    async (after) => present((await read.privacySession.groupBy({ where: page(after), ...byUser })).map(({ userId }) => userId)),
    async (after) => present((await read.staffProfile.groupBy({ where: page(after), ...byUser })).map(({ userId }) => userId)),
    async (after) => present((await read.userPermission.groupBy({ where: page(after), ...byUser })).map(({ userId }) => userId)),
    async (after) => present((await read.guildMember.groupBy({ where: page(after), ...byUser })).map(({ userId }) => userId)),
    ...linked(read),
    ...named(read),
  ];
}

function linked(read: ReadClient): ((after: string) => Promise<string[]>)[] {
  const first = { orderBy: { userA: "asc" as const }, take: pageSize, by: ["userA" as const] };
  const second = { orderBy: { userB: "asc" as const }, take: pageSize, by: ["userB" as const] };
  return [
    async (after) => (await read.accountLink.groupBy({ where: { userA: { gt: after } }, ...first })).map(({ userA }) => userA),
    async (after) => (await read.accountLink.groupBy({ where: { userB: { gt: after } }, ...second })).map(({ userB }) => userB),
  ];
}

/** Records that stay, and lose a name or their details. */
function named(read: ReadClient): ((after: string) => Promise<string[]>)[] {
  const requester = { orderBy: { requesterId: "asc" as const }, take: pageSize, by: ["requesterId" as const] };
  const subject = { orderBy: { subjectId: "asc" as const }, take: pageSize, by: ["subjectId" as const] };
  const entry = { orderBy: { subjectUserId: "asc" as const }, take: pageSize, by: ["subjectUserId" as const] };
  return [
    async (after) =>
      present((await read.workflowRequest.groupBy({ where: { requesterId: { gt: after } }, ...requester })).map((row) => row.requesterId)),
    async (after) =>
      (await read.blacklistRecord.groupBy({ where: { kind: "user", subjectId: { gt: after } }, ...subject })).map((row) => row.subjectId),
    async (after) =>
      (await read.caseSubject.groupBy({ where: { kind: "user", subjectId: { gt: after } }, ...subject })).map((row) => row.subjectId),
    async (after) =>
      present((await read.auditEntry.groupBy({ where: { subjectUserId: { gt: after } }, ...entry })).map((row) => row.subjectUserId)),
  ];
}

function present(ids: readonly (string | null)[]): string[] {
  return ids.filter((id) => id !== null);
}

/**
 * Who stands behind some hashes, as far as this database knows them.
 * @returns ids by hash; reads every id there is, once, and ends early when everybody is found
 */
export async function findPeople(
  read: ReadClient,
  wanted: ReadonlySet<string>,
  hashOf: (userId: string) => string,
): Promise<Map<string, string>> {
  const found = new Map<string, string>();
  for (const next of sources(read)) {
    let ids: string[];
    let after = "";
    do {
      ids = await next(after);
      for (const id of ids) {
        const hash = hashOf(id);
        if (wanted.has(hash)) found.set(hash, id);
      }
      after = ids.at(-1) ?? after;
    } while (ids.length === pageSize && found.size < wanted.size);
    if (found.size === wanted.size) break;
  }
  return found;
}
