// @module-tag postgres
// @module-tag slow
import { readFile } from "node:fs/promises";
import { expect, test } from "vitest";
import type { App } from "../../src/app.ts";
import { createNodes } from "../../src/cluster/nodes.ts";
import { systemClock } from "../../src/kernel/clock.ts";
import { uuid7 } from "../../src/kernel/ids.ts";
import { webCall } from "../../src/kernel/call.ts";
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
