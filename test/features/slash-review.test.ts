import { beforeAll, describe, expect, test } from "vitest";
import { staffAtConsole } from "../contract/world.ts";
import type { User } from "../../sandbox/index.ts";
import { createWorld, type World } from "../support/world.ts";
import { approve, auditOf, filePunishment, reason } from "./review-ground.ts";

describe("/review", () => {
  let world: World;
  let author: User;
  let admin: User;
  beforeAll(async () => {
    let end = (): Promise<void> => Promise.resolve();
    world = await createWorld({ onEnd: (way) => (end = way) });
    [author, admin] = [await staffAtConsole(world, "moderator"), await staffAtConsole(world, "admin")];
    return () => end();
  });
  const at = (user: User) => world.sandbox.as(user).in(world.guild);
  const read = async (reference: string) => (await world.get(`/workflows/punishment/${reference}`, { actor: admin })).body.data;

  test("an approval shows first what is known of the subject, asks for the reason they will read, and ends as over HTTP", async () => {
    const subject = world.member();
    await world.post("/blacklist", { kind: "user", subject_id: subject.id, category: "scam", severity: "low" }, { actor: admin });
    const [first, second] = [await filePunishment(world, author, subject), await filePunishment(world, author)];
    const run = await at(admin).runSlashCommand("review approve", { reference: first.toLowerCase() });
    const asked = await run.reply();
    expect(asked.content).toContain("blacklist records: 1");
    expect(asked.ephemeral).toBe(true);
    const form = await run.clickButton("Continue …");
    const modal = JSON.stringify(await form.modal());
    expect(modal).toContain("Reason, as the person will read it");
    expect(modal).toContain(`"value":"${reason}"`);
    expect((await read(first)).status).toBe("pending");
    await form.submitModal({ reason: "Led the raid of 24 November." });
    await world.sandbox.waitFor(() => run.current()?.content.includes(`**${first.replaceAll("-", "\\-")}** is approved`) === true);
    expect(run.current()?.components).toEqual([]);
    await world.post(`/workflows/punishment/${second}/decision`, { decision: "approve" }, { actor: admin });
    const [slash, rest] = [await read(first), await read(second)];
    expect([slash.status, slash.revision, slash.decision.by]).toEqual([rest.status, rest.revision, rest.decision.by]);
    expect(slash.decision.reason_public).toBe("Led the raid of 24 November.");
    const [mine, other] = [await auditOf(world, first), await auditOf(world, second)];
    expect(mine.map(({ action }) => action)).toEqual(other.map(({ action }) => action));
    expect([mine[0]?.via, other[0]?.via]).toEqual(["slash", "rest"]);
  });

  test("an approval whose reason is given asks yes or no; one that nobody it is about reads of asks for no reason", async () => {
    const reference = await filePunishment(world, author);
    const given = await at(admin).runSlashCommand("review approve", { reference, reason: "Seen by two." });
    await given.reply();
    await given.clickButton("Yes, do it");
    await world.sandbox.waitFor(() => given.current()?.components.length === 0);
    expect((await read(reference)).decision.reason_public).toBe("Seen by two.");
    for (const untold of [{ action: "note" }, { notify_subject: false }]) {
      const silent = await filePunishment(world, author, world.member(), untold);
      const run = await at(admin).runSlashCommand("review approve", { reference: silent });
      expect(JSON.stringify((await run.reply()).components)).toContain("Yes, do it");
    }
  });

  test("a reason is not sent to what the request was changed into meanwhile, and is not lost", async () => {
    const reference = await filePunishment(world, author);
    const run = await at(admin).runSlashCommand("review approve", { reference });
    await run.reply();
    const form = await run.clickButton("Continue …");
    await form.modal();
    const graver = { action: "strike", points: 3, reason: "Something else altogether, and far graver." };
    expect((await world.patch(`/workflows/punishment/${reference}`, graver, { actor: author })).status).toBe(200);
    const sent = await form.submitModal({ reason: "A warning will do here." });
    await world.sandbox.waitFor(() => sent.followups().length > 0);
    expect(sent.followups()[0]?.content).toContain("precondition_failed");
    expect((await read(reference)).approvals.votes).toEqual([]);
    const again = await sent.clickButton("Change and send again");
    expect(JSON.stringify(await again.modal())).toContain('"value":"A warning will do here."');
    const asked = await again.submitModal({});
    // What is shown now is what it was made into, and it is asked about anew.
    expect((await asked.reply()).content).toContain("Strike for");
    expect((await read(reference)).status).toBe("pending");
    await asked.clickButton("Yes, do it");
    await world.sandbox.waitFor(() => asked.current()?.components.length === 0);
    expect((await read(reference)).decision.reason_public).toBe("A warning will do here.");
  });

  test("from the queue to an approval with its reason it takes four acts", async () => {
    const subject = world.member();
    const reference = await filePunishment(world, author, subject);
    const queue = await at(admin).runSlashCommand("review queue", { kind: "punishment", order: "-created_at" });
    await queue.reply();
    const menu = "do:ws";
    const card = await queue.select(menu, [reference]);
    const shown = await card.reply();
    expect(shown.embeds[0]?.fields).toContainEqual(
      expect.objectContaining({ name: "An approval comes to this (tried, not done)", value: expect.stringContaining("- ") }),
    );
    const form = await card.clickButton("Approve");
    expect(JSON.stringify(await form.modal())).toContain(`"value":"${reason}"`);
    await form.submitModal({});
    await world.sandbox.waitFor(() => card.current()?.content.includes("is approved") === true);
    expect((await read(reference)).decision).toMatchObject({ by: admin.id, reason_public: reason });
  });

  test("a card says each thing once", async () => {
    const subject = world.member();
    const reference = await filePunishment(world, author, subject);
    const reply = await (await at(admin).runSlashCommand("review show", { reference })).reply();
    const [card] = reply.embeds;
    const text = JSON.stringify(card);
    const count = (part: string) => text.split(part).length - 1;
    expect([reference, reason, `<@${subject.id}>`, `\`${subject.id}\``, `<@${author.id}>`].map(count)).toEqual([1, 1, 2, 1, 1]);
    expect(card?.description?.split("\n").slice(0, 2)).toEqual([`**Warning for <@${subject.id}>**`, `filed by <@${author.id}>`]);
  });

  test("whoever says no to the question approves nothing", async () => {
    const reference = await filePunishment(world, author);
    const run = await at(admin).runSlashCommand("review approve", { reference });
    await run.reply();
    await run.clickButton("Cancel");
    await world.sandbox.waitFor(() => run.current()?.content === "Nothing was done.");
    expect((await read(reference)).status).toBe("pending");
    expect((await auditOf(world, reference)).map(({ action }) => action)).toEqual(["workflow.create"]);
  });

  test("a denial wants a reason in a form", async () => {
    const reference = await filePunishment(world, author);
    const run = await at(admin).runSlashCommand("review deny", { reference });
    await run.modal();
    const sent = await run.submitModal({ reason: "The evidence does not show it." });
    expect((await sent.reply()).content).toContain("is denied");
    expect((await read(reference)).decision.reason_public).toBe("The evidence does not show it.");
  });

  test("who may not decide, and who asks for what is not there, is refused as over HTTP and nothing is asked", async () => {
    const reference = await filePunishment(world, author);
    expect(await approve(world, author, reference)).toContain("permission_denied");
    expect(await approve(world, admin, "PUN-REQ-999999")).toContain("record_not_found");
    expect((await read(reference)).revision).toBe(1);
    await world.post(`/workflows/punishment/${reference}/decision`, { decision: "hold", reason: "Waits." }, { actor: admin });
    const held = await (await at(admin).runSlashCommand("review approve", { reference })).reply();
    expect([held.content.includes("invalid_transition"), held.components]).toEqual([true, []]);
  });

  test("the next one is the oldest that may be taken on, and is taken on", async () => {
    const [own, senior] = [await filePunishment(world, admin), await staffAtConsole(world, "senior")];
    const waiting = (await world.get("/workflows?status=pending&assignee=none&sort=created_at", { actor: senior })).body.data;
    const oldest = waiting.find(({ allowed_actions: actions }: { allowed_actions: string[] }) => actions.includes("claim"));
    const reply = await (await at(senior).runSlashCommand("review next")).reply();
    expect(reply.content).toContain(oldest.reference.replaceAll("-", "\\-"));
    expect((await read(oldest.reference)).assignment.user.id).toBe(senior.id);
    expect((await read(own)).assignment).toBeNull();
  });

  test("a card shown to one person has only those buttons that they may use, and says once why not the others", async () => {
    const reference = await filePunishment(world, author);
    const shownTo = async (user: User) => await (await at(user).runSlashCommand("review show", { reference })).reply();
    const buttonsOf = ({ components }: Awaited<ReturnType<typeof shownTo>>) =>
      components.flatMap((row) => row.components ?? []).flatMap(({ type, label }) => (type === 2 ? [label] : []));
    expect(buttonsOf(await shownTo(admin))).toEqual(["Claim", "Approve", "Deny", "Ask info"]);
    const own = await shownTo(author);
    expect(buttonsOf(own)).not.toContain("Approve");
    expect(buttonsOf(own)).not.toContain("Deny");
    expect(own.content).toMatch(/^-# .*approve, deny.*: \S/m);
    const reasons = own.content.split("\n").map((line) => line.split(": ").slice(1).join(": "));
    expect(new Set(reasons).size).toBe(reasons.length);
  });

  test("a claim by the button of one's own card shows the card as it is then", async () => {
    const reference = await filePunishment(world, author);
    const run = await at(admin).runSlashCommand("review show", { reference });
    await run.reply();
    await run.clickButton("Claim");
    await world.sandbox.waitFor(() => JSON.stringify(run.current()?.embeds).includes("in review"));
    expect((await read(reference)).assignment.user.id).toBe(admin.id);
  });

  test("questions, an escalation and the way back are each their own move", async () => {
    const reference = await filePunishment(world, author);
    const fill = async (words: string, values: Record<string, string>) => {
      const run = await at(admin).runSlashCommand(words, { reference });
      return (await (await run.submitModal(values)).reply()).content;
    };
    await fill("review ask", { questions: "Who saw it?\nWhen was it?" });
    expect((await read(reference)).questions).toEqual(["Who saw it?", "When was it?"]);
    const answer = await at(author).runSlashCommand("request answer", { reference });
    await (await answer.submitModal({ answer: "Ann did, at nine." })).reply();
    expect((await read(reference)).status).toBe("pending");
    await fill("review hold", { reason: "Waits for the other case." });
    expect((await read(reference)).hold).not.toBeNull();
    await fill("review release", { reason: "The other case is closed." });
    expect((await read(reference)).hold).toBeNull();
    expect(await fill("review void", { reason: "It was filed twice." })).toContain("is void");
    const reversing = await at(admin).runSlashCommand("review reverse", { reference });
    expect((await reversing.reply()).content).toContain("invalid_transition");
    expect(reversing.interaction.modal).toBeNull();
  });

  test("the queue is narrowed by its filters, and references are completed from what one may see", async () => {
    const [reference, done] = [await filePunishment(world, author), await filePunishment(world, author)];
    await world.post(`/workflows/punishment/${done}/decision`, { decision: "approve" }, { actor: admin });
    const said = await world.slash(admin, "review queue", { kind: "punishment", order: "-created_at" });
    expect(said).toContain(reference.replaceAll("-", "\\\\-"));
    expect(said).not.toContain(done.replaceAll("-", "\\\\-"));
    const offered = async (user: User) => (await at(user).autocomplete("review approve", reference.slice(-4))).map(({ value }) => value);
    expect(await offered(admin)).toContain(reference);
    const outsider = world.member();
    world.guild.setRoles(outsider, [world.guild.createRole("guest", { permissions: ["Administrator"] })]);
    expect(await offered(outsider)).toEqual([]);
  });
});
