import { systemCall } from "../../../src/kernel/call.ts";
import { uuid7 } from "../../../src/kernel/ids.ts";
import { createGround, freshId } from "../../features/workflows-ground.ts";
import { people, servers, users, type Person } from "./steps.ts";
import { levelOf } from "./rights.ts";

export interface Reply {
  status: number;
  body: any;
}

export type RequestsGround = Awaited<ReturnType<typeof createRequestsGround>>;
const job = () => systemCall("job", uuid7());

/** Every service with people, subjects and servers that are new for every sequence. */
export async function createRequestsGround() {
  const ground = await createGround();
  const { services, database } = ground;
  const known = services.access.of;
  const of = (userId: string) => ({ ...known(userId), held: [], members: [], status: null, overrides: [] });
  Object.assign(services.access, {
    of,
    known: of,
    actorOf: of,
    resolve: (userId: string) => Promise.resolve(of(userId)),
    role: () => undefined,
  });
  const ids = new Map<string, string>();
  let start = 0;
  const idOf = (name: string): string => ids.get(name) ?? name;
  const minutesAt = (at: Date | null): number | null => (at === null ? null : Math.round((at.getTime() - start) / 600_000) * 10);

  return {
    ...ground,
    idOf,
    minutesAt,
    /** A time so many minutes from the beginning. */
    timeAt: (minutes: number): string => new Date(start + Math.round(minutes * 60_000)).toISOString(),
    job,

    /** What came before is of no account: everybody is new, and one of them has a further account. */
    async renew(): Promise<void> {
      for (const person of people) ids.set(person, ground.staff(levelOf[person]));
      for (const name of [...users, ...servers]) if (!(name in levelOf)) ids.set(name, freshId());
      start = services.clock.now().getTime();
      await database.write(job(), (tx) =>
        services.links.createLinkInTx(tx, {
          userIds: [idOf("linked"), idOf("Lou")],
          confidence: "confirmed",
          kind: "declared_alt",
          basis: [],
          propagates: false,
          primaryUserId: null,
          reviewAt: new Date(start + 4e10),
          originReference: "ALT-REQ-900000",
          permission: "workflows.alt-request.decide",
        }),
      );
    },

    async ask(by: Person, method: string, path: string, body?: object): Promise<Reply> {
      const text = body === undefined ? undefined : JSON.stringify(body);
      const request = new Request(`http://provost.test${path}`, {
        method,
        headers: {
          authorization: "Bearer *",
          "x-acting-user": idOf(by),
          ...(text !== undefined && { "content-type": "application/json", "content-length": Buffer.byteLength(text).toString() }),
        },
        ...(text !== undefined && { body: text }),
      });
      const response = await ground.app.fetch(request);
      return { status: response.status, body: await response.json() };
    },

    /** What the jobs of a minute do to what the model knows. */
    async sweep(isMergeDue: boolean): Promise<void> {
      await services.workflows.expireDue(job());
      await services.roster.sweep(job());
      await services.permissions.expireDue(job());
      await services.registry.sweep(job());
      if (isMergeDue) await services.deliveries.deliverDue(job());
    },

    /** Records that are over leave the matches, as they do within a minute. */
    endListings: () => services.blacklist.expireDue(job()),

    /** Everything in force about the subjects of this sequence, in the words of the model. */
    async inForce(references: ReadonlyMap<string, string>): Promise<string[]> {
      const { read } = database;
      const names = new Map([...ids].map(([name, id]) => [id, name]));
      const name = (id: string) => names.get(id) ?? id;
      const all = [...ids.values()];
      const now = services.clock.now();
      const unended = (field: string) => ({ OR: [{ [field]: null }, { [field]: { gt: now } }] });
      const time = (at: Date | null) => (at === null ? "for good" : `until ${String(minutesAt(at))}`);
      const origin = { originReference: { in: [...references.keys()] } };
      const listed = await read.blacklistRecord.findMany({
        where: { subjectId: { in: all }, activeKey: { not: null }, ...unended("expiresAt") },
      });
      const links = await read.accountLink.findMany({ where: { userA: { in: all }, status: "active" } });
      const cases = await read.case.findMany({
        where: { status: { notIn: ["closed", "archived"] }, subjects: { some: { subjectId: { in: all } } } },
        include: { subjects: true },
      });
      const actions = await read.caseAction.findMany({ where: { ...origin, voidedAt: null, ...unended("expiresAt") } });
      const roster = await read.rosterEntry.findMany({ where: { userId: { in: all } } });
      const suspended = await read.userPermission.findMany({
        where: { userId: { in: all }, permission: "*", effect: "deny", ...unended("expiresAt") },
      });
      const agreements = await read.agreement.findMany({
        where: { ...origin, status: { not: "ended" }, ...unended("endsAt") },
        include: { parties: true },
      });
      const incidents = await read.poachIncident.findMany({ where: { ...origin, status: "active" } });
      const clearances = await read.poachClearance.findMany({
        where: { ...origin, OR: [{ status: "used" }, { status: "active", ...unended("validUntil") }] },
      });
      const merged = await read.server.findMany({ where: { id: { in: all }, status: "merged" } });
      const held = await read.workflowRequest.findMany({
        where: {
          reference: { in: [...references.keys()] },
          isHeld: true,
          status: { in: ["pending", "in_review", "needs_info", "escalated"] },
          expiresAt: { gt: now },
        },
      });
      return [
        ...listed.map((row) => `listed ${row.kind}:${name(row.subjectId)}:${row.scope} ${row.severity} ${time(row.expiresAt)}`),
        ...links.map((row) => `linked ${[name(row.userA), name(row.userB)].toSorted().join("-")} ${row.confidence}`),
        ...cases.map((row) => `case ${row.type} ${row.subjects.map((subject) => `${subject.kind}:${name(subject.subjectId)}`).join()}`),
        ...actions.map((row) => `action ${row.originReference ?? ""} ${row.kind} ${row.points.toString()} ${time(row.expiresAt)}`),
        ...roster
          .filter((row) => services.roster.isLive(row))
          .map((row) => `roster ${name(row.userId)} ${row.status} ${row.staffRole ?? ""} ${time(row.suspendedUntil)}`),
        ...suspended.map((row) => `suspended ${name(row.userId)} ${time(row.expiresAt)}`),
        ...agreements.map(
          (row) =>
            `agreement ${row.originReference ?? ""} ${row.parties
              .map((party) => name(party.serverId))
              .toSorted()
              .join("-")} ${row.status === "suspended" ? "suspended" : "active"}`,
        ),
        ...incidents.map((row) => `incident ${row.originReference}`),
        ...clearances.map((row) => `clearance ${row.originReference} ${row.status}`),
        ...merged.map((row) => `merged ${name(row.id)} into ${name(row.mergedInto ?? "")}`),
        ...held.map((row) => `held ${row.reference}`),
      ].toSorted();
    },
  };
}
