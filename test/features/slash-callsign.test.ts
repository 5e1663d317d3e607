import { commandTable } from "../../src/features.ts";
import { beforeAll, describe, expect, test } from "vitest";
import { pressed, pressId } from "../../src/commands/press.ts";
import { systemCall } from "../../src/kernel/call.ts";
import { uuid7 } from "../../src/kernel/ids.ts";
import { staffAtConsole } from "../contract/world.ts";
import { createWorld, type World } from "../support/world.ts";

const { entries } = commandTable();

describe("/callsign", () => {
  let world: World;
  beforeAll(async () => {
    let end = (): Promise<void> => Promise.resolve();
    world = await createWorld({ onEnd: (way) => (end = way) });
    const pool = { key: "north", name: "North", department: "NORTH", template: "{dept}-{n:03}", ranges: [[1, 30]] };
    const made = await world.post("/callsigns/pools", pool, { actor: await world.staff("owner") });
    expect(made.status).toBe(201);
    return () => end();
  });

  test("somebody gets the next callsign, sees it, and gives it back with a reason that a form asks for", async () => {
    const [admin, ann] = [await staffAtConsole(world, "admin"), world.member("ann")];
    const ask = world.sandbox.as(admin).in(world.guild);
    const given = await (await ask.runSlashCommand("callsign next", { user: ann, pool: "north" })).reply();
    expect(JSON.stringify(given.embeds)).toContain("NORTH");
    expect(given.ephemeral).toBe(true);
    const shown = await world.get("/callsigns?pool=north", { actor: admin });
    expect(shown.body.data).toHaveLength(1);
    const callsign = shown.body.data[0].callsign as string;
    const run = await ask.runSlashCommand("callsign release", { callsign });
    await run.modal();
    const sent = await run.submitModal({ reason: "They have left the service" });
    expect(JSON.stringify((await sent.reply()).embeds)).toContain("resting");
    expect((await world.get(`/callsigns/${callsign}`, { actor: admin })).body.data.state).toBe("held");
  });

  test("a list comes in pages with buttons, and as a file", async () => {
    const admin = await staffAtConsole(world, "admin");
    const ask = world.sandbox.as(admin).in(world.guild);
    for (let index = 0; index < 12; index += 1) {
      await world.post("/callsigns/next", { pool: "north", user_id: world.member().id }, { actor: admin });
    }
    const run = await ask.runSlashCommand("callsign list", { pool: "north" });
    const page = (number: number) =>
      world.sandbox.waitFor(() => JSON.stringify(run.current()?.embeds).includes(`Page ${number.toString()}`));
    await run.reply();
    await page(1);
    await run.clickButton("▶");
    await page(2);
    await run.clickButton("◀");
    await page(1);
    const filed = await (await run.clickButton("CSV")).reply();
    expect(filed.content).toBe("Here is the file.");
  });

  test("who may not is refused with the words and the code of the HTTP door, and nothing is taken", async () => {
    const viewer = await staffAtConsole(world, "viewer");
    const before = await world.app.database.read.callsignSlot.count();
    const said = await world.slash(viewer, "callsign next", { pool: "north" });
    expect(said).toContain("permission_denied");
    expect(await world.app.database.read.callsignSlot.count()).toBe(before);
  });
});

describe("/callsign repair", () => {
  let world: World;
  beforeAll(async () => {
    let end = (): Promise<void> => Promise.resolve();
    world = await createWorld({ onEnd: (way) => (end = way) });
    const pool = { key: "south", name: "South", template: "S-{n:03}", ranges: [[1, 30]] };
    expect((await world.post("/callsigns/pools", pool, { actor: await world.staff("owner") })).status).toBe(201);
    return () => end();
  });

  /** A number whose rest is over, which a repair frees. */
  const plantRest = (number: number) =>
    world.app.database.write(systemCall("cli", uuid7()), ({ db, now }) => {
      const at = { since: now, until: new Date(now.getTime() - 1), createdAt: now };
      const callsign = `S-${number.toString().padStart(3, "0")}`;
      return db.callsignSlot.create({
        data: { id: uuid7(), pool: "south", number, callsign, state: "held", liveKey: `south:${number.toString()}`, ...at },
      });
    });
  const stateOf = async (id: string) => (await world.app.database.read.callsignSlot.findUnique({ where: { id } }))?.state;

  test("shows the plan first, carries out that very plan by a button, and takes it back by another", async () => {
    const admin = await staffAtConsole(world, "admin");
    const { id } = await plantRest(9);
    const ask = world.sandbox.as(admin).in(world.guild);
    const looked = await ask.runSlashCommand("callsign repair", { pool: "south" });
    const report = await looked.reply();
    expect(report.content).toContain("1 findings. rest is over: 1");
    expect(JSON.stringify(report.embeds)).toContain("1.");
    expect(await stateOf(id)).toBe("held");
    expect(await world.app.database.read.auditEntry.count({ where: { action: "callsign.repair" } })).toBe(0);

    const applied = await looked.clickButton("Apply this plan");
    expect((await applied.reply()).content).toBe("1 of 1 steps were carried out.");
    expect(await stateOf(id)).toBe("ended");
    const again = await (await looked.clickButton("Apply this plan")).reply();
    expect(again.content).toContain("precondition_failed");
    expect(await world.app.database.read.callsignRepair.count()).toBe(1);

    const undo = await applied.clickButton("Undo");
    await undo.modal();
    expect(JSON.stringify((await (await undo.submitModal({ reason: "It was meant to rest" })).reply()).embeds)).toContain("Put back");
    expect(await stateOf(id)).toBe("held");
    const listed = await (await ask.runSlashCommand("callsign repairs")).reply();
    expect(JSON.stringify(listed.embeds)).toContain("taken back");
    expect(JSON.stringify(listed.components)).not.toContain("do:cu");
  });

  test("a button still works after a restart, and one of no command is refused", async () => {
    const admin = await staffAtConsole(world, "admin");
    const looked = await world.sandbox.as(admin).in(world.guild).runSlashCommand("callsign repair", { pool: "south", fix: "hold_over" });
    await looked.reply();
    await world.restart();
    const applied = await (await looked.clickButton("Apply this plan")).reply();
    expect(applied.content).toBe("1 of 1 steps were carried out.");
    expect(pressed(entries, ["gone", "x"])).toBeUndefined();
  });

  test("who may not repair sees no plan and leaves it as it is", async () => {
    const moderator = await staffAtConsole(world, "moderator");
    const { id } = await plantRest(11);
    const said = await world.slash(moderator, "callsign repair", { pool: "south" });
    expect(said).toContain("permission_denied");
    expect(said).not.toContain("S-011");
    expect(await stateOf(id)).toBe("held");
  });
});

describe("the numbers of /callsign block", () => {
  test("are blocked and freed in spans, retired numbers come back, and a part that is no number is named", async () => {
    const world = await createWorld();
    const owner = await staffAtConsole(world, "owner");
    const pool = { key: "east", name: "East", template: "E-{n:03}", ranges: [[1, 30]] };
    expect((await world.post("/callsigns/pools", pool, { actor: owner })).status).toBe(201);
    const ask = world.sandbox.as(owner).in(world.guild);
    const fill = async (words: string, options: Record<string, string>) => {
      const run = await ask.runSlashCommand(words, options);
      await run.modal();
      const reply = await (await run.submitModal({ reason: "A partner uses them" })).reply();
      return [reply.content, JSON.stringify(reply.embeds)].join("\n");
    };
    const blocked = () => world.app.database.read.callsignSlot.count({ where: { state: "blocked" } });
    await fill("callsign block", { pool: "east", numbers: "13, 20-22" });
    expect(await blocked()).toBe(4);
    const wrong = await (await ask.runSlashCommand("callsign block", { pool: "east", numbers: "5, x-7" })).reply();
    expect(wrong.content).toContain("`numbers` (`x-7`): ");
    expect(await blocked()).toBe(4);
    await fill("callsign unblock", { pool: "east", numbers: "20-21" });
    expect(await blocked()).toBe(2);
    expect(await fill("callsign retire", { callsign: "E-007" })).toContain("retired");
    await fill("callsign unretire", { callsign: "E-007" });
    expect(await world.slash(owner, "callsign preview", { pool: "east" })).toContain("E\\\\-001");
    expect(await world.app.database.read.callsignSlot.count({ where: { state: "retired" } })).toBe(0);
  });
});

test("custom ids of buttons carry the longest values within 100 characters, and give back what they carry", () => {
  const carried = { plan: "f0".repeat(32), pool: "a".repeat(40), fix: "callsign_without_roster" };
  const repair = entries.find(({ path }) => path === "repair")?.press ?? expect.fail("no repair");
  const id = pressId(repair, carried);
  expect(id.length).toBeLessThanOrEqual(100);
  expect(pressed(entries, id.split(":").slice(1))?.given.values).toEqual(carried);
  expect(pressed(entries, pressId(repair, { plan: carried.plan }).split(":").slice(1))?.given.values).toEqual({ plan: carried.plan });
  const names = entries.flatMap(({ press }) => (press === undefined ? [] : [press.name]));
  expect(new Set(names).size).toBe(names.length);
});
