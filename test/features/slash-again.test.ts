import { describe, expect, test } from "vitest";
import { staffAtConsole } from "../contract/world.ts";
import { ProblemError } from "../../src/kernel/errors.ts";
import type { User } from "../../sandbox/index.ts";
import { createRun } from "../../sandbox/interaction-run.ts";
import { buttonOpening, findButton } from "../../sandbox/message-controls.ts";
import { createWorld, type World } from "../support/world.ts";
import { filePunishment } from "./review-ground.ts";

const at = (world: World, user: User) => world.sandbox.as(user).in(world.guild);
const words = "Posted links that lead to stolen accounts.";
/** Nothing that tells one device from another is kept of linked accounts. */
const refusedWords = "Both write from 203.0.113.7 at night.";

/** A form with words that are refused. */
async function sendWrong() {
  const world = await createWorld();
  const admin = await staffAtConsole(world, "admin");
  const given = { user: world.member(), other: world.member(), confidence: "probable" };
  const run = await at(world, admin).runSlashCommand("request alt", given);
  return { world, sent: await run.submitModal({ basis: refusedWords, reason: words, summary: "Seen by two." }) };
}

describe("a form that is refused", () => {
  test("can be put right and sent again without typing it anew", async () => {
    const { world, sent } = await sendWrong();
    const refused = await sent.reply();
    expect(refused.content).toContain("validation_failed");
    const opened = await sent.clickButton("Change and send again");
    await opened.acked;
    expect(JSON.stringify(opened.interaction.modal)).toContain(words);
    expect(JSON.stringify(opened.interaction.modal)).toContain(refusedWords);
    expect(await world.app.database.read.workflowRequest.count()).toBe(0);
    await (await opened.submitModal({ basis: "Both write the same way." })).reply();
    expect(await world.app.database.read.workflowRequest.count()).toBe(1);
  });

  test("takes what was cleared as not given", async () => {
    const { sent } = await sendWrong();
    await sent.reply();
    const opened = await sent.clickButton("Change and send again");
    const again = await opened.submitModal({ basis: "Other words, from 203.0.113.8.", reason: words, summary: "" });
    await again.reply();
    const offered = await again.clickButton("Change and send again");
    await offered.acked;
    expect(JSON.stringify(offered.interaction.modal)).toContain("Other words,");
    expect(JSON.stringify(offered.interaction.modal)).not.toContain("Seen by two.");
  });

  test("is not shown at all where a right is missing", async () => {
    const world = await createWorld();
    const viewer = await staffAtConsole(world, "viewer");
    const run = await at(world, viewer).runSlashCommand("blacklist add", { user: world.member(), category: "scam", severity: "low" });
    const refused = await run.reply();
    expect(refused.content).toContain("permission_denied");
    expect(refused.components).toEqual([]);
  });
});

describe("a question that was answered with yes", () => {
  test("counts once, and says so to a second press", async () => {
    const world = await createWorld();
    const [author, admin] = [await world.staff("moderator"), await staffAtConsole(world, "admin")];
    const reference = await filePunishment(world, author);
    const run = await at(world, admin).runSlashCommand("review approve", { reference, reason: "Seen by two." });
    await run.reply();
    const presses = [await run.clickButton("Yes, do it"), await run.clickButton("Yes, do it")];
    await world.sandbox.waitFor(() => presses.some((press) => press.followups().length > 0));
    const said = presses.flatMap((press) => press.followups().map(({ content }) => content));
    expect(said).toEqual([expect.stringContaining("answered already")]);
    await world.sandbox.waitFor(() => run.current()?.components.length === 0);
    const { approvals } = (await world.get(`/workflows/punishment/${reference}`, { actor: admin })).body.data;
    expect(approvals.have).toBe(1);
  });

  test("is not somebody else's to answer, who is told so, and stays with whoever asked", async () => {
    const world = await createWorld();
    const [author, admin, other] = [await world.staff("moderator"), await staffAtConsole(world, "admin"), await world.staff("admin")];
    const reference = await filePunishment(world, author);
    const run = await at(world, admin).runSlashCommand("review approve", { reference, reason: "Seen by two." });
    await run.reply();
    const yes = findButton([run.interaction.original!], "Yes, do it")!;
    const member = world.sandbox.inside.world.guilds.get(world.guild.id)!.members.get(other.id)!;
    const { guild, channel } = run.interaction;
    const pressed = createRun(world.sandbox.inside, { guild, channel, member, ...buttonOpening(yes) });
    await world.sandbox.waitFor(() => pressed.followups().length > 0);
    expect(pressed.followups()[0]?.content).toContain("somebody else");
    expect(pressed.followups()[0]?.content).not.toContain("too old");
    await run.clickButton("Yes, do it");
    await world.sandbox.waitFor(() => run.current()?.components.length === 0);
    expect((await world.get(`/workflows/punishment/${reference}`, { actor: admin })).body.data.approvals.have).toBe(1);
  });

  test("can be answered again after the storage was busy", async () => {
    let isBusy = true;
    const world = await createWorld({
      aroundVerbs: (verbs) => ({
        ...verbs,
        run(operation, call, input) {
          if (isBusy && operation === "decideWorkflow" && input.query?.["dry_run"] === undefined)
            throw new ProblemError("storage_busy", { retryAfter: 1 });
          return verbs.run(operation, call, input);
        },
      }),
    });
    const [author, admin] = [await world.staff("moderator"), await staffAtConsole(world, "admin")];
    const reference = await filePunishment(world, author);
    const run = await at(world, admin).runSlashCommand("review approve", { reference, reason: "Seen by two." });
    await run.reply();
    const pressed = await run.clickButton("Yes, do it");
    await world.sandbox.waitFor(() => pressed.followups().length > 0);
    expect(pressed.followups()[0]?.content).toMatch(/Try again <t:\d+:R>\.\n-# storage_busy/);
    isBusy = false;
    await run.clickButton("Yes, do it");
    await world.sandbox.waitFor(() => run.current()?.components.length === 0);
    expect((await world.get(`/workflows/punishment/${reference}`, { actor: admin })).body.data.status).toBe("approved");
  });
});

test("an administrator of the server who is no staff is told how the first owner is named; nobody else is", async () => {
  const world = await createWorld();
  const [boss, member] = [world.member("boss"), world.member("member")];
  world.guild.setRoles(boss, [world.guild.createRole("boss", { permissions: ["Administrator"] })]);
  expect(await world.slash(boss, "staff list")).toContain("provost bootstrap --owner");
  expect(await world.slash(member, "staff list").catch(String)).not.toContain("provost bootstrap");
  expect(await world.slash(await staffAtConsole(world, "viewer"), "callsign repairs")).not.toContain("provost bootstrap");
});

test("a template that is put anew keeps the policies that no option says", async () => {
  const world = await createWorld();
  const owner = await staffAtConsole(world, "owner");
  const body = { title: "Harassment report", policies: ["conduct-4"] };
  const put = await world.put("/cases/templates/harassment", body, { actor: owner });
  expect(put.status, JSON.stringify(put.body)).toBe(200);
  await world.slash(owner, "case template put", { template: "harassment", title: "Reports of harassment" });
  const { data } = (await world.get("/cases/templates/harassment", { actor: owner })).body;
  expect(data).toMatchObject({ title: "Reports of harassment", policies: ["conduct-4"] });
});

test("a record about a user and a server at once is refused rather than guessed", async () => {
  const world = await createWorld();
  const admin = await staffAtConsole(world, "admin");
  const given = { user: world.member(), server: "80351110224678912", category: "scam", severity: "low" };
  const run = await at(world, admin).runSlashCommand("blacklist add", given);
  expect((await run.reply()).content).toMatch(/server.*name one of them/);
  expect(await world.app.database.read.blacklistRecord.count()).toBe(0);
});
