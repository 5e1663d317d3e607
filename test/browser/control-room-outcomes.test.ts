// @module-tag sqlite
// @module-tag slow
import type { Locator, Page } from "playwright-core";
import { beforeAll, describe, expect, test } from "vitest";
import type { User } from "../../sandbox/index.ts";
import { staffAtConsole } from "../contract/world.ts";
import { createWorld, type World } from "../support/world.ts";
import { lacksChromium, useChromium } from "./chromium.ts";

const chromium = useChromium();
const reason = "Raided #general with three accounts.";

describe.skipIf(lacksChromium)("what came of an act in Discord, read in the control room", () => {
  let world: World;
  let admin: User;
  let german: User;
  beforeAll(async () => {
    let end = (): Promise<void> => Promise.resolve();
    world = await createWorld({ onEnd: (way) => (end = way) });
    [admin, german] = [await staffAtConsole(world, "admin"), await staffAtConsole(world, "admin")];
    german.locale = "de";
    const owner = await staffAtConsole(world, "owner");
    const rules = { timeout: { level: "admin" }, ban: { level: "admin" } };
    const put = await world.put(`/guilds/${world.guild.id}/direct`, rules, { actor: owner });
    expect(put.status, JSON.stringify(put.body)).toBe(200);
    return () => end();
  });

  const isBanned = (user: User) => world.guild.bans().some(({ user: one }) => one.id === user.id);
  const messagesTo = (user: User) => world.sandbox.directMessages(user).map(({ content }) => content);
  const countOf = async (user: User) => (await world.get(`/cases?subject=${user.id}`, { actor: admin })).body.data.length as number;
  const requests = () => world.app.database.read.workflowRequest.count();
  /** Requests of the bot that change something about a person. */
  const changesTo = (user: User) =>
    world.sandbox.exchanges.filter(({ method, path }) => method !== "GET" && path.includes("/guilds/") && path.includes(user.id));

  interface Room {
    page: Page;
    answers: Locator;
    problems: readonly string[];
    /** Run a command by mouse. */
    run(command: string, given: Readonly<Record<string, string>>): Promise<void>;
  }

  async function enter(actor: User): Promise<Room> {
    const { page, problems } = await chromium.visitor();
    page.setDefaultTimeout(30_000);
    await page.goto(`${world.sandbox.controlRoom}?guild=${world.guild.id}&as=${actor.id}`);
    const answers = page.locator("#answers");
    return {
      page,
      answers,
      problems,
      async run(command, given) {
        await page.getByLabel("Command", { exact: true }).selectOption({ label: `/${command}` });
        await page.getByLabel("reason (required)").waitFor();
        // Options that may be left out are folded away where they are many.
        const folded = page.getByText(/\d+ more options/);
        if (await folded.isVisible()) await folded.click();
        for (const [name, value] of Object.entries(given)) {
          const field = page.getByLabel(name, { exact: true });
          await field.fill(value);
          // What is suggested lies over the button.
          await field.press("Escape");
        }
        await page.getByRole("button", { name: "Run", exact: true }).click();
      },
    };
  }

  test("a ban of somebody above the bot is refused with what helps, in the reader's language, and leaves nothing", async () => {
    const boss = world.member("boss");
    const partner = world.guild.createRole("Partner", { position: 300 });
    world.guild.setRoles(boss, [partner]);
    await world.sandbox.caughtUp();
    const before = await requests();
    const room = await enter(admin);
    await room.run("ban", { user: boss.username, "reason (required)": reason });
    await room.answers.getByText("is below their role Partner").first().waitFor();
    expect(await room.answers.innerText()).toMatch(
      /I can't ban them in Harbour: my highest role, (.+), is below their role Partner\. Move \1 above it under Server Settings → Roles\./,
    );
    const other = await enter(german);
    await other.run("ban", { user: boss.username, "reason (required)": reason });
    await other.answers.getByText("Bannen geht auf Harbour nicht").first().waitFor();
    expect(await other.answers.innerText()).toMatch(
      /Meine höchste Rolle, (.+), steht unter der Rolle Partner der Person\. Zieh \1 unter Servereinstellungen → Rollen darüber\./,
    );
    for (const { answers } of [room, other]) expect(await answers.innerText()).not.toMatch(/Banned|gebannt/);
    expect([isBanned(boss), messagesTo(boss), await countOf(boss), await requests(), changesTo(boss)]).toEqual([false, [], 0, before, []]);
    expect([room.problems, other.problems, world.sandbox.unhandled]).toEqual([[], [], []]);
  });

  test("a ban that Discord itself refuses is called none, and the person who got the message gets a correction", async () => {
    const [raider, second] = [world.member("raider"), world.member("second")];
    for (const user of [raider, second])
      world.sandbox.faults.rest({
        route: `PUT /guilds/${world.guild.id}/bans/${user.id}`,
        status: 403,
        body: { code: 50_013, message: "Missing Permissions" },
      });
    const room = await enter(admin);
    await room.run("ban", { user: raider.username, "reason (required)": reason });
    await room.answers.getByText("was not banned from Harbour").first().waitFor();
    await room.answers.getByText("I sent a correction.").first().waitFor();
    const said = await room.answers.innerText();
    expect(said).toContain("✗ I'm missing a permission, or my role is too low.");
    expect(said).not.toMatch(/✓|Banned|message delivered/);
    const other = await enter(german);
    await other.run("ban", { user: second.username, "reason (required)": reason });
    await other.answers.getByText("wurde nicht von Harbour gebannt").first().waitFor();
    await other.answers.getByText("Ich habe eine Korrektur geschickt.").first().waitFor();
    expect(await other.answers.innerText()).toContain("✗ Mir fehlt ein Recht, oder meine Rolle steht zu niedrig.");
    for (const user of [raider, second]) {
      expect(isBanned(user)).toBe(false);
      expect(world.guild.member(user)).toBeDefined();
      expect(messagesTo(user)).toEqual([expect.stringContaining("banned you"), expect.stringContaining("was not carried out")]);
      expect(changesTo(user)).toHaveLength(1);
    }
    expect([room.problems, other.problems]).toEqual([[], []]);
  });

  test("a timeout of somebody who left waits, says so, and starts when they return", async () => {
    const [gone, away] = [world.member("gone"), world.member("away")];
    for (const user of [gone, away]) world.guild.leave(user);
    await world.sandbox.caughtUp();
    const room = await enter(admin);
    await room.run("timeout", { "user (required)": gone.id, "duration (required)": "2h", "reason (required)": reason });
    await room.answers.getByText("is not in Harbour. The timeout starts when they return").first().waitFor();
    const other = await enter(german);
    await other.run("timeout", { "user (required)": away.id, "duration (required)": "2h", "reason (required)": reason });
    await other.answers.getByText("ist nicht auf Harbour. Der Timeout beginnt mit der Rückkehr").first().waitFor();
    for (const { answers } of [room, other]) expect(await answers.innerText()).not.toContain("✓");
    expect([gone, away].map((user) => world.guild.member(user))).toEqual([undefined, undefined]);
    world.guild.addMember(gone);
    await world.sandbox.waitFor(() => (world.guild.member(gone)?.timeoutUntil ?? 0) > Date.now());
    expect(world.guild.member(away)).toBeUndefined();
    expect([room.problems, other.problems]).toEqual([[], []]);
  });

  test("an unban of somebody who is not banned says that, and nothing is filed", async () => {
    const free = world.member("free");
    const before = await requests();
    const room = await enter(admin);
    await room.run("unban", { "user (required)": free.username, "reason (required)": reason });
    await room.answers.getByText("They are not banned in Harbour.").first().waitFor();
    const other = await enter(german);
    await other.run("unban", { "user (required)": free.username, "reason (required)": reason });
    await other.answers.getByText("Die Person ist auf Harbour nicht gebannt.").first().waitFor();
    for (const { answers } of [room, other]) expect(await answers.innerText()).not.toMatch(/✓|Unbanned|entbannt/);
    expect([await requests(), await countOf(free), changesTo(free), messagesTo(free)]).toEqual([before, 0, [], []]);
    expect([room.problems, other.problems]).toEqual([[], []]);
  });

  test("a ban of somebody with closed direct messages is a ban, and says that the message did not arrive", async () => {
    const [closed, silent] = [world.member("closed"), world.member("silent")];
    for (const user of [closed, silent]) world.sandbox.setDirectMessages(user, false);
    const room = await enter(admin);
    await room.run("ban", { user: closed.username, "reason (required)": reason, duration: "14d" });
    await room.answers
      .getByText(/✓ Banned/)
      .first()
      .waitFor();
    const said = await room.answers.innerText();
    expect(said).toMatch(/✓ Banned .+ from Harbour for 14 days · PUN-REQ-\d+/);
    expect(said).toContain("✗ Message not delivered. They don't accept messages from me.");
    expect(said).not.toContain("message delivered");
    const other = await enter(german);
    await other.run("ban", { user: silent.username, "reason (required)": reason });
    await other.answers
      .getByText(/✓ .+gebannt/)
      .first()
      .waitFor();
    expect(await other.answers.innerText()).toContain("✗ Nachricht nicht zugestellt. Die Person nimmt keine Nachrichten von mir an.");
    expect([closed, silent].map((user) => [isBanned(user), messagesTo(user)])).toEqual([
      [true, []],
      [true, []],
    ]);
    for (const user of [closed, silent]) expect(changesTo(user)).toHaveLength(1);
    expect([room.problems, other.problems]).toEqual([[], []]);
  });
});
