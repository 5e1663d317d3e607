// @module-tag sqlite
import { spawn } from "node:child_process";
import { once } from "node:events";
import { fileURLToPath } from "node:url";
import { expect, onTestFinished, test } from "vitest";
import { freePort } from "../support/free-port.ts";
import { emit, openEvent } from "./events-listener.ts";
import { createHooked, hook, until } from "./webhooks-ground.ts";

const root = fileURLToPath(new URL("../..", import.meta.url));

test("the example receives events, each once, and refuses what the service has not signed", async () => {
  const ground = await createHooked();
  const port = await freePort();
  const url = `http://127.0.0.1:${port.toString()}/`;
  // The secret is known once the web-hook is there; until the receiver is, nothing is to be sent.
  const { id, secret } = await hook(ground, { url }, { types: ["owner.changed"] });
  const child = spawn(process.execPath, ["--import", "tsx", "examples/webhook-receiver/main.ts"], {
    cwd: root,
    env: { PATH: process.env["PATH"], WEBHOOK_SECRET: secret, PORT: port.toString() },
    stdio: ["ignore", "pipe", "pipe"],
  });
  const ended = once(child, "exit");
  onTestFinished(async () => {
    child.kill("SIGKILL");
    await ended;
  });
  let printed = "";
  for (const stream of [child.stdout, child.stderr]) stream.on("data", (part: Buffer) => (printed += part.toString()));
  await until(() => printed.includes("Waiting"), "it listens");
  await emit(ground.world, openEvent({ count: 1 }));
  await until(() => printed.includes('"count":1'), "the event is printed");
  const ask = (path: string) => ground.world.post(`/webhooks/${id}${path}`, undefined, { actor: ground.owner });
  await until(async () => (await ground.world.app.database.read.webhookDelivery.count()) === 1, "it is noted");
  const log = await ground.world.get(`/webhooks/${id}/deliveries`, { actor: ground.owner });
  expect((await ask(`/deliveries/${log.body.data[0].id as string}/redeliver`)).body.data.delivered).toBe(true);
  expect((await ask("/test")).body.data.delivered).toBe(true);
  await until(() => printed.includes("webhook.test"), "the test is printed");
  expect(printed.split('"count":1')).toHaveLength(2);
  expect((await fetch(url, { method: "POST", body: "{}" })).status).toBe(400);
});
