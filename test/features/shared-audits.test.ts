// @module-tag postgres
// @module-tag slow
import { expect, test } from "vitest";
import { systemCall } from "../../src/kernel/call.ts";
import { uuid7 } from "../../src/kernel/ids.ts";
import { createPair, isPostgres, raced } from "./shared-ground.ts";

test.runIf(isPostgres())("one audit of the roster runs at a time at two processes, and none ends what another has begun", async () => {
  const { apps } = await createPair();
  const [one, other] = apps;
  const call = () => systemCall("job", uuid7());
  for (let turn = 0; turn < 20; turn += 1) {
    const run = (app: typeof one) => () =>
      app.rosterAudits.run(call(), { save: true }).then(
        ({ status }) => status,
        (error: unknown) => (error as { code: string }).code,
      );
    expect((await raced(turn, run(one), run(other))).filter((outcome) => outcome !== "sync_in_progress")).toEqual(
      expect.arrayContaining(["done"]),
    );
  }
  // As an audit that goes on at the other process leaves it.
  const release = await other.claims?.hold("roster audit");
  const found = await one.database.read.rosterAudit.findFirstOrThrow();
  await one.database.write(call(), ({ db }) => db.rosterAudit.update({ where: { id: found.id }, data: { status: "running" } }));
  const status = async () => (await one.rosterAudits.list(call(), {})).data.find(({ id }) => id === found.id)?.status;
  await one.rosterAudits.sweep(call());
  expect(await status()).toBe("running");
  await release?.();
  expect(await status()).toBe("failed");
  await one.rosterAudits.sweep(call());
  expect((await one.database.read.rosterAudit.findUniqueOrThrow({ where: { id: found.id } })).status).toBe("failed");
});
