// @module-tag sqlite
// @module-tag slow
import { isDeepStrictEqual } from "node:util";
import { expect, test } from "vitest";
import { uuid7 } from "../../src/kernel/ids.ts";
import { systemCall } from "../../src/kernel/call.ts";
import type { Prisma } from "../../src/generated/sqlite/client.ts";
import { levelOfRole, votesOf } from "./workflows-table.pure.ts";
import {
  actionNames,
  expected,
  expectedAtDoor,
  roles,
  statusNames,
  wordOf,
  type Cell,
  type Role,
  type StatusName,
} from "./workflows-table.ts";
import { createGround, freshId, type Answer, type Ground } from "./workflows-ground.ts";
import { tier } from "../support/size.ts";

const reason = "It is as good a reason as any other.";
const bodyOf: Readonly<Record<string, object>> = {
  deny: { reason },
  request_info: { questions: ["When did it happen?"] },
  provide_info: { answer: "On Tuesday." },
  amend: { payload: { reason: "Another reason than the one before." } },
  escalate: { reason },
  deescalate: { reason },
  hold: { reason },
  release: { reason },
  void: { reason },
  reopen: { reason },
  reverse: { reason },
  object: { reason },
};

/** Roles who may do something; the others are refused in every cell, which four statuses show. The long tier tries all of all. */
const walkedWhole: ReadonlySet<Role> = new Set<Role>(["filer", "requester", "reviewer", "decider", "higher", "assignee", "first", "sole"]);
const some: readonly StatusName[] = ["pending", "escalated", "approved", "denied"];
const isWhole = (role: Role): boolean => {
  if (tier === "long") return true;
  return tier === "all" ? walkedWhole.has(role) : role === "decider";
};
const statusesOf = (role: Role): readonly StatusName[] => (isWhole(role) ? statusNames : some);
/** Roles of whom the table names single cells: all of theirs are walked. */
const exceptional: ReadonlySet<Role> = new Set<Role>(["decider", "assignee", "first", "sole"]);
/** The actions of a role in a status. Of the rest the quick tier walks a third, spread so that each has every action in some status. */
function actionsOf(role: Role, status: StatusName): readonly (typeof actionNames)[number][] {
  if (tier !== "quick" || exceptional.has(role)) return actionNames;
  const turn = roles.indexOf(role) + some.indexOf(status);
  return actionNames.filter((_action, index) => (index + turn) % 3 === 0);
}
const openNames: ReadonlySet<StatusName> = new Set<StatusName>(["pending", "in_review", "needs_info", "escalated"]);
/** Whoever may not read requests is told that there is none. */
const kept: ReadonlySet<Role> = new Set<Role>(["bystander", "stranger"]);
/** The roles whose every cell is tried out, too: those with the most different reasons. */
const trying: ReadonlySet<Role> = new Set<Role>(["requester", "decider", "first"]);

interface Scene {
  role: Role;
  actor: string;
  requester: string;
  subject: string;
  joined: string | null;
}

/** One ground, the people of the table, and requests written as rows: a cell costs a call and not a history. */
async function openStage() {
  const ground = await createGround();
  const call = systemCall("job", uuid7());
  const colleague = ground.staff("senior");
  const other = ground.staff("admin");
  const filed = await ground.post(
    "/workflows/punishment",
    { user_id: freshId(), action: "warning", reason },
    { actor: ground.staff("senior") },
  );
  const template = await ground.database.read.workflowRequest.findUniqueOrThrow({ where: { id: filed.body.id } });
  let lastNumber = 100_000;

  async function sceneOf(role: Role): Promise<Scene> {
    const actor = ground.staff(levelOfRole[role]);
    const requester = role === "filer" || role === "requester" ? actor : ground.staff("viewer");
    const subject = role === "subject" ? actor : role === "outranked" ? ground.staff("admin") : freshId();
    if (role === "linked") await link(actor, requester);
    return { role, actor, requester, subject, joined: role === "joined" ? actor : null };
  }

  async function link(one: string, two: string): Promise<void> {
    const [userA = "", userB = ""] = [one, two].toSorted();
    const times = { createdAt: new Date(), updatedAt: new Date() };
    const row = {
      userA,
      userB,
      activeKey: `${userA}:${userB}`,
      confidence: "confirmed",
      kind: "declared_alt",
      basis: [],
      propagates: false,
      status: "active",
      ...times,
    };
    await ground.database.write(call, (tx) => tx.db.accountLink.createMany({ data: [row] }));
  }

  /** A request of a scene that stands at a status. */
  async function place(scene: Scene, status: StatusName, isHeld: boolean): Promise<string> {
    const { role, actor, requester, subject, joined } = scene;
    const [id, now] = [uuid7(), new Date()];
    const { votes, payloadRevision, required } = votesOf(role, status, actor, other);
    const isDecided = ["approved", "denied", "reversed"].includes(status);
    const outcome = status === "denied" ? "denied" : "approved";
    lastNumber += 1;
    const row = {
      ...template,
      id,
      reference: `PUN-REQ-${lastNumber.toString()}`,
      status,
      payload: { ...(template.payload as object), user_id: subject } as Prisma.InputJsonObject,
      requesterId: requester,
      payloadRevision,
      approvalsRequired: required,
      revision: 3,
      escalationTier: status === "escalated" ? 1 : 0,
      ...(status === "escalated" && { escalatedBy: other, escalatedAt: now, escalationReason: reason }),
      ...(isHeld && { isHeld: true, holdBy: other, holdAt: now, holdReason: reason }),
      ...(status === "needs_info" && { pausedAt: now, questions: ["When?"] }),
      ...(role === "assignee" && { assigneeId: actor, assignedBy: actor, assignedAt: now, leaseExpiresAt: new Date(now.getTime() + 1e7) }),
      ...(isDecided && {
        decidedAt: now,
        decision: { outcome, by: other, at: now.toISOString(), reason_public: reason, reason_internal: null, policy_refs: [] },
      }),
    };
    const given = Object.fromEntries(Object.entries(row).filter(([, value]) => value !== null));
    await ground.database.write(call, async ({ db }) => {
      // One open request of a kind about somebody: those placed before are over.
      await db.workflowRequest.updateMany({ where: { subjects: { some: { subjectId: subject } } }, data: { status: "void" } });
      await db.workflowRequest.createMany({ data: [given as unknown as Prisma.WorkflowRequestCreateManyInput] });
      const subjects = [{ kind: "user", subjectId: subject }, ...(joined === null ? [] : [{ kind: "joined", subjectId: joined }])];
      await db.workflowSubject.createMany({ data: subjects.map((one) => ({ ...one, requestId: id })) });
      if (votes.length > 0) await db.workflowVote.createMany({ data: votes.map((one) => ({ ...one, requestId: id, at: now })) });
      const steps = [1, 2, 3].map((revision) => ({
        requestId: id,
        revision,
        action: "create",
        actorId: requester,
        via: "rest",
        at: now,
        to: status,
        data: {},
      }));
      await db.workflowStep.createMany({ data: steps });
    });
    return id;
  }

  const act = (scene: Scene, id: string, action: string, query = ""): Promise<Answer> =>
    ground.post(
      `/workflows/punishment/${id}/decision${query}`,
      { decision: action, ...(action === "assign" && { assignee: colleague }), ...bodyOf[action] },
      { actor: scene.actor },
    );
  return { ground, sceneOf, place, act };
}
type Stage = Awaited<ReturnType<typeof openStage>>;

/** Everything about a request that a refusal must leave as it was. */
async function stateOf({ database }: Ground, id: string) {
  const [request, votes, steps, effects, entries, events, records] = await Promise.all([
    database.read.workflowRequest.findUniqueOrThrow({ where: { id } }),
    database.read.workflowVote.findMany({
      where: { requestId: id },
      orderBy: [{ actorId: "asc" }, { payloadRevision: "asc" }, { about: "asc" }],
    }),
    database.read.workflowStep.count({ where: { requestId: id } }),
    database.read.workflowEffect.count({ where: { requestId: id } }),
    database.read.auditEntry.count({ where: { targetId: id, outcome: "ok" } }),
    database.read.outboxEvent.findMany({
      where: { type: { startsWith: "workflow." } },
      select: { data: true },
      orderBy: { seq: "desc" },
      take: 3,
    }),
    database.read.case.count(),
  ]);
  const told = events.filter(({ data }) => (data as { request_id?: string }).request_id === id).length;
  return { request, votes, steps, effects, entries, told, records };
}

function found({ status, body }: Answer): Cell {
  if (status !== 200) return { is: "refused", code: body.code };
  return body.replayed === true ? { is: "replayed" } : { is: "moves", to: body.status };
}
const line = (role: Role, action: string, status: StatusName, cell: Cell) => `${role} ${action} ${status}: ${wordOf(cell)}`;

/** The codes that a dry run and why_not put into an answer that is no refusal. */
function tried({ status, body }: Answer): Cell {
  if (status !== 200) return { is: "refused", code: body.code };
  if (body.blockers?.length > 0) return { is: "refused", code: body.blockers[0].code };
  return body.replayed === true ? { is: "replayed" } : { is: "moves", to: body.status };
}

/** Every action in every status by one person: what is refused on one request, which stays as it was; each move on one of its own. */
async function walk({ ground, sceneOf, place, act }: Stage, role: Role): Promise<{ found: string[]; wrong: string[] }> {
  const scene = await sceneOf(role);
  const cells = new Map<string, Cell>();
  const wrong: string[] = [];
  for (const status of statusesOf(role)) {
    const isOpen = openNames.has(status);
    const [moving, staying] = split(
      actionsOf(role, status),
      (action) => expectedAtDoor(role, action, status).is === "moves" || (action === "release" && isOpen),
    );
    const id = await place(scene, status, false);
    const before = await stateOf(ground, id);
    for (const action of staying) cells.set(`${action} ${status}`, found(await act(scene, id, action)));
    if (!isDeepStrictEqual(await stateOf(ground, id), before)) wrong.push(`${status}: a refusal or a replay has changed the request`);
    for (const action of moving) {
      const own = await place(scene, status, action === "release");
      const earlier = await stateOf(ground, own);
      const cell = found(await act(scene, own, action));
      cells.set(`${action} ${status}`, cell);
      const later = await stateOf(ground, own);
      const ticks = [
        later.request.revision - earlier.request.revision,
        later.steps - earlier.steps,
        later.entries - earlier.entries,
        later.told - earlier.told,
      ];
      const isRight = cell.is === "moves" ? ticks.every((tick) => tick === 1) : isDeepStrictEqual(later, earlier);
      if (!isRight) wrong.push(`${line(role, action, status, cell)} [${ticks.join(" ")}]`);
    }
  }
  const answered = statusesOf(role).flatMap((status) =>
    actionsOf(role, status).map((action) =>
      line(role, action, status, cells.get(`${action} ${status}`) ?? { is: "refused", code: "untried" }),
    ),
  );
  return { found: answered, wrong };
}

function split<T>(all: readonly T[], isFirst: (one: T) => boolean): [T[], T[]] {
  return [all.filter(isFirst), all.filter((one) => !isFirst(one))];
}

const written = (role: Role) =>
  statusesOf(role).flatMap((status) =>
    actionsOf(role, status).map((action) => line(role, action, status, expectedAtDoor(role, action, status))),
  );

/** Roles that are tried on one stage: in the quick tier several, as a stage costs as much as the cells of a role. */
const castCount = tier === "quick" ? 3 : roles.length;
const casts = Array.from({ length: castCount }, (_, cast): [string, readonly Role[]] => {
  const those = roles.filter((_role, index) => index % castCount === cast);
  return [those.join(", "), those];
});

test.each(casts)(
  "every action in every status by %s moves as written, once, or is refused and changes nothing",
  { timeout: 60_000 },
  async (_names, cast) => {
    const stage = await openStage();
    for (const role of cast) {
      const { found: answered, wrong } = await walk(stage, role);
      expect(answered).toEqual(written(role));
      expect(wrong).toEqual([]);
    }
  },
);

/** What a role is offered, and why not the rest. `release` is offered where the request is held, and only there. */
function offered(role: Role, status: StatusName, isHeld: boolean) {
  const held = (action: string, cell: Cell): Cell => {
    if (action === "release" ? isHeld : !(isHeld && ["approve", "hold"].includes(action))) return cell;
    // A vote that is repeated is none while the request is held: it has to be released first.
    return cell.is === "refused" ? cell : { is: "refused", code: "invalid_transition" };
  };
  const cells = actionNames.map((action) => [action, held(action, expected(role, action, status))] as const);
  return {
    allowed: cells.filter(([, cell]) => cell.is === "moves").map(([action]) => action),
    why: Object.fromEntries(cells.flatMap(([action, cell]) => (cell.is === "refused" ? [[action, cell.code]] : []))),
  };
}

test.each(casts)(
  "%s is offered what moves, told why not of the rest, and a dry run says the same and writes nothing",
  { timeout: 60_000 },
  async (_names, cast) => {
    const stage = await openStage();
    for (const role of cast) await expectOffers(stage, role);
  },
);

async function expectOffers({ ground, sceneOf, place, act }: Stage, role: Role): Promise<void> {
  const scene = await sceneOf(role);
  for (const status of statusesOf(role)) {
    for (const isHeld of openNames.has(status) ? [false, true] : [false]) {
      const id = await place(scene, status, isHeld);
      const before = await stateOf(ground, id);
      const answer = await ground.get(`/workflows/punishment/${id}?why_not=true`, { actor: scene.actor });
      expect([role, answer.status]).toEqual([role, kept.has(role) ? 404 : 200]);
      if (answer.status === 200) {
        const { allowed, why } = offered(role, status, isHeld);
        const { allowed_actions: actions, why_not: whyNot } = answer.body.data;
        expect([role, status, isHeld, (actions as string[]).toSorted()]).toEqual([role, status, isHeld, allowed.toSorted()]);
        const told = Object.entries(whyNot as Record<string, { code: string }>).map(([action, { code }]) => [action, code]);
        expect([role, status, isHeld, Object.fromEntries(told)]).toEqual([role, status, isHeld, why]);
      }
      for (const action of actionNames.filter((name) => trying.has(role) && (name === "release") === isHeld)) {
        const cell = tried(await act(scene, id, action, "?dry_run=true"));
        expect(line(role, action, status, cell)).toBe(line(role, action, status, expectedAtDoor(role, action, status)));
      }
      expect(await stateOf(ground, id)).toEqual(before);
    }
  }
}
