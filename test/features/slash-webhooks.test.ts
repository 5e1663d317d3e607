import { expect, test } from "vitest";
import { staffAtConsole } from "../contract/world.ts";
import { createHooked, createReceiver, until, verify } from "./webhooks-ground.ts";
import { emit, openEvent } from "./events-listener.ts";

test("an owner makes, tests, pauses, resumes, rotates and removes a web-hook in Discord, which acts for them alone", async () => {
  const { world } = await createHooked();
  const [owner, moderator] = [await staffAtConsole(world, "owner"), await staffAtConsole(world, "moderator")];
  const receiver = await createReceiver();
  const say = (words: string, options: Record<string, string> = {}) => world.slash(owner, `setup webhooks ${words}`, options);
  expect(await say("list")).toContain("There is no web-hook yet");
  const made = await say("add", { name: "desk", url: receiver.url, types: "owner.changed" });
  const [secret = ""] = /whsec_[\w+/=]+/.exec(made) ?? [];
  const { id, keyId, userId } = await world.app.database.read.webhook.findFirstOrThrow();
  expect([keyId, userId]).toEqual([null, owner.id]);
  expect(await say("test", { webhook: id })).toMatch(/✅ `webhook\.test`.*taken in \d+ ms/);
  verify(secret, receiver.received[0]!);
  expect(await say("pause", { webhook: id })).toContain("paused");
  await emit(world, openEvent());
  expect(await say("resume", { webhook: id })).toContain("active");
  await until(() => receiver.received.length === 2, "the event came");
  verify(secret, receiver.received[1]!);
  expect(await say("deliveries", { webhook: id })).toContain("`owner.changed`");
  const run = await world.sandbox.as(owner).in(world.guild).runSlashCommand("setup webhooks remove", { webhook: id });
  expect((await run.reply()).content).toContain("Delete **desk**?");
  expect(await world.slash(moderator, "setup webhooks list")).toContain("system.webhooks.manage");
});
