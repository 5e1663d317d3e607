import fc from "fast-check";
import { beforeAll, describe, expect, test } from "vitest";
import type { Database } from "../../src/database/database.ts";
import { canSee, hiddenWhere, visibleWhere, wholeCases, type Viewer } from "../../src/features/cases/cases.policy.ts";
import { moves, movesFrom, requireMove, type CaseMove } from "../../src/features/cases/states.ts";
import type { Actor, Call } from "../../src/kernel/call.ts";
import { uuid7 } from "../../src/kernel/ids.ts";
import { createTestDatabase } from "../support/database.ts";
import { runsOf } from "../support/size.ts";

let database: Database;

beforeAll(async () => {
  const made = await createTestDatabase();
  ({ database } = made);
  return made.drop;
});

const people = ["101", "102", "103", "104"];
const person = fc.constantFrom(...people);
const someone = fc.option(person);
const permissions = fc.subarray(["cases.read_all", "cases.confidential"]);

const row = fc.record({
  isConfidential: fc.boolean(),
  openedBy: someone,
  leadId: someone,
  team: fc.subarray(people),
  subjects: fc.uniqueArray(fc.record({ kind: fc.constantFrom("user", "server"), subjectId: person }), {
    selector: ({ kind, subjectId }) => kind + subjectId,
    minLength: 1,
  }),
});
const viewer = fc.record({ actor: someone, accounts: fc.subarray(people), held: permissions, scopes: fc.option(permissions) });

function viewerOf({
  actor,
  accounts,
  held,
  scopes,
}: {
  actor: string | null;
  accounts: string[];
  held: string[];
  scopes: string[] | null;
}): Viewer {
  const acting: Actor | null =
    actor === null
      ? null
      : {
          id: actor,
          isStaff: true,
          isOwner: false,
          rank: 1,
          isStale: () => false,
          decide: (permission) => ({ allowed: held.includes(permission), reasons: [] }),
          heldUntil: () => undefined,
        };
  const client = { id: "key", name: "key", allows: (permission: string) => scopes === null || scopes.includes(permission) };
  const call: Call = { client, actor: acting, via: "rest", requestId: uuid7(), idempotency: null, replayed: false };
  return { call, accounts: actor === null ? [] : accounts.filter((id) => id !== actor) };
}

test("the list, single cases and what is hidden agree about every case and every viewer", async () => {
  const system: Call = {
    client: { id: "s", name: "s", allows: () => true },
    actor: null,
    via: "job",
    requestId: uuid7(),
    idempotency: null,
    replayed: false,
  };
  let number = 0;
  await fc.assert(
    fc.asyncProperty(
      fc.array(row, { minLength: 1, maxLength: 8 }),
      fc.array(viewer, { minLength: 1, maxLength: 6 }),
      async (rows, viewers) => {
        await database.write(system, async ({ db, now }) => {
          await db.case.deleteMany({});
          for (const { team, subjects, ...fields } of rows) {
            number += 1;
            const fixed = {
              number,
              type: "general",
              title: "Case",
              status: "open",
              priority: "low",
              policies: [],
              createdAt: now,
              updatedAt: now,
            };
            const parts = { members: { create: team.map((userId) => ({ userId })) }, subjects: { create: subjects } };
            await db.case.create({ data: { ...fixed, ...fields, ...parts } });
          }
        });
        const source = { db: database.read, dialect: database.dialect };
        const all = await wholeCases(source, await database.read.case.findMany({ orderBy: { id: "asc" } }));
        const idsWhere = async (where: object) =>
          (await database.read.case.findMany({ where, orderBy: { id: "asc" } })).map(({ id }) => id);
        for (const one of viewers) {
          const asking = viewerOf(one);
          const isSeen = (found: (typeof all)[number]) => canSee(asking, found);
          expect(await idsWhere(visibleWhere(asking))).toEqual(all.filter(isSeen).map(({ id }) => id));
          const hidden = all.filter((found) => found.isConfidential && !isSeen(found));
          expect(await idsWhere(hiddenWhere(asking))).toEqual(hidden.map(({ id }) => id));
        }
      },
    ),
    { numRuns: runsOf(30) },
  );
});

describe("the rules of sight, one by one", () => {
  const base = { isConfidential: true, openedBy: null, leadId: null, members: [], subjects: [{ kind: "user", subjectId: "104" }] };
  const asking = (more: object) => viewerOf({ actor: "101", accounts: [], held: [], scopes: null, ...more });
  const rules: [string, Viewer, object, boolean][] = [
    ["a stranger does not see a case", asking({}), { isConfidential: false }, false],
    ["who opened a case sees it", asking({}), { isConfidential: false, openedBy: "101" }, true],
    ["who opened a confidential case and is neither lead nor in the team does not", asking({}), { openedBy: "101" }, false],
    ["its lead sees a confidential case", asking({}), { leadId: "101" }, true],
    ["its team sees a confidential case", asking({}), { members: [{ userId: "101" }] }, true],
    ["reading all cases is not reading confidential ones", asking({ held: ["cases.read_all"] }), {}, false],
    ["reading confidential cases is not reading all others", asking({ held: ["cases.confidential"] }), { isConfidential: false }, false],
    ["the permission shows a confidential case", asking({ held: ["cases.confidential"] }), {}, true],
    ["but not to the person it is about", asking({ actor: "104", held: ["cases.confidential"] }), { leadId: "104" }, false],
    ["nor to an account of theirs", asking({ accounts: ["104"], held: ["cases.confidential"] }), { members: [{ userId: "101" }] }, false],
    [
      "a server of the same id is nobody",
      asking({ actor: "104", held: ["cases.confidential"] }),
      { subjects: [{ kind: "server", subjectId: "104" }] },
      true,
    ],
    ["a key is bound by its scopes", asking({ held: ["cases.confidential"], scopes: [] }), {}, false],
    ["a key without a person does not own what nobody opened", asking({ actor: null, scopes: [] }), { isConfidential: false }, false],
  ];
  test.each(rules)("%s", (_rule, one, more, isSeen) => {
    expect(canSee(one, { ...base, ...more })).toBe(isSeen);
  });
});

test("whatever is done to a case, it follows the table: only listed moves are legal, and a closed case takes no work", () => {
  const steps = fc.array(fc.constantFrom(...(Object.keys(moves) as CaseMove[])), { maxLength: 30 });
  fc.assert(
    fc.property(steps, (taken) => {
      let status = "open";
      for (const move of taken) {
        const { from, to }: { from: readonly string[]; to?: string } = moves[move];
        if (!from.includes(status)) {
          expect(() => requireMove(status, move)).toThrow(expect.objectContaining({ code: "invalid_transition" }));
          expect(movesFrom(status)).not.toContain(move);
          continue;
        }
        requireMove(status, move);
        status = to ?? status;
      }
      if (["closed", "archived"].includes(status)) expect(movesFrom(status)).not.toContain("note");
      else expect(movesFrom(status)).toEqual(expect.arrayContaining(["note", "evidence", "action", "close"]));
    }),
  );
});
