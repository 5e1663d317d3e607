// @module-tag both
// @module-tag slow
import { expect, test } from "vitest";
import { idOf, snowflake, timeOf } from "../../bench/growth/values.ts";
import { insertAll } from "../../src/database/insert.ts";
import { rowOf } from "../../src/features/blacklist/records.ts";
import { systemCall } from "../../src/kernel/call.ts";
import { createWorld } from "../support/world.ts";

const blacklisted = 1500;
const others = 5;
const key = Buffer.alloc(32);

const recordOf = (index: number) => ({
  ...rowOf(
    timeOf(index, blacklisted),
    { kind: "server", subjectId: snowflake(index), scope: "network", category: "raid", severity: "high", source: "direct", createdBy: "1" },
    index + 1,
    key,
  ),
  id: idOf(index, 1),
});

/** Of every ten blacklisted servers, one is by a further id of it. */
const isByAlias = (index: number): boolean => index % 10 === 0;

test("1,500 registered servers that are blacklisted are found by their status, page by page, and by no other status", async () => {
  const world = await createWorld();
  const [owner, viewer] = [await world.staff("owner"), await world.staff("viewer")];
  const total = blacklisted + others;
  const records = Array.from({ length: blacklisted }, (_, index) => recordOf(index));
  const servers = Array.from({ length: total }, (_, index) => ({
    id: isByAlias(index) ? snowflake(100_000 + index) : snowflake(index),
    hash: (isByAlias(index) ? undefined : records[index]?.subjectHash) ?? `hash ${index.toString()}`,
    name: `Quarry ${index.toString()}`,
    status: index % 2 === 0 ? "known" : "watched",
    contacts: [],
    tags: [],
    createdAt: timeOf(index, total),
    updatedAt: timeOf(index, total),
  }));
  const aliases = records.flatMap(({ subjectId, subjectHash }, index) =>
    isByAlias(index) ? [{ aliasId: subjectId, aliasHash: subjectHash, serverId: servers[index]?.id }] : [],
  );
  await world.app.database.write(systemCall("cli", "fill"), (tx) =>
    insertAll(tx, [
      { model: "Server", rows: servers },
      { model: "ServerAlias", rows: aliases },
      { model: "BlacklistRecord", rows: records },
    ]),
  );
  const newestFirst = servers.map(({ id }) => id).toReversed();
  const statusOf = async (status: string, actor = owner): Promise<{ ids: string[]; total: number | undefined }> => {
    const ids: string[] = [];
    let found: number | undefined;
    for (let cursor: string | null = ""; cursor !== null;) {
      const after = cursor === "" ? "" : `&cursor=${encodeURIComponent(cursor)}`;
      const answer = await world.get(`/servers?status=${status}&limit=200&count=true${after}`, { actor });
      expect([answer.status, answer.body.detail]).toEqual([200, undefined]);
      for (const server of answer.body.data) expect(server.status).toBe(status);
      ids.push(...answer.body.data.map(({ id }: { id: string }) => id));
      found = answer.body.page.total;
      cursor = answer.body.page.next_cursor;
    }
    return { ids, total: found };
  };

  expect(await statusOf("blacklisted")).toEqual({ ids: newestFirst.slice(others), total: blacklisted });
  const rest = newestFirst.slice(0, others);
  expect(await statusOf("known")).toEqual({ ids: [rest[0], rest[2], rest[4]], total: 3 });
  expect(await statusOf("watched")).toEqual({ ids: [rest[1], rest[3]], total: 2 });
  // Without the permission to read the blacklist, its records change no status.
  expect(await statusOf("blacklisted", viewer)).toEqual({ ids: [], total: 0 });
  const known = await statusOf("known", viewer);
  expect([known.total, known.ids.length]).toEqual([753, 753]);

  const [first] = records;
  await world.app.database.write(systemCall("cli", "end"), (tx) =>
    tx.db.blacklistRecord.updateMany({ where: { id: { not: first?.id ?? "" } }, data: { expiresAt: tx.now } }),
  );
  expect(await statusOf("blacklisted")).toEqual({ ids: [newestFirst.at(-1)], total: 1 });
});
