import { beforeAll, describe, expect, test } from "vitest";
import type { User } from "../../sandbox/index.ts";
import { shareWorld, staffAtConsole } from "../contract/world.ts";

const ground = shareWorld();
let owner: User;
beforeAll(async () => {
  owner = await staffAtConsole(ground.world, "owner");
  const pool = { key: "north", name: "North", template: "N-{n:03}", ranges: [[1, 30]] };
  expect((await ground.world.post("/callsigns/pools", pool, { actor: owner })).status).toBe(201);
});
const say = (words: string, options: Record<string, string | number | User> = {}, user = owner) => ground.world.slash(user, words, options);

describe("/audit", () => {
  test("finds what was done by who did it, in what way and when, and nothing else", async () => {
    const { world } = ground;
    const admin = await staffAtConsole(world, "admin");
    await say("callsign next", { user: world.member(), pool: "north" }, admin);
    const found = await say("audit search", { by: admin, via: "slash" });
    expect(found).toMatch(/callsign.*in Discord/s);
    expect(found).not.toContain("callsign_pool");
    expect(await say("audit search", { by: admin, to: "2026-01-01" })).toBe("Nothing was found.");
    expect(await say("audit search", { by: admin, from: "soon" })).toMatch(/^`from` \(`soon`\): .*\n-# validation_failed$/);
  });

  test("shows all that was done to one record, with what it was before and after", async () => {
    const shown = await say("audit show", { record: "north" });
    expect(shown).toMatch(
      /\*\*Pool of callsigns: created\*\* \(`callsign_pool\.create`\).*`north`.*> Name: North; Days it is kept free: 90; Department: –; Minutes it is reserved: 15; /s,
    );
    expect(shown).toContain("; Written as: N");
    expect(shown).not.toMatch(/\{\\"|null/);
    expect(await say("audit show", { record: "no-such-record" })).toBe("Nothing was found.");
  });

  test("proves the chain, and names the entry that was changed", async () => {
    expect(await say("audit verify")).toMatch(/^Nothing was changed: \d+ entries agree/);
    expect(await say("audit verify", { first: 9, last: 3 })).toContain("validation_failed");
    expect(await say("audit checkpoint")).toMatch(/Public key|No position is signed yet/);
  });

  test("tells everybody what they did themselves, and only those who may what others did", async () => {
    const moderator = await staffAtConsole(ground.world, "moderator");
    const mine = await say("audit mine", {}, moderator);
    expect(mine).not.toContain(owner.id);
    const viewer = await staffAtConsole(ground.world, "viewer");
    for (const words of ["audit search", "audit verify", "audit export", "audit checkpoint"])
      expect(await say(words, {}, viewer)).toContain("permission_denied");
  });

  test("exports its lines as one file, of what was asked for only", async () => {
    const run = await ground.world.sandbox.as(owner).in(ground.world.guild).runSlashCommand("audit export", { record: "north" });
    const { attachments, content } = await run.reply();
    expect(content).toBe("Here is the file.");
    expect(attachments).toMatchObject([{ name: "audit.ndjson" }]);
  });
});
