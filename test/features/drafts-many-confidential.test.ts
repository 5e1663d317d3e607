// @module-tag both
import { expect, test } from "vitest";
import { idOf, snowflake, timeOf } from "../../bench/growth/values.ts";
import { insertAll } from "../../src/database/insert.ts";
import { systemCall } from "../../src/kernel/call.ts";
import { caseReference } from "../../src/kernel/parsing.ts";
import { createWorld } from "../support/world.ts";

const confidential = 1500;
const others = 3;

test("what 1,500 confidential cases suggest is kept from those who may not know of them, and the rest is listed", async () => {
  const world = await createWorld();
  const [owner, senior] = [await world.staff("owner"), await world.staff("senior")];
  const total = confidential + others;
  const made = (index: number) => ({ createdAt: timeOf(index, total), revision: 1 });
  const numbers = Array.from({ length: total }, (_, index) => index);
  const matter = { type: "investigation", title: "A matter", status: "open", priority: "normal", policies: [] };
  const cases = numbers.map((index) => ({
    id: idOf(index),
    number: index + 1,
    ...matter,
    isConfidential: index >= others,
    openedBy: snowflake(7),
    ...made(index),
    updatedAt: timeOf(index, total),
  }));
  const draft = { type: "investigation", payload: {}, subjectKind: "user", subjectId: snowflake(9), cause: "Points.", status: "open" };
  const drafts = numbers.map((index) => ({
    id: idOf(index, 1),
    ...draft,
    causeReference: caseReference(index + 1),
    caseNumber: index + 1,
    ...made(index),
  }));
  await world.app.database.write(systemCall("cli", "fill"), (tx) =>
    insertAll(tx, [
      { model: "Case", rows: cases },
      { model: "RequestDraft", rows: drafts },
    ]),
  );
  const ask = async (actor = senior) => {
    const { status, body } = await world.get("/workflows/drafts?count=true&limit=200", { actor });
    expect([status, body.detail]).toEqual([200, undefined]);
    return { ids: body.data.map(({ id }: { id: string }) => id), next: body.page.next_cursor, total: body.page.total };
  };
  expect(await ask()).toEqual({
    ids: drafts
      .slice(0, others)
      .map(({ id }) => id)
      .toReversed(),
    next: null,
    total: others,
  });
  expect(await ask(owner)).toMatchObject({ ids: { length: 200 }, total });
});
