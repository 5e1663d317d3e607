// @module-tag postgres
// @module-tag slow
import { expect, test } from "vitest";
import { staffAtConsole } from "../contract/world.ts";
import { freshId } from "../contract/document.ts";
import { createPair, isPostgres } from "./shared-ground.ts";

test.runIf(isPostgres())("an interaction that two processes are told of is acted on once, and the other says nothing", async () => {
  const ran: string[] = [];
  const lines: string[] = [];
  const { world, apps } = await createPair({
    log: (line) => void lines.push(line),
    aroundVerbs: (verbs) => ({
      ...verbs,
      run: (...given) => {
        ran.push(given[0]);
        return verbs.run(...given);
      },
    }),
  });
  const actor = await staffAtConsole(world, "moderator");
  await apps[1].start();
  await world.sandbox.waitFor(() => !apps[1].guildState.freshness().stale, 60_000);
  const claims = () => world.app.database.read.claim.count();
  for (let turn = 1; turn <= 50; turn += 1) {
    const reply = await world.slash(actor, "blacklist check", { ids: freshId() });
    expect(reply).toContain("is not listed");
    expect([ran.length, await claims()]).toEqual([turn, turn]);
  }
  expect(lines.filter((line) => /answer to Discord was lost|unexpected/.test(line))).toEqual([]);
});
