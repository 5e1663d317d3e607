import type { ReadClient, TransactionClient } from "../../../database/database.ts";
import { jsonObject } from "../../../kernel/parsing.ts";
import { canIn, type Actor, type Call } from "../../../kernel/call.ts";
import type { WorkflowKind } from "../../../kernel/vocabulary.ts";
import { findTarget, type AppealTarget } from "../effects/appeal-target.ts";
import type { Context } from "../state/transition.ts";
import { kinds } from "../kinds/kinds.ts";
import { decidePermission, subjectsOf, type Request } from "./workflows.policy.ts";

/** How staff stand towards each other, known without I/O. */
export interface Ranks {
  of(userId: string): Pick<Actor, "isStaff" | "isOwner" | "rank" | "decide">;
  /** The guilds that the bot is in. */
  guildIds(): readonly string[];
}

/** The guilds in which approving a request acts. */
export function actsIn({ guildIds }: Pick<Ranks, "guildIds">, type: WorkflowKind, payload: Record<string, unknown>): readonly string[] {
  const kind = kinds[type];
  const whole = kind.guilds === undefined ? undefined : kind.payload.safeParse(payload);
  const guilds = whole?.success === true ? (kind.guilds?.(whole.data) ?? []) : [];
  return guilds === "every" ? guildIds() : guilds;
}

type Reader = Pick<ReadClient | TransactionClient, "workflowRequest" | "blacklistRecord" | "case" | "caseAction">;

/** Who wants to decide. */
export interface Decider {
  call: Call;
  /** Their account; the caller's own unless somebody else is asked about. */
  actorId: string;
  isOwner: boolean;
  rank: number;
  /**
   * Their further accounts, as confirmed links have them. Anyone who is partial as one of them is partial as all, and links hold both
   * ways: looking from here finds the accounts of the requester and of the subjects, too.
   */
  accounts: readonly string[];
  /** A server's policy lets its requester approve the request: having filed it makes nobody partial then, and the right comes with the policy. */
  isDirect?: boolean;
  /** They take back a direct decision of their own while a server's policy lets them: having filed it makes nobody partial then, either. */
  isOwnUndo?: boolean;
}

/** How a person stands towards a request they want to decide. */
export async function contextOf(db: Reader, access: Ranks, decider: Decider, request: Request): Promise<Context> {
  return contextWith(access, decider, request, await targetsOf(db, [request]));
}

/** {@link contextOf} of several people: what the request appeals against is looked up once. */
export async function contextsOfAll(db: Reader, access: Ranks, deciders: readonly Decider[], request: Request): Promise<Context[]> {
  const targets = await targetsOf(db, [request]);
  return deciders.map((decider) => contextWith(access, decider, request, targets));
}

/** {@link contextOf} of several requests, in their order: what they appeal against is looked up once each. */
export async function contextsOf(db: Reader, access: Ranks, decider: Decider, requests: readonly Request[]): Promise<Context[]> {
  const targets = await targetsOf(db, requests);
  return requests.map((request) => contextWith(access, decider, request, targets));
}

function contextWith(access: Ranks, decider: Decider, request: Request, targetsByName: ReadonlyMap<string, AppealTarget>): Context {
  const { call, actorId, accounts, isDirect = false, isOwnUndo = false } = decider;
  const users = subjectsOf(request)
    .filter(({ kind }) => kind === "user")
    .map(({ id }) => id);
  const type = request.type as WorkflowKind;
  const kind = kinds[type];
  const payload = jsonObject(request.payload);
  const [named, concerned] = [kind.conflicts?.(payload) ?? [], kind.concerned?.(payload) ?? []];
  const targets = targetNames(request).flatMap((name) => targetsByName.get(name) ?? []);
  const about = [...users, ...concerned, ...targets.flatMap((target) => target.users)];
  const joined = request.subjects.filter(({ kind }) => kind === "joined").map(({ subjectId }) => subjectId);
  // A ruling on an appeal acts where what it is against did.
  const appealed = targets.flatMap(({ requests }) => requests);
  const guildIds = [
    ...actsIn(access, type, payload),
    ...appealed.flatMap((one) => actsIn(access, one.type as WorkflowKind, jsonObject(one.payload))),
  ];
  const partial = new Set([
    ...(isDirect || isOwnUndo ? [] : [request.requesterId]),
    ...joined,
    ...about,
    ...named,
    ...targets.flatMap(({ deciders }) => deciders),
  ]);
  return {
    actorId,
    accounts,
    isRequester: request.requesterId === actorId,
    isConflicted: [actorId, ...accounts].some((id) => partial.has(id)),
    isOwnDirectUndo: isOwnUndo && request.isDirect,
    isOutranked: !decider.isOwner && about.some((id) => isAtOrAbove(access, id, decider.rank)),
    can: (permission) => (isDirect && permission === decidePermission(type)) || canIn(call, permission, guildIds),
  };
}

/** The caller as one who decides. @param accounts their further accounts */
export function deciderOf(call: Call, accounts: readonly string[]): Decider | null {
  const { actor } = call;
  return actor === null ? null : { call, actorId: actor.id, isOwner: actor.isOwner, rank: actor.rank, accounts };
}

function isAtOrAbove(access: Ranks, userId: string, rank: number): boolean {
  const subject = access.of(userId);
  return subject.isStaff && subject.rank >= rank;
}

/** What requests appeal against, by how they name it: those who decided it never decide the appeal, nor does whom it is about. */
async function targetsOf(db: Reader, requests: readonly Request[]): Promise<Map<string, AppealTarget>> {
  const names = [...new Set(requests.flatMap(targetNames))];
  const found = await Promise.all(names.map(async (name) => [name, await findTarget(db, name)] as const));
  return new Map(found.filter((entry): entry is [string, AppealTarget] => entry[1] !== null));
}

function targetNames(request: Request): string[] {
  return subjectsOf(request)
    .filter(({ kind }) => kind === "record")
    .map(({ id }) => id);
}
