import type { Ground } from "./ground.ts";
import { seeRevision, statusOf } from "./model.blacklist.ts";
import type { Model } from "./model.ts";

const gone: ReadonlySet<string> = new Set(["revoked", "expired", "superseded", "purged"]);

/** What has to hold of the database after a sequence, once time was swept up. @throws Error naming what does not */
export async function requireWhole({ world }: Ground, model: Model): Promise<void> {
  await requireRecords(world.app.database.read, model);
  await requireCases(world.app.database.read, model);
}

type Read = Ground["world"]["app"]["database"]["read"];

async function requireRecords(db: Read, model: Model): Promise<void> {
  const ids = model.records.map(({ id }) => id);
  if (ids.length === 0) return;
  const subjectIds = { subjectId: { in: (await db.blacklistRecord.findMany({ where: { id: { in: ids } } })).map((row) => row.subjectId) } };
  const rows = await db.blacklistRecord.findMany({ where: subjectIds, include: { versions: { select: { revision: true } } } });
  equal("records", rows.map(({ id }) => id).toSorted(), ids.toSorted());
  const entries = await db.auditEntry.groupBy({ by: "targetId", where: { targetId: { in: ids }, outcome: "ok" }, _count: { _all: true } });
  const feed = await db.blacklistChange.findMany({ where: { recordId: { in: ids } }, orderBy: { seq: "asc" } });
  const active = new Map<string, boolean>();
  for (const { recordId, what } of feed) active.set(recordId, !gone.has(what));
  const keys: string[] = [];
  for (const record of model.records) {
    const row = rows.find(({ id }) => id === record.id);
    if (row === undefined) continue;
    const status = statusOf(record, model.now);
    equal(`${record.number} status`, row.status, status);
    seeRevision(record, row.revision);
    equal(
      `${record.number} versions`,
      row.versions.map(({ revision }) => revision).toSorted((a, b) => a - b),
      upTo(row.revision),
    );
    equal(`${record.number} entries of the audit`, entries.find(({ targetId }) => targetId === record.id)?._count._all, row.revision);
    equal(
      `${record.number} changes of the feed`,
      feed.filter(({ recordId }) => recordId === record.id).map(({ revision }) => revision),
      upTo(row.revision),
    );
    const isLive = status === "active" || status === "scheduled";
    equal(`${record.number} in the replayed feed`, active.get(record.id), isLive);
    equal(`${record.number} holds its subject`, row.activeKey !== null, isLive);
    if (isLive) keys.push(`${row.kind}:${row.subjectId}:${row.scope}`);
  }
  equal("one record per subject and scope", new Set(keys).size, keys.length);
}

async function requireCases(db: Read, model: Model): Promise<void> {
  const ids = model.cases.map(({ id }) => id);
  if (ids.length === 0) return;
  const rows = await db.case.findMany({ where: { id: { in: ids } }, include: { notes: { include: { versions: true } } } });
  const entries = await db.auditEntry.groupBy({ by: "targetId", where: { targetId: { in: ids }, outcome: "ok" }, _count: { _all: true } });
  for (const one of model.cases) {
    const row = rows.find(({ id }) => id === one.id);
    equal(`${one.number} status and revision`, [row?.status, row?.revision, row?.outcome], [one.status, one.revision, one.outcome]);
    equal(`${one.number} entries of the audit`, entries.find(({ targetId }) => targetId === one.id)?._count._all, one.writes);
    equal(`${one.number} notes`, row?.notes.map(({ id }) => id).toSorted(), one.notes.map(({ id }) => id).toSorted());
    for (const note of one.notes) {
      const kept = row?.notes.find(({ id }) => id === note.id);
      equal(`${one.number} note`, kept?.body, note.texts.at(-1));
      const texts = kept?.versions.toSorted((a, b) => a.revision - b.revision).map(({ body }) => body);
      equal(`${one.number} earlier texts`, texts, note.texts);
    }
  }
}

const upTo = (last: number): number[] => Array.from({ length: last }, (_, index) => index + 1);

function equal(what: string, found: unknown, wanted: unknown): void {
  if (JSON.stringify(found) !== JSON.stringify(wanted))
    throw new Error(`${what}: ${JSON.stringify(found)} instead of ${JSON.stringify(wanted)}`);
}
