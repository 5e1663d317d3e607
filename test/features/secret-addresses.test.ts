// @module-tag both
import { describe, expect, test } from "vitest";
import { shownAddress, wholeAddress } from "../../src/kernel/addresses.ts";
import { createWorld } from "../support/world.ts";
import { createTeller } from "./follows-ground.ts";
import { createReceiver, until } from "./webhooks-ground.ts";

/** Parts of addresses that are all somebody needs to use them. */
const secrets = ["TokenInThePath", "TokenInTheQuery", "AnotherToken", "TokenOfTheList"] as const;

async function createGround() {
  const lines: string[] = [];
  const env = { WEBHOOK_ALLOW_PRIVATE: "127.0.0.1", LISTS_FROM: "127.0.0.1" };
  const world = await createWorld({ env, log: (line) => void lines.push(line) });
  return { world, owner: await world.staff("owner"), lines };
}

describe("an address with a secret in its path or query", () => {
  test("is asked as it was written, and shown, audited and logged nowhere beyond its first part", async () => {
    const { world, owner, lines } = await createGround();
    const answers: unknown[] = [];
    const keep = <Answer extends { body: unknown }>(answer: Answer): Answer => {
      answers.push(answer.body);
      return answer;
    };
    const receiver = await createReceiver();
    const { origin } = new URL(receiver.url);
    const address = `${origin}/hooks/TokenInThePath?key=TokenInTheQuery`;
    const headers = { "idempotency-key": "a-secret-address-1" };
    const body = { name: "Chat", url: address, types: ["webhook.*"] };
    const made = keep(await world.post("/webhooks", body, { actor: owner, headers }));
    expect([made.status, made.body.data.url]).toEqual([201, `${origin}/hooks/…`]);
    keep(await world.post("/webhooks", body, { actor: owner, headers }));
    const { id } = made.body.data;
    expect(keep(await world.post(`/webhooks/${id}/test`, undefined, { actor: owner })).body.data.delivered).toBe(true);
    expect(receiver.received.at(-1)?.path).toBe("/hooks/TokenInThePath?key=TokenInTheQuery");

    // What was read can be sent back, and means no change.
    const same = keep(await world.patch(`/webhooks/${id}`, { url: made.body.data.url, name: "Chat" }, { actor: owner }));
    expect([same.status, same.body.data.revision]).toEqual([200, 1]);
    const cut = keep(await world.patch(`/webhooks/${id}`, { url: `${origin}/others/…` }, { actor: owner }));
    expect(cut.body.errors).toMatchObject([{ pointer: "/url", code: "shortened" }]);
    const moved = keep(await world.patch(`/webhooks/${id}`, { url: `${origin}/hooks/AnotherToken` }, { actor: owner }));
    expect([moved.body.data.url, moved.body.data.revision]).toEqual([`${origin}/hooks/…`, 2]);
    await world.post(`/webhooks/${id}/test`, undefined, { actor: owner });
    expect(receiver.received.at(-1)?.path).toBe("/hooks/AnotherToken");

    const teller = await createTeller(() => ({ status: 404, body: "" }));
    const list = { name: "Phishing", kind: "file", address: `${teller.url}/lists?token=TokenOfTheList` };
    const followed = keep(await world.post("/lists", list, { actor: owner }));
    expect(followed.body.data.address).toBe(`${teller.url}/lists/…`);
    const listId = followed.body.data.id as string;
    const again = keep(await world.patch(`/lists/${listId}`, { address: `${teller.url}/lists/…`, name: "Scam" }, { actor: owner }));
    expect([again.status, again.body.data.name]).toEqual([200, "Scam"]);
    keep(await world.post(`/lists/${listId}/refresh`, undefined, { actor: owner }));
    expect(teller.asked.at(-1)?.path).toBe("/lists?token=TokenOfTheList");
    expect(keep(await world.post("/lists", { ...list, name: "b", address: `${teller.url}/lists/…` }, { actor: owner })).status).toBe(422);

    world.guild.setRoles(owner, [world.guild.createRole("Administrators", { permissions: ["Administrator"] })]);
    const listed = await world.sandbox.as(owner).in(world.guild).runSlashCommand("setup webhooks list");
    const follows = await world.sandbox.as(owner).in(world.guild).runSlashCommand("follows list");
    answers.push(await listed.reply(), await follows.reply());
    expect(JSON.stringify(answers.at(-2))).toContain("/hooks/…");
    keep(await world.delete(`/webhooks/${id}`, undefined, { actor: owner }));
    keep(await world.delete(`/lists/${listId}`, undefined, { actor: owner }));
    for (const path of ["/webhooks", "/lists", "/audit?limit=100", "/events?limit=100", "/health"])
      keep(await world.get(path, { actor: owner }));
    const { read } = world.app.database;
    await until(async () => (await read.auditPayload.count()) > 4, "the audit is written");
    const stored = [await read.auditPayload.findMany(), await read.outboxEvent.findMany(), await read.idempotencyRecord.findMany()];
    const changes = (await world.get("/audit?action=webhook.update", { actor: owner })).body.data;
    expect(changes[0]).toMatchObject({ after: { url: `${origin}/hooks/…`, url_changed: true } });
    for (const text of [JSON.stringify(answers), lines.join("\n"), JSON.stringify(stored)])
      for (const secret of secrets) expect(text).not.toContain(secret);
  });
});

test.each([
  ["https://provost.example", "https://provost.example"],
  ["https://client.example/hook/", "https://client.example/hook/"],
  ["https://example.org/hooks/123/abc", "https://example.org/hooks/…"],
  ["https://example.org:8443/hook?token=a", "https://example.org:8443/hook/…"],
  ["https://example.org/?token=a", "https://example.org/…"],
  ["https://example.org/0199a1b2-c3d4-7e5f-8a9b-0c1d2e3f4a5b", "https://example.org/…"],
  ["https://example.org/hook;token=a", "https://example.org/…"],
  ["https://ann:word@example.org/hook", "https://example.org/hook/…"],
  ["https://example.org/hook#a", "https://example.org/hook/…"],
  ["no address", "…"],
])("of %s is shown %s", (address, shown) => {
  expect(shownAddress(address)).toBe(shown);
  expect(wholeAddress("/url", shown, address)).toBe(address);
});
