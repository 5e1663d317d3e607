import { expect, test } from "vitest";
import { systemCall } from "../../src/kernel/call.ts";
import { addSeconds } from "../../src/kernel/clock.ts";
import { requireDone } from "../../src/kernel/held.ts";
import { createKeys } from "./keys-ground.ts";

const day = 86_400;
const cli = () => systemCall("cli", "request-1");
const job = () => systemCall("job", "request-2");

/** A keys room whose notices are easy to count. */
async function createRoom() {
  const { keys, time, warnings, database, fresh } = await createKeys();
  const told = async () => ({
    warnings: warnings.map(({ details }) => details),
    events: (await database.read.outboxEvent.findMany({ where: { type: "api_key.expiring" }, orderBy: { seq: "asc" } })).map(
      ({ data }) => data,
    ),
    audits: await database.read.auditEntry.count({ where: { action: "api_key.expiring" } }),
  });
  const make = async (name: string, expires_days: number) => requireDone(await keys.create(cli(), { name, scopes: ["*"], expires_days }));
  return { keys, time, warnings, database, told, make, end: () => fresh.drop() };
}

test("a key that ends is spoken of 30, 7 and 1 days before, once each: in the log, the audit and the events", async () => {
  const { keys, time, told, make, end } = await createRoom();
  const key = await make("site", 40);
  const began = time.now;
  const notices = [];
  for (let hours = 0; hours <= 41 * 24; hours += 6) {
    time.now = addSeconds(began, hours * 3600);
    const count = await keys.sweep(job());
    if (count > 0) notices.push([hours / 24, count]);
  }
  expect(notices).toEqual([
    [10, 1],
    [33, 1],
    [39, 1],
  ]);
  const { warnings, events, audits } = await told();
  expect(warnings).toEqual([30, 7, 1].map((days_left) => ({ key_id: key.key_id, name: "site", days_left })));
  const data = { id: key.id, key_id: key.key_id, expires_at: key.expires_at };
  expect(events).toEqual([30, 7, 1].map((days_left) => ({ ...data, days_left })));
  expect(audits).toBe(3);
  expect(await keys.get(cli(), key.id)).toMatchObject({ state: "expired", warning: null, revision: 1 });
  await end();
});

test("a service that was away for long tells the latest notice alone", async () => {
  const { keys, time, told, make, end } = await createRoom();
  await make("site", 40);
  time.now = addSeconds(time.now, 35 * day);
  expect([await keys.sweep(job()), await keys.sweep(job())]).toEqual([1, 0]);
  expect((await told()).warnings).toMatchObject([{ days_left: 5 }]);
  await end();
});

test("nothing is told of keys that have ended, last long, or have a successor", async () => {
  const { keys, time, told, make, end } = await createRoom();
  const [expired, revoked, rotated] = [await make("expired", 1), await make("revoked", 20), await make("rotated", 20)];
  await make("lasting", 400);
  time.now = addSeconds(time.now, day);
  await keys.revoke(cli(), revoked.id);
  const successor = requireDone(await keys.rotate(cli(), rotated.id, { expires_days: 365 }));
  expect(await keys.sweep(job())).toBe(0);
  time.now = addSeconds(time.now, day / 2);
  expect(await keys.sweep(job())).toBe(0);
  expect(await told()).toEqual({ warnings: [], events: [], audits: 0 });
  expect(await keys.get(cli(), expired.id)).toMatchObject({ state: "expired" });
  expect(await keys.get(cli(), rotated.id)).toMatchObject({ state: "active", warning: "expires_soon" });
  expect(successor).toMatchObject({ rotated_from: rotated.id, warning: null });
  await end();
});

test("a key that is prolonged is spoken of again before its new end", async () => {
  const { keys, time, warnings, make, end } = await createRoom();
  const key = await make("site", 5);
  expect(await keys.sweep(job())).toBe(1);
  await keys.update(cli(), key.id, { expires_days: 60 });
  expect(await keys.sweep(job())).toBe(0);
  time.now = addSeconds(time.now, 55 * day);
  expect(await keys.sweep(job())).toBe(1);
  expect(warnings).toHaveLength(2);
  await end();
});

test("more keys than fit in one transaction are all spoken of, and two sweeps at once tell each once", async () => {
  const { keys, told, make, end } = await createRoom();
  for (let index = 0; index < 120; index += 1) await make(`key ${index.toString()}`, 3);
  const counts = await Promise.all([keys.sweep(job()), keys.sweep(job())]);
  expect((counts[0] ?? 0) + (counts[1] ?? 0)).toBe(120);
  const { events, audits } = await told();
  expect([new Set(events.map((data) => (data as { id: string }).id)).size, events.length, audits]).toEqual([120, 120, 120]);
  await end();
});

test("only the service itself sweeps", async () => {
  const { keys, make, told, end } = await createRoom();
  await make("site", 3);
  const client = { id: "c", name: "c", allows: (permission: string) => permission !== "system.act" };
  await expect(keys.sweep({ ...job(), via: "rest", client })).rejects.toMatchObject({ code: "permission_denied" });
  expect((await told()).audits).toBe(0);
  await end();
});
