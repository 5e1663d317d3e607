import { beforeAll, describe, expect, test } from "vitest";
import { shareWorld, staffAtConsole } from "../contract/world.ts";
import { ProblemError } from "../../src/kernel/errors.ts";
import type { Verbs } from "../../src/commands/verbs.ts";
import { createRun, type Run } from "../../sandbox/interaction-run.ts";
import { buttonOpening, findButton } from "../../sandbox/message-controls.ts";
import type { User } from "../../sandbox/index.ts";
import { createWorld, type World } from "../support/world.ts";
import { filePunishment } from "./review-ground.ts";

const words = "Posted links that lead to stolen accounts.";
const address = "Logged in from 203.0.113.7 both times.";
const at = (world: World, user: User) => world.sandbox.as(user).in(world.guild);
const typedFile = ({ attachments }: Awaited<ReturnType<Run["reply"]>>) => {
  const found = attachments.find(({ name }) => name === "what-you-typed.txt");
  return found?.text;
};
const labels = (run: Run) => JSON.stringify(run.interaction.modal?.components);

async function openCase(world: World, actor: User): Promise<string> {
  const body = { title: "Raid", subjects: [{ kind: "user", id: world.member().id }] };
  return (await world.post("/cases", body, { actor })).body.data.number as string;
}

/** A command that opens no form, and what it answers instead. */
async function refused(run: Run) {
  const reply = await run.reply();
  expect(run.interaction.modal).toBeNull();
  return reply;
}

describe("before a form opens", () => {
  const shared = shareWorld();
  let admin: User;
  let viewer: User;
  beforeAll(async () => {
    admin = await staffAtConsole(shared.world, "admin");
    viewer = await staffAtConsole(shared.world, "viewer");
  });

  test("a length that is none is refused, and the form then asks for it besides, so that nothing is given twice", async () => {
    const { world } = shared;
    const subject = world.member();
    const given = { user: subject, category: "scam", severity: "low", duration: "soon" };
    const run = await at(world, admin).runSlashCommand("blacklist add", given);
    const reply = await refused(run);
    expect(reply.content).toContain("validation_failed");
    expect(reply.content).toContain("2 weeks, 1h30m");
    const opened = await run.clickButton("Change and send again");
    await opened.acked;
    expect(labels(opened)).toContain("soon");
    const sent = await opened.submitModal({ duration: "2 weeks", "reason-public": words });
    await sent.reply();
    await sent.clickButton("Yes, do it");
    await world.sandbox.waitFor(() => sent.current()?.components.length === 0 || sent.current()?.embeds.length !== 1);
    const [record] = (await world.get(`/blacklist?subject=${subject.id}`, { actor: admin })).body.data;
    expect(Date.parse(record.expires_at) - Date.parse(record.starts_at ?? record.created_at)).toBe(14 * 86_400_000);
    expect(record.category).toBe("scam");
  });

  test("an id that is none is refused", async () => {
    const { world } = shared;
    const given = { kind: "report", "offending-server": "00000000000000000", offender: world.member() };
    const reply = await refused(await at(world, admin).runSlashCommand("request poach", given));
    expect(reply.content).toContain("validation_failed");
    expect(reply.content).not.toContain("reason");
  });

  test("what only the service checks of a request is refused as well", async () => {
    const { world } = shared;
    const given = { user: world.member(), category: "scam", severity: "low", duration: "0 days" };
    expect((await refused(await at(world, admin).runSlashCommand("request blacklist-user", given))).content).toContain("validation_failed");
  });

  test("a user and a server at once are refused, and so is neither", async () => {
    const { world } = shared;
    const both = { user: world.member(), server: "80351110224678912", category: "scam", severity: "low" };
    expect((await refused(await at(world, admin).runSlashCommand("blacklist add", both))).content).toMatch(/server.*name one of them/);
    const neither = await refused(await at(world, admin).runSlashCommand("blacklist add", { category: "scam", severity: "low" }));
    expect(neither.content).toContain("validation_failed");
    expect(neither.content).toContain("`/blacklist add`");
    expect(neither.components).toEqual([]);
  });

  test.each([
    ["review deny", { reference: "PUN-REQ-999999" }],
    ["case close", { case: "CASE-999999", outcome: "no_action" }],
    ["blacklist revoke", { record: "BL-999999" }],
  ])("a reference to nothing is refused: /%s", async (command, given) => {
    const { world } = shared;
    const run = await at(world, admin).runSlashCommand(command, given);
    expect((await refused(run)).content).toContain("record_not_found");
    const opened = await run.clickButton("Change and send again");
    await opened.acked;
    expect(labels(opened)).toContain("999999");
  });

  test("a reference that was put right in the form is the one that is meant", async () => {
    const { world } = shared;
    const reference = await filePunishment(world, await world.staff("moderator"));
    const run = await at(world, admin).runSlashCommand("review deny", { reference: "PUN-REQ-999999" });
    await run.reply();
    const opened = await run.clickButton("Change and send again");
    await opened.acked;
    await (await opened.submitModal({ reference, reason: words })).reply();
    expect((await world.get(`/workflows/punishment/${reference}`, { actor: admin })).body.data.status).toBe("denied");
  });

  test.each([
    ["blacklist add", { category: "scam", severity: "low" }],
    ["review deny", {}],
  ])("somebody without the right is refused: /%s", async (command, given) => {
    const { world } = shared;
    const more = command === "review deny" ? { reference: await filePunishment(world, admin) } : { user: world.member() };
    const reply = await refused(await at(world, viewer).runSlashCommand(command, { ...given, ...more }));
    expect(reply.content).toContain("permission_denied");
    expect(reply.components).toEqual([]);
    expect(reply.content).not.toContain("Give the command again");
  });

  test("somebody without the right is refused at the button of a card, too", async () => {
    const { world } = shared;
    const reference = await filePunishment(world, await world.staff("moderator"));
    const shown = await at(world, admin).runSlashCommand("review show", { reference });
    const card = await shown.reply();
    const deny = findButton([shown.interaction.original!], "Deny")!;
    expect(JSON.stringify(card.components)).toContain(`wf:deny:${reference}`);
    const member = world.sandbox.inside.world.guilds.get(world.guild.id)!.members.get(viewer.id)!;
    const { guild, channel } = shown.interaction;
    const pressed = createRun(world.sandbox.inside, { guild, channel, member, ...buttonOpening(deny) });
    await world.sandbox.waitFor(() => pressed.followups().length > 0);
    expect(pressed.interaction.modal).toBeNull();
    expect(pressed.followups()[0]?.content).toContain("permission_denied");
  });

  test("nobody is refused for what the form asks for", async () => {
    const { world } = shared;
    const given = { user: world.member(), category: "scam", severity: "low", duration: "1h30m" };
    const run = await at(world, admin).runSlashCommand("blacklist add", given);
    await run.modal();
    expect(run.interaction.modal).not.toBeNull();
  });
});

test("a form opens in time where the check takes long, and what is wrong is refused when it is sent", async () => {
  let isSlow = true;
  const world = await createWorld({
    aroundVerbs: (verbs) => ({
      ...verbs,
      async run(operation, call, input) {
        if (isSlow && operation === "getCase") await new Promise((resolve) => setTimeout(resolve, 6000));
        return await verbs.run(operation, call, input);
      },
    }),
  });
  const admin = await staffAtConsole(world, "admin");
  const begun = performance.now();
  const run = await at(world, admin).runSlashCommand("case close", { case: "CASE-999999", outcome: "no_action" });
  await run.modal();
  expect(performance.now() - begun).toBeLessThan(2900);
  isSlow = false;
  const sent = await run.submitModal({ reason: words });
  const reply = await sent.reply();
  expect(reply.content).toContain("record_not_found");
  expect(typedFile(reply)).toBe(words);
  const opened = await sent.clickButton("Change and send again");
  await opened.acked;
  expect(labels(opened)).toContain("CASE-999999");
});

test("a refusal before a form is noted once", async () => {
  const world = await createWorld();
  const viewer = await staffAtConsole(world, "viewer");
  const run = await at(world, viewer).runSlashCommand("blacklist add", { user: world.member(), category: "scam", severity: "low" });
  expect((await refused(run)).content).toContain("permission_denied");
  await world.app.audit.flushDenied();
  const { data } = (await world.get(`/audit?actor=${viewer.id}&outcome=denied`)).body as { data: { action: string; count?: number }[] };
  expect(data.map(({ action }) => action)).toHaveLength(1);
  expect(JSON.stringify(data)).toContain("blacklist.create");
});

describe("a refused form", () => {
  /** A world whose next operation of a name fails as told. */
  async function failing() {
    const fails = new Map<string, () => Error>();
    const aroundVerbs = (verbs: Verbs): Verbs => ({
      ...verbs,
      run(operation, call, input) {
        const fail = input.query?.["dry_run"] === undefined ? fails.get(operation) : undefined;
        return fail === undefined ? verbs.run(operation, call, input) : Promise.reject(fail());
      },
    });
    const world = await createWorld({ aroundVerbs });
    return { world, fails };
  }

  test("has what was typed, and a button to change it", async () => {
    const { world } = await failing();
    const admin = await staffAtConsole(world, "admin");
    const given = { user: world.member(), other: world.member(), confidence: "probable" };
    const run = await at(world, admin).runSlashCommand("alts link", given);
    const sent = await run.submitModal({ reason: address });
    const reply = await sent.reply();
    expect(reply.content).toContain("validation_failed");
    expect(typedFile(reply)).toBe(address);
    const opened = await sent.clickButton("Change and send again");
    await opened.acked;
    expect(labels(opened)).toContain(address);
  });

  test("has what was typed where a right is gone meanwhile, and no button", async () => {
    const { world } = await failing();
    const person = await staffAtConsole(world, "admin");
    const run = await at(world, person).runSlashCommand("blacklist add", { user: world.member(), category: "scam", severity: "low" });
    await run.modal();
    world.guild.setRoles(person, [world.roles.viewer]);
    await world.sandbox.waitFor(() => world.app.access.of(person.id).level === "viewer");
    const reply = await (await run.submitModal({ "reason-public": words, "reason-internal": "Seen by two." })).reply();
    expect(reply.content).toContain("permission_denied");
    expect(typedFile(reply)).toBe(`reason-public:\n${words}\n\nreason-internal:\nSeen by two.\n`);
    expect(reply.components).toEqual([]);
  });

  test("can be sent again after an unexpected error, with a warning that it may have been done", async () => {
    const { world, fails } = await failing();
    const admin = await staffAtConsole(world, "admin");
    const number = await openCase(world, admin);
    fails.set("createCaseNote", () => new Error("the disk is on fire"));
    const run = await at(world, admin).runSlashCommand("case note", { case: number });
    const sent = await run.submitModal({ text: words });
    const reply = await sent.reply();
    expect(reply.content).toContain("Look before you send it again");
    expect(reply.content).not.toContain("fire");
    expect(typedFile(reply)).toBe(words);
    fails.clear();
    const opened = await sent.clickButton("Change and send again");
    await (await opened.submitModal({ text: words })).reply();
    expect((await world.get(`/cases/${number}/notes`, { actor: admin })).body.data).toHaveLength(1);
  });

  test("has what was typed after the service was started again", async () => {
    const { world } = await failing();
    const admin = await staffAtConsole(world, "admin");
    const run = await at(world, admin).runSlashCommand("blacklist add", { user: world.member(), category: "scam", severity: "low" });
    await run.modal();
    await world.restart();
    const reply = await (await run.submitModal({ "reason-public": words })).reply();
    expect(reply.content).toContain("too old");
    expect(typedFile(reply)).toBe(words);
  });

  test("names the files that have to be attached again", async () => {
    const { world, fails } = await failing();
    const admin = await staffAtConsole(world, "admin");
    const number = await openCase(world, admin);
    fails.set("addCaseEvidence", () => new ProblemError("storage_full"));
    const run = await at(world, admin).runSlashCommand("case evidence", { case: number });
    const file = { name: "night_raid.txt", bytes: Buffer.from("seen"), contentType: "text/plain" };
    const reply = await (await run.submitModal({ files: [file], title: "Log" })).reply();
    expect(reply.content).toContain("storage_full");
    expect(reply.content.replaceAll("\\", "")).toContain("Attach again: night_raid.txt");
    expect(typedFile(reply)).toBe("Log");
  });

  test("of a card keeps what was typed, and sends it about the same state", async () => {
    const { world, fails } = await failing();
    const admin = await staffAtConsole(world, "admin");
    const reference = await filePunishment(world, await world.staff("moderator"));
    const shown = await at(world, admin).runSlashCommand("review show", { reference });
    await shown.reply();
    const opened = await shown.clickButton("Deny");
    fails.set("decideWorkflow", () => new ProblemError("storage_busy", { retryAfter: 1 }));
    const sent = await opened.submitModal({ reason: words });
    await world.sandbox.waitFor(() => sent.followups().length > 0);
    expect(sent.followups()[0]?.content).toContain("storage_busy");
    expect(typedFile(sent.followups()[0]!)).toBe(words);
    fails.clear();
    const again = await sent.clickButton("Change and send again");
    await again.acked;
    expect(labels(again)).toContain(words);
    await (await again.submitModal({})).reply();
    expect((await world.get(`/workflows/punishment/${reference}`, { actor: admin })).body.data.status).toBe("denied");
  });

  test("of a card that has changed meanwhile can be sent about what it is now", async () => {
    const { world } = await failing();
    const [admin, other] = [await staffAtConsole(world, "admin"), await staffAtConsole(world, "admin")];
    const reference = await filePunishment(world, await world.staff("moderator"));
    const shown = await at(world, admin).runSlashCommand("review show", { reference });
    await shown.reply();
    const opened = await shown.clickButton("Deny");
    await opened.modal();
    await world.slash(other, "review escalate", { reference, reason: "Somebody higher should look." });
    const sent = await opened.submitModal({ reason: words });
    await world.sandbox.waitFor(() => JSON.stringify(sent.current()?.embeds ?? []).includes(words));
    const again = await sent.clickButton("Change and send again");
    await again.acked;
    expect(labels(again)).toContain(words);
    expect((await world.get(`/workflows/punishment/${reference}`, { actor: admin })).body.data.status).toBe("escalated");
  });

  test("is shown in the question that follows it, and kept when its answer is refused", async () => {
    const { world, fails } = await failing();
    const admin = await staffAtConsole(world, "admin");
    const run = await at(world, admin).runSlashCommand("blacklist add", { user: world.member(), category: "scam", severity: "low" });
    const sent = await run.submitModal({ "reason-public": words });
    expect(JSON.stringify((await sent.reply()).embeds)).toContain(words);
    fails.set("createBlacklistRecord", () => new ProblemError("permission_denied"));
    const pressed = await sent.clickButton("Yes, do it");
    await world.sandbox.waitFor(() => pressed.followups().length > 0);
    expect(pressed.followups()[0]?.content).toContain("permission_denied");
    expect(typedFile(pressed.followups()[0]!)).toBe(words);
    expect(pressed.followups()[0]?.components).toEqual([]);
  });
});

describe("lengths and times", () => {
  const shared = shareWorld();
  let admin: User;
  let german: User;
  beforeAll(async () => {
    admin = await staffAtConsole(shared.world, "owner");
    german = await staffAtConsole(shared.world, "owner");
    german.locale = "de";
  });
  const offered = async (user: User, command: string, focused: string, value: string) =>
    (await at(shared.world, user).autocomplete(command, { focused, value })).map(({ name }) => name);

  test("complete while they are typed, in the reader's language and within the bounds of the field", async () => {
    expect(await offered(admin, "blacklist add", "duration", "2")).toEqual(["2 hours", "2 days", "2 weeks", "2 months"]);
    expect(await offered(german, "blacklist add", "duration", "")).toEqual(["1 Stunde", "1 Tag", "7 Tage", "30 Tage", "dauerhaft"]);
    expect(await offered(german, "request blacklist-user", "duration", "2 W")).toEqual(["2 Wochen"]);
    expect(await offered(admin, "case open", "due", "")).not.toContain("permanent");
    expect(await offered(admin, "setup policy", "claim", "900")).not.toContain("900 months");
    expect((await offered(admin, "staff suspend", "until", "3"))[1]).toBe("3 days");
    expect((await offered(admin, "permission grant", "until", ""))[0]).toMatch(/^tomorrow · \d{4}-\d\d-\d\d 00:00 UTC$/);
    expect((await offered(german, "audit search", "from", "2"))[1]).toMatch(/^vor 2 Tagen · .* UTC$/);
  });

  test("are explained in the reader's language where they are not understood", async () => {
    const run = await at(shared.world, german).runSlashCommand("case action", { case: "CASE-000001", kind: "strike", duration: "bald" });
    const { content } = await refused(run);
    expect(content).toContain("Schreib eine Dauer wie 2 Wochen, 1h30m oder 30d");
    expect(content).not.toMatch(/Write|duration such as/);
    const opened = await run.clickButton("Ändern und erneut senden");
    await opened.acked;
    expect(labels(opened)).toContain("bald");
  });

  test.each([
    ["2 Wochen", 14 * 86_400_000],
    ["1h30m", 5_400_000],
    ["für immer", null],
  ])("are understood as people write them: %s", async (duration, length) => {
    const { world } = shared;
    const { number } = (
      await world.post(
        "/blacklist",
        { kind: "user", subject_id: world.member().id, category: "scam", severity: "low", reason_public: words, duration: "30d" },
        { actor: admin },
      )
    ).body.data as { number: string };
    const before = Date.now();
    await world.slash(admin, "blacklist edit", { record: number, duration });
    const { expires_at: end } = (await world.get(`/blacklist/${number}`, { actor: admin })).body.data as { expires_at: string | null };
    if (length === null) expect(end).toBeNull();
    else expect(Math.abs(Date.parse(end ?? "") - before - length)).toBeLessThan(60_000);
  });

  test("are shown in days and hours, and never in seconds", async () => {
    const { world } = shared;
    const said = await world.slash(admin, "setup policy", { kind: "alt-request", decision: "3 Tage", info: "1 day 12 hours" });
    expect(said).toContain("3 days");
    expect(said).toContain("1 day 12 hours");
    expect(said).not.toMatch(/\b\d+[smhd]\b|seconds|P\d/);
    expect(await world.slash(german, "setup policy", { kind: "alt-request", claim: "90m" })).toContain("1 Stunde 30 Minuten");
  });
});
