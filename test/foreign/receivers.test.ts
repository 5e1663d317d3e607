// @module-tag both
// @module-tag slow
import fc from "fast-check";
import { expect, test } from "vitest";
import { freshId } from "../contract/document.ts";
import { createHooked, createReceiver, hook, seqsIn } from "../features/webhooks-ground.ts";
import { within } from "../features/stances-community.ts";
import { hostileRuns } from "../support/size.ts";
import { bytesOf, hostileTextsOf, spoiledText } from "./hostile-values.ts";
import { createWatch } from "./watch.ts";
import { createWire, wires } from "./wire.ts";

const said = fc.oneof(
  hostileTextsOf,
  fc.jsonValue({ maxDepth: 3 }).map((value) => JSON.stringify(value)),
  fc.constant(""),
);
const answers = fc.array(fc.record({ body: bytesOf(spoiledText(said)), wire: wires }), { minLength: 1, maxLength: 4 });

test(
  "whatever receivers of web-hooks answer, each attempt ends as one that was taken or failed, and the receiver beside them is told everything",
  { timeout: 36_000_000 },
  async () => {
    const watch = createWatch();
    const hooked = await createHooked({ env: { LOG_LEVEL: "warn" }, log: watch.log, pauses: { webhookRetry: 0.001 } });
    const { world, owner } = hooked;
    const receiver = await createReceiver();
    await hook(hooked, receiver);
    const states = new Map<string, number>();

    const check = fc.asyncProperty(fc.array(answers, { minLength: 3, maxLength: 5 }), async (all) => {
      const servers = await Promise.all(
        all.map((some) =>
          createWire((_head, place) => {
            const { body, wire } = some[place % some.length]!;
            return wire(body);
          }),
        ),
      );
      const hooks: string[] = [];
      for (const { url } of servers) hooks.push((await hook(hooked, { url: `${url}/hook` })).id);
      await watch.beside(world, owner, async () => {
        const record = { kind: "user", subject_id: freshId(), category: "raid", severity: "low" };
        for (let count = 0; count < 2; count += 1)
          expect((await world.post("/blacklist", { ...record, subject_id: freshId() }, { actor: owner })).status).toBe(201);
        const { seq } = await world.app.database.read.outboxEvent.findFirstOrThrow({ orderBy: { seq: "desc" }, select: { seq: true } });
        // Those that hang hang still: nobody has ended them.
        await within(
          () => seqsIn(receiver).some((told) => told >= seq),
          60_000,
          () => Promise.resolve(seqsIn(receiver).slice(-3)),
        );
        await within(async () => {
          const rows = await Promise.all(hooks.map((id) => world.app.database.read.webhookDelivery.count({ where: { webhookId: id } })));
          return rows.every((count, index) => count > 0 || (servers[index]?.open() ?? 0) > 0);
        });
        for (const server of servers) server.release();
      });
      for (const id of hooks) {
        for (const path of [`/webhooks/${id}`, `/webhooks/${id}/deliveries?limit=200`]) {
          const answer = watch.check(await world.get(path, { actor: owner }), path);
          expect(answer.status, JSON.stringify(answer.body)).toBe(200);
          const { state } = answer.body.data;
          if (state !== undefined) states.set(state, (states.get(state) ?? 0) + 1);
        }
        expect((await world.delete(`/webhooks/${id}`, undefined, { actor: owner })).status).toBe(200);
      }
      for (const server of servers) server.close();
      expect(watch.found()).toEqual([]);
    });
    await fc.assert(check, { numRuns: hostileRuns(40), endOnFailure: true });
    console.info("receivers:", Object.fromEntries(states));
    expect([...states.keys()]).toEqual(expect.arrayContaining(["active", "failing"]));

    // Strictly one after the other, and none twice or left out.
    const seqs = seqsIn(receiver);
    expect(seqs).toEqual(seqs.toSorted((one, other) => one - other));
    expect(await world.app.database.read.webhook.findMany({ select: { failures: true } })).toEqual([{ failures: 0 }]);
  },
);
