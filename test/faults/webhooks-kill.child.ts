import { setTimeout as delay } from "node:timers/promises";
import { createApp } from "../../src/app.ts";
import { readConfig } from "../../src/config/config.ts";
import { systemCall } from "../../src/kernel/call.ts";
import { requireDone } from "../../src/kernel/held.ts";
import { uuid7 } from "../../src/kernel/ids.ts";

/** The whole service, with its retries soon. It writes events for as long as it is let, and is killed from outside. */
const { KILL_RECEIVERS: receivers = "", KILL_EVENTS: events = "0", ...env } = process.env;
const reading = readConfig(env);
if (!reading.ok) throw new Error(reading.lines.join("\n"));
const app = await createApp({ ...reading, pauses: { webhookRetry: 0.001 }, isScheduled: false, logTo: process.stderr });
await app.start();
const job = () => systemCall("job", uuid7());
const tell = (line: object): void => void process.stdout.write(`${JSON.stringify(line)}\n`);

if (receivers !== "") {
  const made = requireDone(
    await app.keys.create(systemCall("cli", uuid7()), { name: "kill", scopes: ["*", "system.act"], delegation: "none" }),
  );
  const secrets: string[] = [];
  for (const url of receivers.split(",")) {
    const headers = { authorization: `Bearer ${made.key}`, "content-type": "application/json" };
    const body = JSON.stringify({ name: url, url, types: ["owner.changed"] });
    const answer = await fetch(`${app.address()}/webhooks`, { method: "POST", headers, body });
    const { data } = (await answer.json()) as { data: { secret: string } };
    secrets.push(data.secret);
  }
  tell({ secrets });
}
for (let left = Number(events); left > 0; left -= 2) {
  await app.database.write(job(), (tx) => {
    for (const data of [{}, {}]) app.events.emit(tx, { type: "owner.changed", data });
    if (left % 10 === 0) app.events.emit(tx, { type: "callsign.low_pool", data: { pool: "other" } });
    return Promise.resolve();
  });
  await delay(1);
}
tell({ isDone: true });
