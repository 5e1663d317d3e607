import { say } from "../../kit/say.ts";
import { createWipe, type PrivacyDeps, type Wipe } from "./wipe.ts";
import { requirePermission, requireWrite, type Call, requireAnswered, processCall } from "../../kernel/call.ts";
import { addSeconds } from "../../kernel/clock.ts";
import { ProblemError } from "../../kernel/errors.ts";
import { Snowflake } from "../../kernel/fields.ts";
import { createExporter } from "./export.ts";
import { keptWords, privacyPolicy, readRetentionDays, sharedActions } from "./privacy.policy.ts";
import { type DataExportView, type ErasureView, RedactInput } from "./privacy.schema.ts";
import type { z } from "zod";
import type { Tx, ReadClient } from "../../database/database.ts";
import type { Held } from "../../kernel/held.ts";
import type { Access } from "../permissions/access/access-directory.ts";
import { Prisma } from "../../generated/sqlite/client.ts";
import { uuid7 } from "../../kernel/ids.ts";
import { erasureKinds, type ErasureKind, type JournalLine } from "./journal/journal.ts";

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
function createCatchUp({ database, audit, events, journal, hashOf, logger, wipe }: CatchUpDeps) {
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

type RedactDeps = Pick<PrivacyDeps, "database" | "audit" | "events" | "confirmations" | "permissions" | "access" | "erasures" | "reads"> & {
  wipe: Wipe;
};

const action = "users.redact";
const HeldInput = RedactInput.extend({ user_id: Snowflake });
type HeldInput = z.output<typeof HeldInput>;

/** Redaction is asked for by one person and confirmed by another; the operator's command line is above that. */
function createRedaction(deps: RedactDeps) {
  const { database, audit, events, confirmations, permissions, access, erasures, reads, wipe } = deps;

  /** @throws ProblemError last_owner, hierarchy_violation, invalid_transition */
  function requireErasable(call: Call, target: Access): void {
    if (target.isOwner && access.listOwners().length === 1)
      throw new ProblemError("last_owner", { detail: say("privacy.this-is-the-last-owner-name-another") });
    if (target.isOwner) throw new ProblemError("hierarchy_violation", { detail: say("privacy.owners-cannot-be-redacted") });
    // The operator's command line has no link to Discord, and a deletion does not wait for one.
    if (call.actor !== null) requireAnswered(target);
    permissions.requireRankAbove(call, target.rank);
    if (!target.isStaff) return;
    throw new ProblemError("invalid_transition", {
      detail: say("privacy.this-person-is-staff-take-their-roles"),
      extra: { from: "staff", action: "redact", allowed: [] },
    });
  }

  async function apply(tx: Tx, { user_id: userId, reason, suppress }: HeldInput): Promise<ErasureView> {
    const deleted = await wipe.all(tx, { userId });
    const details = await audit.erase(
      tx,
      { subjectUserId: userId },
      {
        action: "user.redact",
        user: userId,
        reason,
        after: { deleted, suppress },
        permission: action,
      },
    );
    await erasures.note(tx, "redaction", userId);
    if (suppress) await erasures.note(tx, "suppression", userId);
    events.emit(tx, { type: "user.erased", data: { user_id: userId, kind: "redaction" } });
    return {
      discord_user_id: userId,
      kind: "redaction",
      erased_at: tx.now.toISOString(),
      deleted: { ...deleted, audit_details: details },
      kept: [...keptWords.redaction],
      suppressed: suppress,
    };
  }

  async function redactInTx(tx: Tx, input: HeldInput): Promise<ErasureView | Held> {
    // As where a redaction that waited is carried out.
    await confirmations.lock(tx);
    await tx.lock(`erasure:${input.user_id}`);
    const target = access.of(input.user_id);
    requireErasable(tx.call, target);
    const held = await confirmations.hold(tx, {
      action,
      group: "erasure",
      permission: privacyPolicy.redact,
      input,
      summary: `Erase what is stored about ${input.user_id}`,
      secondPerson: true,
      subjectUserId: input.user_id,
      rank: target.rank,
    });
    return held ?? (await apply(tx, input));
  }

  confirmations.register(action, (tx, held) => {
    requireWrite(tx.call, privacyPolicy.redact);
    return redactInTx(tx, HeldInput.parse(held));
  });

  return {
    /**
     * Erase a person: what they shared, their names, links and staff data, and the details of the audit about them. Moderation
     * records stay as records about an id. Waits for a second person, except at the command line.
     * @throws ProblemError last_owner, hierarchy_violation, invalid_transition (present staff), and as `hold`
     */
    async redact(call: Call, userId: string, given: RedactInput): Promise<ErasureView | Held> {
      requireWrite(call, privacyPolicy.redact);
      const input = { ...RedactInput.parse(given), user_id: Snowflake.parse(userId) };
      requireErasable(call, await access.resolve(userId));
      await reads.flush();
      const answer = await database.write(call, (tx) => redactInTx(tx, input));
      await wipe.told();
      return answer;
    },
  };
}

export interface PrivacyService {
  /** Everything stored about a person that they may have; the person's own, or for holders of users.export. */
  export(call: Call, userId: string): Promise<DataExportView>;
  /**
   * Delete what a person shared, at their own wish alone. Records of moderation stay.
   * @throws ProblemError permission_denied for everybody else
   */
  erase(call: Call, userId: string): Promise<ErasureView>;
  /** Let a redacted person be asked again. @throws ProblemError invalid_transition when nothing keeps them from it */
  unsuppress(call: Call, userId: string): Promise<void>;
  /** Settles when nothing is on its way to Discord any more; before the database is closed. */
  close(): Promise<void>;
  /** For the job that runs each minute: what is old goes. @returns how many went */
  sweep(call: Call): Promise<number>;
  /**
   * Erase a person: what they shared, their names, links and staff data, and the details of the audit about them. Moderation
   * records stay as records about an id. Waits for a second person, except at the command line.
   * @throws ProblemError last_owner, hierarchy_violation, invalid_transition (present staff), and as `hold`
   */
  redact(call: Call, userId: string, given: RedactInput): Promise<ErasureView | Held>;
  /**
   * Carry out lines that an older, restored database does not know of, and write rows into the journal whose lines were lost with the file. Once,
   * at boot. @returns how many deletions were carried out again. @throws Error in plain words
   */
  catchUp(call?: Call): Promise<number>;
  /** Write what other processes have deleted into the journal of this one. */
  copyLost(): Promise<void>;
}

/** What people can ask about their own data. */
export function createPrivacyService(deps: PrivacyDeps): PrivacyService {
  const { database, audit, events, erasures, reads, clock } = deps;
  const wipe = createWipe(deps);
  const makeExport = createExporter({ ...deps, read: database.read, dialect: database.dialect });

  return {
    ...createCatchUp({ ...deps, wipe }),
    ...createRedaction({ ...deps, wipe }),

    async export(call: Call, userId: string): Promise<DataExportView> {
      requirePermission(call, privacyPolicy.export, { own: userId });
      reads.note(call, userId, "export");
      await reads.flush();
      return await makeExport(call, Snowflake.parse(userId));
    },

    async erase(call: Call, userId: string): Promise<ErasureView> {
      requireWrite(call, privacyPolicy.redact, { own: userId });
      if (call.actor?.id !== userId)
        throw new ProblemError("permission_denied", { detail: say("privacy.only-the-person-themself-can-ask-for") });
      await reads.flush();
      const view = await database.write(call, async (tx): Promise<ErasureView> => {
        await tx.lock(`erasure:${userId}`);
        const deleted = await wipe.shared(tx, { userId });
        const details = await audit.erase(
          tx,
          { subjectUserId: userId, actionPrefixes: sharedActions },
          { action: "user.erase", user: userId, after: { deleted } },
        );
        await erasures.note(tx, "deletion", userId);
        events.emit(tx, { type: "user.erased", data: { user_id: userId, kind: "deletion" } });
        return {
          discord_user_id: userId,
          kind: "deletion",
          erased_at: tx.now.toISOString(),
          deleted: { ...deleted, audit_details: details },
          kept: [...keptWords.deletion],
          suppressed: (await erasures.redactedAt(tx.db, userId)) !== null,
        };
      });
      await wipe.told();
      return view;
    },

    async unsuppress(call: Call, userId: string): Promise<void> {
      requireWrite(call, privacyPolicy.redact);
      await database.write(call, async (tx) => {
        if ((await erasures.redactedAt(tx.db, userId)) === null)
          throw new ProblemError("invalid_transition", { detail: say("privacy.this-person-can-be-asked-already") });
        await erasures.note(tx, "release", userId);
        audit.record(tx, { action: "user.unsuppress", user: userId, permission: privacyPolicy.redact });
      });
    },

    close: (): Promise<void> => wipe.told(),

    async sweep(call: Call): Promise<number> {
      const before = addSeconds(clock.now(), -readRetentionDays * 86_400);
      const isDue = (await database.read.dataRead.findFirst({ where: { at: { lt: before } }, select: { userId: true } })) !== null;
      if (!isDue) return 0;
      return await database.write(call, async ({ db }) => (await db.dataRead.deleteMany({ where: { at: { lt: before } } })).count);
    },
  };
}
