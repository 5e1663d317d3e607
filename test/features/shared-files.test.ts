// @module-tag postgres
// @module-tag slow
import { readFile } from "node:fs/promises";
import { expect, test } from "vitest";
import type { App } from "../../src/app.ts";
import { createNodes } from "../../src/cluster/nodes.ts";
import { systemClock } from "../../src/kernel/clock.ts";
import { uuid7 } from "../../src/kernel/ids.ts";
import { processCall, webCall } from "../../src/kernel/call.ts";
import { createPair, isPostgres } from "./shared-ground.ts";

const linesOf = async (file: string): Promise<string[]> => (await readFile(file, "utf8").catch(() => "")).split("\n").filter(Boolean);

test.runIf(isPostgres())(
  "what is deleted at one process, and what it signs of the audit, is within a minute in the files of the other, too",
  async () => {
    const { world, apps } = await createPair();
    const [one, other] = apps;
    const person = world.member("River");
    const deletions = (app: App) => linesOf(app.config.erasureJournal);
    const signed = (app: App) => linesOf(app.config.auditCheckpoints);
    const call = webCall(uuid7(), person.id);
    await one.privacy.erase(call, person.id);
    await one.audit.signHead({ ...call, actor: null, client: { id: "system", name: "system", allows: () => true }, via: "cli" });
    expect([await deletions(other), await signed(other)]).toEqual([[], []]);
    await other.runJobs();
    expect((await deletions(one)).length).toBeGreaterThan(0);
    expect(await deletions(other)).toEqual(await deletions(one));
    expect((await signed(one)).length).toBeGreaterThan(0);
    expect(await signed(other)).toEqual(await signed(one));
    await other.runJobs();
    expect([await deletions(other), await signed(other)]).toEqual([await deletions(one), await signed(one)]);
  },
);

test.runIf(isPostgres()).each([
  ["0.1.7", "0.2.0", true],
  ["1.4.0", "2.0.0", true],
  ["0.1.7", "0.1.9", false],
  ["1.4.0", "1.5.2", false],
])("a process of version %s beside one of version %s: refused is %s", async (running, started, isRefused) => {
  const { world } = await createPair();
  const { database, logger } = world.app;
  const nodeOf = (version: string) => {
    const own = { id: uuid7(), host: "harbour", pid: 7, version, startedAt: systemClock.now() };
    return createNodes({ own, database, logger, tellOthers: () => undefined });
  };
  await nodeOf(running).join();
  const later = nodeOf(started);
  const joined = await later.join().catch((error: unknown) => (error as Error).message);
  if (isRefused)
    expect(joined).toContain(`Process 7 on harbour serves this database with version ${running}, and this is version ${started}.`);
  else expect(later.live().map(({ version }) => version)).toEqual([running, started]);
});

test.runIf(isPostgres())(
  "changes are written down while another process is known, which ends when that has said nothing for ten minutes",
  async () => {
    const { world } = await createPair();
    const { database } = world.app;
    const owner = await world.staff("owner");
    const choose = async (channel: string | null) => {
      const chosen = await world.put(`/channels/${world.guild.id}`, { review: channel }, { actor: owner });
      expect(chosen.status, JSON.stringify(chosen.body)).toBe(200);
      return (await database.read.change.findMany()).map(({ topic, keys }) => [topic, keys]);
    };
    expect(await choose(world.guild.createChannel("reviews").id)).toEqual([]);
    const node = { id: uuid7(), host: "harbour", pid: 7, version: "0.1.0", startedAt: new Date(), heartbeatAt: new Date() };
    await database.write(processCall(uuid7()), ({ db }) => db.node.create({ data: node }));
    expect(await choose(null)).toEqual([["settings", [`channels:${world.guild.id}`]]]);
    const old = new Date(Date.now() - 601_000);
    await database.write(processCall(uuid7()), async ({ db }) => {
      await db.node.updateMany({ data: { heartbeatAt: old } });
      await db.change.updateMany({ data: { at: old } });
    });
    await world.app.runJobs();
    expect([await database.read.node.count(), await choose(world.guild.createChannel("others").id)]).toEqual([0, []]);
  },
);
