import { beforeAll, describe, expect, test, vi } from "vitest";
import { systemCall } from "../../src/kernel/call.ts";
import { uuid7 } from "../../src/kernel/ids.ts";
import type { User } from "../../sandbox/index.ts";
import { staffAtConsole } from "../contract/world.ts";
import { createWorld, type World, type WorldOptions } from "../support/world.ts";

/** An empty community whose operator has named an owner. */
async function emptyWorld(options: WorldOptions = {}) {
  const world = await createWorld({ ...options, ladder: false });
  const owner = world.sandbox.createUser("owner");
  await world.app.permissions.owners.add(systemCall("cli", uuid7()), owner.id);
  const console = world.guild.createRole("console", { permissions: ["Administrator"] });
  world.guild.addMember(owner, { roles: [console] });
  return { world, owner };
}

async function begin(world: World, person: User) {
  // Commands are registered a little after the service has started.
  const run = await vi.waitFor(() => world.sandbox.as(person).in(world.guild).runSlashCommand("setup wizard"), 60_000);
  return { run, first: await run.reply() };
}

type Run = Awaited<ReturnType<typeof begin>>["run"];
const shows = (world: World, run: Run, text: string) => world.sandbox.waitFor(() => run.current()?.content.includes(text) === true);
const levels = async (world: World) => (await world.app.database.read.staffRole.findMany()).map(({ level }) => level).toSorted();

describe("/setup wizard", () => {
  test("leads from an empty community to one that works, by menus and buttons alone, and writes the key into no log", async () => {
    const lines: string[] = [];
    const { world, owner } = await emptyWorld({ log: (line) => void lines.push(line) });
    const channel = world.guild.createChannel("reviews");
    const { run, first } = await begin(world, owner);
    expect(first.ephemeral).toBe(true);
    expect(first.content).toContain("step 1 of 4");
    expect(first.content).toContain("**Moderator** (moderator): nothing yet");
    await run.select("sw:act:roles:moderator", [world.roles.moderator]);
    await shows(world, run, `<@&${world.roles.moderator.id}>`);
    await run.select("sw:act:roles:senior", [world.roles.senior]);
    await shows(world, run, `<@&${world.roles.senior.id}>`);
    expect(await levels(world)).toEqual(["moderator", "senior"]);
    await run.clickButton("Next ▶");
    await shows(world, run, "step 2 of 4");
    await run.select("sw:act:channels:review", [channel]);
    await shows(world, run, `<#${channel.id}>`);
    expect(world.app.channels.of(world.guild.id)).toEqual({ review: channel.id });
    await run.clickButton("Next ▶");
    await shows(world, run, "step 3 of 4");
    await run.select("sw:act:policies:preset", ["large"]);
    await shows(world, run, "2 for an approval, 3 for what is grave");
    await run.clickButton("Next ▶");
    await shows(world, run, "step 4 of 4");
    await run.select("sw:act:key:make", ["site"]);
    await shows(world, run, "shown only here");
    const key = /prv_\w+/.exec(run.current()?.content ?? "")?.[0] ?? "";
    expect(key).not.toBe("");
    const moderator = await world.staff("moderator");
    const asked = await world.get("/workflows?limit=1", { key, actor: moderator });
    expect([asked.status, asked.body.data]).toEqual([200, []]);
    await run.clickButton("Done");
    await shows(world, run, "Take it up again");
    expect(run.current()?.components).toEqual([]);
    expect(run.current()?.content).not.toContain(key);
    expect(lines.length).toBeGreaterThan(0);
    expect(lines.filter((line) => line.includes(key))).toEqual([]);
    const audit = await world.app.database.read.auditPayload.findMany();
    expect(JSON.stringify(audit.map(({ payload }) => payload))).not.toContain(key);
  });

  test("takes every step back, and shows what is there when it is taken up again", async () => {
    const { world, owner } = await emptyWorld();
    const channel = world.guild.createChannel("alerts");
    const { run } = await begin(world, owner);
    await run.select("sw:act:roles:viewer", [world.roles.viewer]);
    await shows(world, run, `<@&${world.roles.viewer.id}>`);
    await world.restart();
    const again = await begin(world, owner);
    expect(again.first.content).toContain(`<@&${world.roles.viewer.id}>`);
    await run.select("sw:act:roles:viewer", []);
    await shows(world, run, "**Helper** (viewer): nothing yet");
    await run.clickButton("Next ▶");
    await shows(world, run, "step 2 of 4");
    await run.select("sw:act:channels:alerts", [channel]);
    await shows(world, run, `<#${channel.id}>`);
    await run.select("sw:act:channels:alerts", []);
    await world.sandbox.waitFor(() => run.current()?.content.includes("<#") === false);
    expect(world.app.channels.of(world.guild.id)).toEqual({});
    await run.clickButton("Next ▶");
    await shows(world, run, "2 for what is grave");
    await run.select("sw:act:policies:preset", ["small"]);
    await world.sandbox.waitFor(() => run.current()?.content.includes("2 for what is grave") === false);
    await run.select("sw:act:policies:preset", ["medium"]);
    await world.sandbox.waitFor(() => run.current()?.content.includes("2 for what is grave") === true);
    const policies = (await world.get("/workflows/policies", { actor: owner })).body.data as { chosen: string[] }[];
    expect(policies.flatMap(({ chosen }) => chosen)).toEqual([]);
    await run.clickButton("Next ▶");
    await run.select("sw:act:key:make", ["check"]);
    await shows(world, run, "shown only here");
    const key = /prv_\w+/.exec(run.current()?.content ?? "")?.[0] ?? "";
    expect((await world.get("/staff/80351110224678912/access", { key })).status).toBe(200);
    await run.clickButton("Take the key back");
    await world.sandbox.waitFor(() => run.current()?.content.includes(key) === false);
    expect((await world.get("/staff/80351110224678912/access", { key })).status).toBe(401);
  });

  test("changes nothing when it is left, and nothing for a stranger or for whoever holds too little", async () => {
    const { world, owner } = await emptyWorld();
    const stranger = world.member();
    world.guild.setRoles(stranger, [world.guild.createRole("console 2", { permissions: ["Administrator"] })]);
    const count = async () => {
      const { read } = world.app.database;
      return [
        await read.staffRole.count(),
        await read.setting.count(),
        await read.apiKey.count(),
        await read.auditEntry.count({ where: { outcome: "ok" } }),
      ];
    };
    const before = await count();
    const { run } = await begin(world, owner);
    for (const step of [2, 3, 4]) {
      await run.clickButton("Next ▶");
      await shows(world, run, `step ${step.toString()} of 4`);
    }
    await run.clickButton("◀ Back");
    await shows(world, run, "step 3 of 4");
    await run.clickButton("Leave");
    await shows(world, run, "Take it up again");
    expect(await count()).toEqual(before);
    expect(await world.slash(stranger, "setup wizard")).toContain("acting_user_not_staff");
    expect(await world.slash(stranger, "setup backup")).toContain("acting_user_not_staff");
    expect(await count()).toEqual(before);
  });

  test("refuses each step to whoever lacks its permission, and leaves the message as it is", async () => {
    const world = await createWorld();
    const moderator = await staffAtConsole(world, "moderator");
    const { run, first } = await begin(world, moderator);
    const before = await world.app.database.read.auditEntry.count({ where: { outcome: "ok" } });
    const tried = await run.select("sw:act:roles:viewer", [world.roles.admin]);
    await world.sandbox.waitFor(() => tried.followups().some(({ content }) => content.includes("permission_denied")));
    expect(run.current()?.content).toBe(first.content);
    await run.clickButton("Next ▶");
    await shows(world, run, "You may not see this step");
    expect(run.current()?.components).toHaveLength(1);
    expect(await world.app.database.read.auditEntry.count({ where: { outcome: "ok" } })).toBe(before);
  });

  test("holds back what a second person has to confirm, with a way back, and shows it once it is done", async () => {
    const { world, owner } = await emptyWorld({ env: { SECOND_PERSON_FOR_DANGER: "true" } });
    const second = world.sandbox.createUser("second");
    await world.app.permissions.owners.add(systemCall("cli", uuid7()), second.id);
    world.guild.addMember(second, { roles: [world.guild.createRole("console 2", { permissions: ["Administrator"] })] });
    const { run } = await begin(world, owner);
    await run.select("sw:act:roles:admin", [world.roles.admin]);
    await shows(world, run, "Nothing is changed yet");
    expect(await levels(world)).toEqual([]);
    const code = /`([0-9A-Z]{6})`/.exec(run.current()?.content ?? "")?.[1] ?? "";
    expect(await world.slash(second, "confirm accept", { code })).toContain("Done: ");
    expect(await levels(world)).toEqual(["admin"]);
    await run.clickButton("Back to the guide");
    await shows(world, run, `<@&${world.roles.admin.id}>`);
  });
});

describe("/setup", () => {
  let world: World;
  let owner: User;
  beforeAll(async () => {
    let end = (): Promise<void> => Promise.resolve();
    world = await createWorld({ onEnd: (way) => (end = way) });
    owner = await staffAtConsole(world, "owner");
    return () => end();
  });

  test("chooses some channels and keeps the others", async () => {
    const [one, two] = [world.guild.createChannel("one"), world.guild.createChannel("two")];
    const ask = world.sandbox.as(owner).in(world.guild);
    await (await ask.runSlashCommand("setup channels", { review: one })).reply();
    const shown = await (await ask.runSlashCommand("setup channels", { board: two })).reply();
    expect(shown.content).toContain(`<#${one.id}>`);
    expect(world.app.channels.of(world.guild.id)).toEqual({ review: one.id, board: two.id });
    await (await ask.runSlashCommand("setup channels", { without: "review" })).reply();
    expect(world.app.channels.of(world.guild.id)).toEqual({ board: two.id });
    expect(await world.slash(await staffAtConsole(world, "admin"), "setup channels", { without: "board" })).toContain("permission_denied");
    expect(world.app.channels.of(world.guild.id)).toEqual({ board: two.id });
  });

  test("chooses what people are asked who appeal, one question at a time, and shows it to whoever gives nothing", async () => {
    const asked = async () => (await world.get("/appeals/questions", { actor: owner })).body.data;
    expect(await world.slash(owner, "setup appeal")).toContain("are asked nothing besides why");
    await world.slash(owner, "setup appeal", { question: "What happened?", required: true });
    await world.slash(owner, "setup appeal", { question: "What else?" });
    const shown = await world.slash(owner, "setup appeal", { number: 2, question: "What now?" });
    expect(shown).toContain("1. What happened? (has to be answered)\n2. What now? (need not be answered)");
    expect(await asked()).toMatchObject({ revision: 4, updated_by: owner.id });
    expect(await world.slash(await staffAtConsole(world, "viewer"), "setup appeal", { without: 1 })).toContain("permission_denied");
    await world.slash(owner, "setup appeal", { without: 1 });
    expect((await asked()).questions).toEqual([{ question: "What now?", required: false }]);
    const stale = await world.put("/appeals/questions", { questions: [] }, { actor: owner, headers: { "if-match": '"v4"' } });
    expect([stale.status, (await asked()).questions.length]).toEqual([412, 1]);
    const { data } = (await world.get("/audit?action=appeal_questions.update", { actor: owner })).body;
    expect(data).toHaveLength(4);
  });

  test("changes a policy with lengths as people write them, and refuses what contradicts itself", async () => {
    await world.slash(owner, "setup policy", { kind: "alt-request", approvals: 2, "approvals-grave": 2, decision: "3d" });
    const read = async () => (await world.get("/workflows/policies/alt-request", { actor: owner })).body.data;
    expect(await read()).toMatchObject({ approvals: 2, decision_seconds: 259_200 });
    expect(await world.slash(owner, "setup policy", { kind: "alt-request", decision: "soon" })).toContain("decision");
    expect(await world.slash(owner, "setup policy", { kind: "alt-request", "approvals-grave": 1 })).toContain("validation_failed");
    expect(await read()).toMatchObject({ approvals_grave: 2, decision_seconds: 259_200, revision: 2 });
    await world.slash(owner, "setup policy-reset", { kind: "alt-request" });
    expect((await read()).chosen).toEqual([]);
  });

  test("makes a key, and ends it only after a question", async () => {
    const ask = world.sandbox.as(owner).in(world.guild);
    const made = await (await ask.runSlashCommand("setup clients create", { name: "site", scopes: "staff.*, blacklist.check" })).reply();
    const key = /prv_\w+/.exec(made.content)?.[0] ?? "";
    const own = () => world.get("/staff", { key });
    expect((await own()).status).toBe(200);
    const [choice] = await ask.autocomplete("setup clients revoke", { focused: "client", value: "sit" });
    const run = await ask.runSlashCommand("setup clients revoke", { client: String(choice?.value) });
    expect((await run.reply()).content).toContain("End this key at once?");
    await run.clickButton("Cancel");
    await shows(world, run, "Nothing was done.");
    expect((await own()).status).toBe(200);
    const again = await ask.runSlashCommand("setup clients revoke", { client: String(choice?.value) });
    await again.reply();
    await again.clickButton("Yes, do it");
    await shows(world, again, "taken back");
    expect((await own()).status).toBe(401);
    expect(await world.slash(await staffAtConsole(world, "admin"), "setup clients list")).toContain("permission_denied");
  });

  test("says what to back up, and names no place on the machine", async () => {
    const said = await world.slash(owner, "setup backup");
    expect(said).toContain("provost backup --to");
    expect(said).not.toMatch(/provost-world-|postgresql:\/\//);
  });
});
