// @module-tag slow
import { describe, expect, test } from "vitest";
import { emit, openEvent } from "./events-listener.ts";
import { insertRows } from "../../src/database/insert.ts";
import { systemCall } from "../../src/kernel/call.ts";
import { uuid7 } from "../../src/kernel/ids.ts";
import { createDice } from "../support/dice.ts";
import { statementsOf } from "../support/statements.ts";
import type { World } from "../support/world.ts";
import { createHooked, createReceiver, hook, seqsIn, until, verify } from "./webhooks-ground.ts";

/** A clock that tests put forward; whoever waits looks at it again. */
function createClock() {
  let ahead = 0;
  return {
    now: () => new Date(Date.now() + ahead),
    async forward(world: World, seconds: number) {
      ahead += seconds * 1000;
      await world.app.webhookRunner.sweep(systemCall("job", uuid7()));
    },
  };
}
const day = 86_400;

describe("a web-hook", () => {
  test("is told of what happens from then on, in order, signed so that the library verifies it", async () => {
    const ground = await createHooked();
    const { world, owner } = ground;
    await emit(world, openEvent({ before: true }));
    const receiver = await createReceiver();
    const { id, secret, position } = await hook(ground, receiver, { types: ["owner.*"] });
    expect(secret).toMatch(/^whsec_[\w+/]{43}=$/);
    await emit(world, openEvent({ count: 1 }), { type: "callsign.low_pool", data: { pool: "x" } }, openEvent({ count: 2 }));
    await until(() => receiver.received.length === 2, "two events came");
    expect(receiver.received.map(({ body }) => body.data.data.count)).toEqual([1, 2]);
    const [first] = receiver.received;
    if (first === undefined) throw new Error("nothing came");
    expect(verify(secret, first)).toEqual(first.body);
    expect(first.body).toMatchObject({
      type: "owner.changed",
      timestamp: first.body.data.at,
      data: { type: "owner.changed", seq: position + 1 },
    });
    expect(first.headers["webhook-id"]).toBe(first.body.data.id);
    // One connection is kept for all of it.
    expect(receiver.sockets.size).toBe(1);
    await until(
      async () => (await world.get(`/webhooks/${id}`, { actor: owner })).body.data.position === position + 3,
      "the position is kept",
    );
    const log = (await world.get(`/webhooks/${id}/deliveries?count=true`, { actor: owner })).body;
    expect(log.page.total).toBe(2);
    expect(log.data[0]).toMatchObject({ kind: "event", type: "owner.changed", attempt: 1, delivered: true, status: 204, problem: null });
    expect(JSON.stringify((await world.get("/webhooks", { actor: owner })).body)).not.toContain('secret":"whsec');
  });

  test("goes on after a restart where it stopped, and has missed nothing", async () => {
    const ground = await createHooked();
    const { world } = ground;
    const receiver = await createReceiver();
    const { position } = await hook(ground, receiver, { types: ["owner.changed"] });
    await emit(world, openEvent());
    await until(() => receiver.received.length === 1, "the first came");
    receiver.answer = () => undefined;
    await emit(world, openEvent(), openEvent());
    await until(() => receiver.received.length === 2, "the second is under way");
    const began = performance.now();
    const restarted = world.restart();
    receiver.answer = () => 200;
    await restarted;
    expect(performance.now() - began).toBeLessThan(10_000);
    await until(() => seqsIn(receiver).length === 3, "all came");
    expect(seqsIn(receiver)).toEqual([1, 2, 3].map((step) => position + step));
  });
});

describe("a receiver that fails", () => {
  test("is asked again later and later for the same event while the others wait, and then is told of all of them in order", async () => {
    const clock = createClock();
    const ground = await createHooked({ clock });
    const { world, owner } = ground;
    const receiver = await createReceiver(() => 500);
    const { id } = await hook(ground, receiver, { types: ["owner.changed"] });
    const view = async () => (await world.get(`/webhooks/${id}`, { actor: owner })).body.data;
    await emit(world, openEvent(), openEvent(), openEvent());
    for (const [index, wait] of [5, 30, 120].entries()) {
      await until(() => receiver.received.length === index + 1, `attempt ${(index + 1).toString()}`);
      await until(async () => (await view()).failures === index + 1, "it is noted");
      const { state, problem, next_attempt_at: next } = await view();
      expect({ state, problem }).toEqual({ state: "failing", problem: "The address answered with status 500." });
      const seconds = (Date.parse(next) - clock.now().getTime()) / 1000;
      expect(seconds).toBeGreaterThan(wait - 4);
      expect(seconds).toBeLessThanOrEqual(wait * 1.2);
      await clock.forward(world, 1);
      expect(receiver.received).toHaveLength(index + 1);
      await clock.forward(world, seconds);
    }
    await until(() => receiver.received.length === 4, "attempt 4");
    expect(new Set(receiver.received.map(({ headers }) => headers["webhook-id"])).size).toBe(1);
    receiver.answer = () => 200;
    await until(async () => (await view()).failures === 4, "it is noted");
    await clock.forward(world, 1000);
    await until(() => seqsIn(receiver).length === 3, "all came");
    expect(seqsIn(receiver)).toEqual(seqsIn(receiver).toSorted((a, b) => a - b));
    await until(async () => (await view()).state === "active", "it is well again");
    const log = (await world.get(`/webhooks/${id}/deliveries`, { actor: owner })).body.data;
    expect(log.map(({ attempt, status }: any) => [attempt, status])).toEqual([
      [1, 200],
      [1, 200],
      [5, 200],
      [4, 500],
      [3, 500],
      [2, 500],
      [1, 500],
    ]);
  });

  test("that answers 410, or fails for five days, is disabled with an event and an audit entry, and goes on from there once enabled", async () => {
    const clock = createClock();
    const ground = await createHooked({ clock });
    const { world, owner } = ground;
    const witness = await createReceiver();
    await hook(ground, witness, { types: ["webhook.disabled"] });
    const gone = await createReceiver(() => 410);
    const failing = await createReceiver(() => 302);
    const made = {
      gone: await hook(ground, gone, { types: ["owner.changed"] }),
      failing: await hook(ground, failing, { types: ["owner.changed"] }),
    };
    const view = async (id: string) => (await world.get(`/webhooks/${id}`, { actor: owner })).body.data;
    const alerts = world.guild.createChannel("alerts");
    expect((await world.put(`/channels/${world.guild.id}`, { alerts: alerts.id }, { actor: owner })).status).toBe(200);
    await emit(world, openEvent());
    await until(async () => (await view(made.gone.id)).state === "disabled", "410 disables");
    const told = () => world.guild.messages().filter(({ channelId }) => channelId === alerts.id);
    await until(() => told().length === 1, "the server's alerts say so");
    expect(told()[0]?.embeds[0]).toMatchObject({ title: "A web-hook was disabled" });
    const opened = await world.sandbox.as(owner).in(world.guild).press(told()[0]!, "Open");
    expect(JSON.stringify(await opened.reply())).toContain("The address answered with status 410.");
    expect((await view(made.gone.id)).problem).toContain("410");
    for (let days = 0; days <= 5; days += 1) {
      await until(async () => (await view(made.failing.id)).failures === days + 1, "an attempt failed");
      await clock.forward(world, day);
    }
    await until(async () => (await view(made.failing.id)).state === "disabled", "five days disable");
    await until(() => witness.received.length === 2, "both are told of");
    expect(witness.received.map(({ body }) => [body.data.data.webhook_id, body.data.data.reason])).toEqual([
      [made.gone.id, "gone"],
      [made.failing.id, "failing"],
    ]);
    expect(await world.app.database.read.auditEntry.count({ where: { action: "webhook.disable" } })).toBe(2);
    gone.answer = () => 200;
    gone.received.length = 0;
    await emit(world, openEvent());
    const enabled = await world.patch(`/webhooks/${made.gone.id}`, { state: "active" }, { actor: owner });
    expect(enabled.body.data).toMatchObject({ state: "active", problem: null, failures: 0 });
    await until(() => seqsIn(gone).length === 2, "what waited came");
  });

  test("never hears of events out of order or not at all, whatever it answers when", async () => {
    const ground = await createHooked({ pauses: { webhookRetry: 0.0005 } });
    const { world } = ground;
    const dice = createDice(7);
    const receiver = await createReceiver((_received, response) => {
      const chance = dice.below(100);
      if (chance < 10) return void response.destroy();
      return chance < 30 ? 503 : chance < 35 ? 302 : 204;
    });
    const { position, secret } = await hook(ground, receiver, { types: ["owner.changed"] });
    for (let batch = 0; batch < 20; batch += 1) await emit(world, ...Array.from({ length: 5 }, () => openEvent()));
    await until(() => seqsIn(receiver).length === 100, "all came");
    expect(seqsIn(receiver)).toEqual(Array.from({ length: 100 }, (_, index) => position + 1 + index));
    expect(receiver.received.length).toBeGreaterThan(100);
    for (const one of receiver.received) verify(secret, one);
  });
});

describe("what a web-hook is told", () => {
  const hidden = { type: "permission.changed", data: { role_key: "x" } } as const;
  const typesIn = ({ received }: { received: readonly { body: any }[] }) => received.map(({ body }) => body.type);

  test("is what its key and its person may see at that moment, and a lost permission ends a kind at once", async () => {
    const ground = await createHooked();
    const { world, owner } = ground;
    const scopes = ["system.webhooks.manage", "staff.read", "permissions.read"];
    const key = await world.makeKey(scopes);
    const byKey = await createReceiver();
    await hook(ground, byKey, {}, { key });
    await emit(world, openEvent(), hidden, { type: "blacklist.created", data: {} });
    await until(() => byKey.received.length === 2, "two may be seen");
    expect(typesIn(byKey)).toEqual(["owner.changed", "permission.changed"]);
    const row = await world.app.database.read.apiKey.findFirstOrThrow({ where: { scopes: { equals: scopes } } });
    const narrowed = await world.patch(`/keys/${row.id}`, { scopes: scopes.slice(0, 2) }, { actor: owner, signed: true });
    expect(narrowed.status, JSON.stringify(narrowed.body)).toBe(200);
    await emit(world, hidden, openEvent());
    await until(() => byKey.received.length === 3, "one may be seen");
    expect(typesIn(byKey).slice(2)).toEqual(["owner.changed"]);
  });

  test.each([
    ["key", "was revoked"],
    ["person", "is no longer staff"],
  ] as const)("ends where its %s %s: it is disabled and nothing more is sent", async (reason, _what) => {
    const ground = await createHooked();
    const { world, owner } = ground;
    const other = await world.staff("owner");
    const receiver = await createReceiver();
    const key = await world.makeKey(["*"]);
    const { id } = await hook({ world, owner: other }, receiver, { types: ["owner.changed"] }, { key });
    await emit(world, openEvent());
    await until(() => receiver.received.length === 1, "it came");
    if (reason === "person") {
      world.guild.leave(other);
      await world.sandbox.waitFor(() => !world.app.access.of(other.id).isStaff);
    } else {
      const row = await world.app.database.read.apiKey.findFirstOrThrow({ where: { name: "test" } });
      expect((await world.delete(`/keys/${row.id}`, undefined, { actor: owner })).status).toBe(200);
    }
    await emit(world, openEvent());
    const view = async () => (await world.get(`/webhooks/${id}`, { actor: owner })).body.data;
    await until(async () => (await view()).state === "disabled", "it is disabled");
    expect(receiver.received).toHaveLength(1);
    const event = await world.app.database.read.outboxEvent.findFirstOrThrow({ where: { type: "webhook.disabled" } });
    expect(event.data).toMatchObject({ webhook_id: id, reason });
    // Enabled by somebody else it is theirs, and goes on from where it stopped.
    await world.patch(`/webhooks/${id}`, { state: "active" }, { actor: owner });
    await until(() => receiver.received.length >= 2, "what waited came");
    expect(await view()).toMatchObject({ user_id: owner.id, state: "active" });
  });
});

describe("the operator of a web-hook", () => {
  test("rotates its secret: for a day both verify, and then the new one alone", async () => {
    const clock = createClock();
    const ground = await createHooked({ clock });
    const { world, owner } = ground;
    const receiver = await createReceiver();
    const { id, secret: former } = await hook(ground, receiver, { types: ["owner.changed"] });
    const { secret, former_secret_until: ends } = (await world.post(`/webhooks/${id}/rotate`, undefined, { actor: owner })).body.data;
    expect(Date.parse(ends) - clock.now().getTime()).toBeGreaterThan(day * 999);
    await emit(world, openEvent());
    await until(() => receiver.received.length === 1, "it came");
    const [both] = receiver.received;
    for (const one of [secret, former]) expect(verify(one, both!)).toEqual(both!.body);
    await clock.forward(world, day + 1);
    expect((await world.post(`/webhooks/${id}/test`, undefined, { actor: owner })).body.data).toMatchObject({
      kind: "test",
      delivered: true,
    });
    const signature = receiver.received[1]!.headers["webhook-signature"];
    expect(signature).toMatch(/^v1,\S+$/);
    const { formerSecret } = await world.app.database.read.webhook.findUniqueOrThrow({ where: { id } });
    expect(formerSecret).toBeNull();
  });

  test("tests it, sees what was sent, and has an event sent again as long as it is kept and may be seen", async () => {
    const ground = await createHooked();
    const { world, owner } = ground;
    const receiver = await createReceiver(() => 500);
    const { id, secret } = await hook(ground, receiver, { types: ["owner.changed"] });
    const ask = (path: string) => world.post(`/webhooks/${id}${path}`, undefined, { actor: owner });
    const failed = (await ask("/test")).body.data;
    expect(failed).toMatchObject({
      kind: "test",
      type: "webhook.test",
      delivered: false,
      status: 500,
      problem: "The address answered with status 500.",
    });
    receiver.answer = () => 200;
    await emit(world, openEvent());
    await until(() => receiver.received.length === 2, "the event came");
    const [sent] = (await world.get(`/webhooks/${id}/deliveries?limit=1`, { actor: owner })).body.data;
    const again = await ask(`/deliveries/${sent.id}/redeliver`);
    expect(again.body.data).toMatchObject({ kind: "redelivery", event_id: sent.event_id, delivered: true });
    const [, first, second] = receiver.received;
    expect([second!.text, second!.headers["webhook-id"]]).toEqual([first!.text, first!.headers["webhook-id"]]);
    verify(secret, second!);
    const noEvent = await ask(`/deliveries/${failed.id}/redeliver`);
    expect([noEvent.status, noEvent.body.code, noEvent.body.detail]).toEqual([
      409,
      "invalid_transition",
      expect.stringContaining("no longer kept"),
    ]);
    expect((await ask(`/deliveries/${uuid7()}/redeliver`)).body.code).toBe("record_not_found");
    const page = (await world.get(`/webhooks/${id}/deliveries?limit=2&count=true`, { actor: owner })).body;
    expect([page.page.total, page.data.map(({ kind }: any) => kind)]).toEqual([3, ["redelivery", "event"]]);
    expect((await world.get(`/webhooks/${id}/deliveries?cursor=${page.page.next_cursor}`, { actor: owner })).body.data).toHaveLength(1);
    expect((await world.delete(`/webhooks/${id}`, undefined, { actor: owner })).status).toBe(200);
    expect(await world.app.database.read.webhookDelivery.count()).toBe(0);
    const actions = await world.app.database.read.auditEntry.findMany({ where: { targetId: id }, orderBy: { seq: "asc" } });
    expect(actions.map(({ action }) => action)).toEqual(["webhook.create", "webhook.test", "webhook.redeliver", "webhook.delete"]);
  });

  test("pauses it, and is told first of what was missed where events are no longer kept", async () => {
    const ground = await createHooked();
    const { world, owner } = ground;
    const receiver = await createReceiver();
    const { id, position } = await hook(ground, receiver, { types: ["owner.changed"] });
    expect((await world.patch(`/webhooks/${id}`, { state: "paused" }, { actor: owner })).body.data.state).toBe("paused");
    await emit(world, openEvent(), openEvent(), openEvent());
    await world.app.database.write(systemCall("job", uuid7()), ({ db }) =>
      db.outboxEvent.deleteMany({ where: { seq: { lte: position + 2 } } }),
    );
    expect(receiver.received).toEqual([]);
    // What memory holds would be told all the same.
    await world.restart();
    await world.patch(`/webhooks/${id}`, { state: "active" }, { actor: owner });
    await until(() => receiver.received.length === 2, "the gap and the event came");
    expect(receiver.received.map(({ body }) => body)).toEqual([
      { type: "webhook.gap", timestamp: expect.any(String), data: { after: position, next: position + 3 } },
      expect.objectContaining({ type: "owner.changed", data: expect.objectContaining({ seq: position + 3 }) }),
    ]);
  });

  test("finds the last 10,000 attempts of each, which one query tells of all of them", async () => {
    const ground = await createHooked();
    const { world } = ground;
    const receiver = await createReceiver();
    const ids: string[] = [];
    for (let count = 0; count < 3; count += 1)
      ids.push((await hook(ground, receiver, { name: `hook ${count.toString()}`, types: ["owner.*"] })).id);
    const [many = "", few = ""] = ids;
    const attempt = (webhookId: string, at: number) => ({
      id: uuid7(at),
      webhookId,
      kind: "event",
      eventId: uuid7(at),
      type: "owner.changed",
      at: new Date(at),
      attempt: 1,
      status: 204,
      ms: 1,
      problem: null,
    });
    const now = Date.now();
    const rows = [
      ...Array.from({ length: 10_003 }, (_, place) => attempt(many, now - 20_000 + place)),
      ...[now - 31 * day * 1000, now - 29 * day * 1000, now].map((at) => attempt(few, at)),
    ];
    await world.app.database.write(systemCall("job", uuid7()), (tx) => insertRows(tx, "WebhookDelivery", rows));
    const { single } = await statementsOf(() => world.app.webhookRunner.sweep(systemCall("job", uuid7())));
    // Whether some are too old, and which are too many.
    expect(single.filter((text) => text.includes("webhook_deliveries"))).toHaveLength(2);
    const left = (webhookId: string) =>
      world.app.database.read.webhookDelivery.findMany({ where: { webhookId }, orderBy: { id: "asc" }, select: { id: true } });
    expect(await left(many)).toEqual(rows.slice(3, 10_003).map(({ id }) => ({ id })));
    expect(await left(few)).toEqual(rows.slice(-2).map(({ id }) => ({ id })));
  });

  test("is refused what makes no sense, and told why", async () => {
    const ground = await createHooked({ env: { WEBHOOK_ALLOW_PRIVATE: "" } });
    const { world, owner } = ground;
    const moderator = await world.staff("moderator");
    const make = (body: object, actor = owner) =>
      world.post("/webhooks", { name: "a", url: "https://client.example/", ...body }, { actor });
    const wrong = async (body: object) => {
      const { status, body: answer } = await make(body);
      return [status, ...answer.errors.map(({ pointer, detail }: any) => `${pointer}: ${detail}`)];
    };
    expect(await wrong({ url: "http://client.example/" })).toEqual([422, "/url: The address has to begin with https."]);
    expect(await wrong({ url: "https://10.0.0.1/" })).toEqual([
      422,
      expect.stringContaining("/url: The address leads into a private network"),
    ]);
    expect(await wrong({ url: "https://a:b@client.example/" })).toEqual([422, "/url: Leave names, passwords and # out of the address."]);
    expect(await wrong({ url: "https://client.example:25/" })).toEqual([422, expect.stringContaining("/url: The port")]);
    expect(await wrong({ types: ["owner.changed", "nothing.here"] })).toEqual([422, expect.stringContaining("/types/1: Name types")]);
    expect((await make({}, moderator)).body).toMatchObject({ code: "permission_denied", required: "system.webhooks.manage" });
    expect((await make({})).status).toBe(201);
    expect(await wrong({})).toEqual([422, "/name: Another web-hook is called that."]);
    for (let count = 1; count < 20; count += 1) expect((await make({ name: `a${count.toString()}` })).status).toBe(201);
    expect((await make({ name: "b" })).body).toMatchObject({
      code: "invalid_transition",
      detail: expect.stringContaining("20 web-hooks already"),
    });
    const fill = (count: number) => {
      const made = { createdAt: new Date(), updatedAt: new Date(), revision: 1 };
      const rows = Array.from({ length: count }, () => {
        const [id, url] = [uuid7(), "https://client.example/"];
        return { id, name: id, url, types: [], secret: "", state: "paused", position: 0, failures: 0, ...made };
      });
      return world.app.database.write(systemCall("job", uuid7()), (tx) => insertRows(tx, "Webhook", rows));
    };
    await fill(179);
    expect((await make({ name: "b" })).body.detail).toContain("20 web-hooks already");
    await fill(1);
    expect((await make({ name: "b" })).body).toMatchObject({
      code: "invalid_transition",
      detail: "There are 200 web-hooks already: delete one first.",
    });
  });
});
