import { expect, onTestFinished, test } from "vitest";
import { createCommandIds } from "../../src/discord/registration/command-ids.ts";
import { createRegistration } from "../../src/discord/client.ts";
import { createDiscordRest } from "../../src/discord/rest/rest.ts";
import { createLog, startSandbox, until } from "./support.ts";

const time = { offset: 0 };
const clock = { now: () => new Date(Date.now() + time.offset) };

function restAt(apiBase: string, token: string) {
  const { logger } = createLog();
  const rest = createDiscordRest({ apiBase, token, logger, repeatMs: 10 });
  onTestFinished(() => rest.stop());
  return { rest, logger };
}

test("the ids of slash commands are those that Discord gave, without menus, and are asked for again after ten minutes", async () => {
  const sandbox = await startSandbox();
  const { DISCORD_API_BASE: apiBase, DISCORD_TOKEN: token, DISCORD_CLIENT_ID: clientId } = sandbox.env();
  const { rest, logger } = restAt(apiBase, token);
  const commandIds = createCommandIds(rest, clientId, clock);
  expect([...(await commandIds())]).toEqual([]);
  const payloads = [
    { name: "help", description: "Help" },
    { name: "History", type: 2 as const },
  ];
  const registration = createRegistration({ rest, clientId, payloads, logger });
  registration.start();
  onTestFinished(() => registration.stop());
  await until(() => registration.isDone());
  const { commands } = sandbox.inside.world.application;
  const help = [...commands.values()].find(({ name }) => name === "help");
  expect([...(await commandIds())]).toEqual([["help", help?.id]]);
  commands.clear();
  expect([...(await commandIds())]).toEqual([["help", help?.id]]);
  time.offset += 600_000;
  expect([...(await commandIds())]).toEqual([]);
});

test("without Discord no ids are known, and nothing fails", async () => {
  const { rest } = restAt("http://127.0.0.1:1/api", "token");
  expect([...(await createCommandIds(rest, "80351110224678912", clock)())]).toEqual([]);
});
