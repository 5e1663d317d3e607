// @module-tag postgres
// @module-tag slow
import { randomUUID } from "node:crypto";
import { expect, test } from "vitest";
import { createPair, isPostgres, raced } from "./shared-ground.ts";
import { createReceiver, hook } from "./webhooks-ground.ts";

test.runIf(isPostgres())("of one idempotency key at two processes at once, one does what is done outside the database, too", async () => {
  const { world, apps, ask } = await createPair({ env: { WEBHOOK_ALLOW_PRIVATE: "127.0.0.1" } });
  const receiver = await createReceiver();
  const { id } = await hook({ world, owner: await world.staff("owner") }, receiver, { types: ["callsign.*"] });
  const [one, other] = apps;
  const authorization = `Bearer ${await world.makeKey(["system.webhooks.manage", "system.act"], "none")}`;
  for (let turn = 1; turn <= 50; turn += 1) {
    const headers = { authorization, "idempotency-key": randomUUID() };
    const send = (app: typeof one) => () => ask(app, "POST", `/webhooks/${id}/test`, headers);
    const answers = await raced(turn, send(one), send(other));
    for (const answer of answers) expect([200, 409], await answer.text()).toContain(answer.status);
    expect(receiver.received).toHaveLength(turn);
    await expect.poll(async () => (await send(other)()).status).toBe(200);
    expect(receiver.received).toHaveLength(turn);
  }
});
