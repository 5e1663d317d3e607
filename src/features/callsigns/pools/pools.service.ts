import { say } from "../../../kit/say.ts";
import type { Deps } from "../../deps.ts";
import type { Tx } from "../../../database/database.ts";
import type { CallsignPool } from "../../../generated/sqlite/client.ts";
import { requirePermission, requireWrite, type Call } from "../../../kernel/call.ts";
import { fieldError, ProblemError, validationProblem, type FieldError } from "../../../kernel/errors.ts";
import { toPage, withTotal, type Page } from "../../../kernel/page.ts";
import { requireRevision } from "../../../kernel/revision.ts";
import type { AccessDirectory } from "../../permissions/access/access-directory.ts";
import { callsignsPolicy } from "../callsigns.policy.ts";
import { columnsOfPool, countsOf, presentPool, rolesFrom, rulesOf, warningsOf } from "./pools.policy.ts";
import { CreatePoolInput, PatchPoolInput, PoolsQuery, type PoolRules, type PoolView, poolLimits } from "./pools.schema.ts";
import { isWithin, numbersOf, sizeOf } from "../numbers.ts";

const known: Readonly<Record<"template" | "nickname_template", RegExp>> = {
  template: /^\{(dept|rank|n|n:0[1-9])\}$/,
  nickname_template: /^\{(callsign|name)\}$/,
};

/**
 * What the fields of a pool say together.
 * @param isRole whether there is a staff role of that key; left out where the bands are not looked at anew
 * @throws ProblemError validation_failed
 */
function requirePoolRules(rules: PoolRules, isRole?: (key: string) => boolean): void {
  const errors = [
    ...rangeErrors(rules),
    ...templateErrors("template", rules.template),
    ...numberErrors(rules.template),
    ...templateErrors("nickname_template", rules.nickname_template ?? ""),
    ...repeatedErrors(rules.nickname_template ?? ""),
    ...bandErrors(rules, isRole),
  ];
  if (errors.length > 0) throw validationProblem(errors);
}

function wrong(path: readonly (string | number)[], code: string, detail: string): FieldError {
  const parts = path.map((part) => part.toString().replaceAll("~", "~0").replaceAll("/", "~1"));
  return { pointer: `/${parts.join("/")}`, in: "body", code, detail };
}

function rangeErrors({ ranges }: PoolRules): FieldError[] {
  const errors: FieldError[] = [];
  for (const [index, [first, last]] of ranges.entries()) {
    const before = ranges[index - 1];
    if (first > last) errors.push(wrong(["ranges", index], "not_in_order", say("callsigns.write-the-first-number-before-the-last")));
    else if (before !== undefined && first <= before[1])
      errors.push(wrong(["ranges", index], "overlapping", say("callsigns.it-begins-before-the-end-of-the")));
  }
  if (errors.length === 0 && sizeOf(ranges) > poolLimits.numbers)
    errors.push(wrong(["ranges"], "too_many", say("callsigns.a-pool-has-at-most-1-000")));
  return errors;
}

function templateErrors(field: keyof typeof known, template: string): FieldError[] {
  const parts = template.match(/\{[^{}]*\}?|\}/g) ?? [];
  const unknown = parts.find((part) => !known[field].test(part));
  return unknown === undefined ? [] : [wrong([field], "unknown_placeholder", say("callsigns.it-holds-a-place-that-is-none"))];
}

/** Callsigns of a pool differ by their number alone. */
function numberErrors(template: string): FieldError[] {
  const count = template.match(/\{n(:0\d)?\}/g)?.length ?? 0;
  if (count === 1) return [];
  return [wrong(["template"], count === 0 ? "number_missing" : "number_repeated", say("callsigns.write-number"))];
}

/** What stands twice in a nickname cannot be told from the name any more. */
function repeatedErrors(template: string): FieldError[] {
  const parts = template.match(/\{(callsign|name)\}/g) ?? [];
  return new Set(parts).size === parts.length ? [] : [wrong(["nickname_template"], "repeated", say("callsigns.write-both"))];
}

function bandErrors({ ranges, rank_bands: bands }: PoolRules, isRole?: (key: string) => boolean): FieldError[] {
  const { spans } = numbersOf({ ranges, reserved: [], skip: [], rankBands: {} });
  const entries = Object.entries(bands);
  const errors = entries.flatMap(([key, [first, last]]) => {
    const path = ["rank_bands", key];
    if (isRole?.(key) === false) return [wrong(path, "unknown_role", say("callsigns.there-is-no-such-staff-role"))];
    if (first > last) return [wrong(path, "not_in_order", say("callsigns.write-the-first-number-before-the-last"))];
    const isInside = spans.some((span) => isWithin([span], first) && isWithin([span], last));
    return isInside ? [] : [wrong(path, "out_of_range", say("callsigns.not-all-of-these-numbers-are-in"))];
  });
  if (entries.length > poolLimits.bands)
    errors.push(wrong(["rank_bands"], "too_many", say("callsigns.at-most-100-staff-roles-have-their")));
  return errors;
}

export interface CallsignPoolsService {
  /** Pools in the order of their keys. */
  list(call: Call, query: PoolsQuery): Promise<Page<PoolView>>;
  /** @throws ProblemError validation_failed when there is no such pool */
  get(call: Call, key: string): Promise<PoolView>;
  /** @throws ProblemError validation_failed, duplicate_active_record */
  create(call: Call, given: CreatePoolInput): Promise<PoolView>;
  /** Change parts of a pool. Callsigns that somebody has stay as they are. @throws ProblemError validation_failed, precondition_failed */
  patch(call: Call, key: string, given: PatchPoolInput, ifMatch?: number): Promise<PoolView>;
  /** Delete a pool of which nothing is in use. @returns it as it was @throws ProblemError validation_failed, precondition_failed, invalid_transition with `counts` */
  remove(call: Call, key: string, ifMatch?: number): Promise<PoolView>;
}

export interface PoolsDeps extends Deps<"database" | "audit" | "cursors" | "clock"> {
  access: Pick<AccessDirectory, "role" | "roles">;
}

const list = "callsigns.pools";
const permission = callsignsPolicy.manage;
type Verb = "create" | "update" | "delete";

/** The pools that callsigns are taken from. */
export function createPoolsService({ database, audit, access, cursors, clock }: PoolsDeps): CallsignPoolsService {
  const isRole = (key: string): boolean => access.role(key) !== undefined;

  /** A pool nobody takes numbers from meanwhile. @throws ProblemError validation_failed, precondition_failed */
  async function loadForUpdate(tx: Tx, key: string, ifMatch: number | undefined): Promise<CallsignPool> {
    await tx.lock(`callsigns:${key}`);
    const pool = await tx.db.callsignPool.findUnique({ where: { key } });
    if (pool === null) throw unknownPool();
    requireRevision(ifMatch, pool.revision);
    return pool;
  }

  function recordChange(tx: Tx, key: string, verb: Verb, change: { before?: PoolRules; after?: PoolRules }): void {
    audit.record(tx, { action: `callsign_pool.${verb}`, target: { kind: "callsign_pool", id: key }, ...change, permission });
  }

  async function changed(tx: Tx, pool: CallsignPool): Promise<PoolView> {
    return { ...(await presentPool(tx.db, pool, tx.now)), warnings: await warningsOf(tx.db, pool) };
  }

  return {
    async list(call: Call, query: PoolsQuery): Promise<Page<PoolView>> {
      requirePermission(call, callsignsPolicy.read);
      const { limit, cursor, count } = PoolsQuery.parse(query);
      const { read } = database;
      const after = cursor === undefined ? undefined : cursors.decode(list, {}, cursor)[1];
      const where = after === undefined ? {} : { key: { gt: after } };
      const rows = await read.callsignPool.findMany({ where, orderBy: { key: "asc" }, take: limit + 1 });
      const page = toPage(
        rows,
        limit,
        (row) => row,
        (last) => cursors.encode(list, {}, [0, last.key]),
      );
      const data: PoolView[] = [];
      for (const row of page.data) data.push(await presentPool(read, row, clock.now()));
      return withTotal({ ...page, data }, { count }, () => read.callsignPool.count());
    },

    async get(call: Call, key: string): Promise<PoolView> {
      requirePermission(call, callsignsPolicy.read);
      const pool = await database.read.callsignPool.findUnique({ where: { key } });
      if (pool === null) throw unknownPool();
      return await presentPool(database.read, pool, clock.now());
    },

    async create(call: Call, given: CreatePoolInput): Promise<PoolView> {
      requireWrite(call, permission);
      const { key, ...rules } = CreatePoolInput.parse(given);
      requirePoolRules(rules, isRole);
      return await database.write(call, async (tx) => {
        await tx.lock(`callsigns:${key}`);
        if ((await tx.db.callsignPool.findUnique({ where: { key }, select: { key: true } })) !== null)
          throw new ProblemError("duplicate_active_record", { detail: say("callsigns.there-is-a-pool-of-this-key") });
        const pool = await tx.db.callsignPool.create({ data: { key, ...columnsOfPool(rules), createdAt: tx.now, updatedAt: tx.now } });
        recordChange(tx, key, "create", { after: rules });
        return await changed(tx, pool);
      });
    },

    async patch(call: Call, key: string, given: PatchPoolInput, ifMatch?: number): Promise<PoolView> {
      requireWrite(call, permission);
      const input = PatchPoolInput.parse(given);
      return await database.write(call, async (tx) => {
        const pool = await loadForUpdate(tx, key, ifMatch);
        const before = rulesOf(pool);
        const sent = Object.fromEntries(Object.entries(input).filter(([, value]) => value !== undefined));
        const after: PoolRules = { ...before, ...sent };
        requirePoolRules(after, input.rank_bands === undefined ? undefined : isRole);
        if (JSON.stringify(before) === JSON.stringify(after)) return await changed(tx, pool);
        const data = { ...columnsOfPool(after), updatedAt: tx.now, revision: pool.revision + 1 };
        const row = await tx.db.callsignPool.update({ where: { key }, data });
        recordChange(tx, key, "update", { before, after });
        return await changed(tx, row);
      });
    },

    async remove(call: Call, key: string, ifMatch?: number): Promise<PoolView> {
      requireWrite(call, permission);
      return await database.write(call, async (tx) => {
        const pool = await loadForUpdate(tx, key, ifMatch);
        requireUnused(key, await countsOf(tx.db, pool, tx.now));
        const view = await presentPool(tx.db, pool, tx.now);
        await tx.db.callsignPool.delete({ where: { key } });
        recordChange(tx, key, "delete", { before: rulesOf(pool) });
        const roles = rolesFrom(access, key);
        return { ...view, warnings: roles.length === 0 ? [] : [say("callsigns.staff-roles-still-name-it", { roles: roles.join(", ") })] };
      });
    },
  };
}

function unknownPool(): ProblemError {
  return fieldError("/key", "unknown_pool", say("callsigns.there-is-no-such-pool-of-callsigns-2"), "path");
}

function requireUnused(key: string, { capacity, free, ...used }: PoolView["counts"]): void {
  if (Object.values(used).every((count) => count === 0)) return;
  throw new ProblemError("invalid_transition", {
    detail: say("callsigns.callsigns-of-the-pool-are-in-use"),
    extra: { from: "in_use", action: "delete", allowed: ["update"], pool: key, counts: { capacity, ...used, free } },
  });
}
