import type { ReadClient } from "../../database/database.ts";

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
