import { beforeAll, describe, expect, test } from "vitest";
import { staffAtConsole } from "../contract/world.ts";
import type { User } from "../../src/sandbox/index.ts";
import { createWorld, type World } from "../support/world.ts";
import { approve, auditOf, filePunishment } from "./review-ground.ts";

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

  test("an approval asks first, with what is known of the subject, and ends as over HTTP", async () => {
    const subject = world.member();
    await world.post("/blacklist", { kind: "user", subject_id: subject.id, category: "scam", severity: "low" }, { actor: admin });
    const [first, second] = [await filePunishment(world, author, subject), await filePunishment(world, author)];
    const run = await at(admin).runSlashCommand("review approve", { reference: first.toLowerCase() });
    const asked = await run.reply();
    expect(asked.content).toContain("blacklist records: 1");
    expect(asked.ephemeral).toBe(true);
    expect((await read(first)).status).toBe("pending");
    await run.clickButton("Yes, do it");
    await world.sandbox.waitFor(() => run.current()?.content.includes(`**${first.replaceAll("-", "\\-")}** is approved`) === true);
    await world.post(`/workflows/punishment/${second}/decision`, { decision: "approve" }, { actor: admin });
    const [slash, rest] = [await read(first), await read(second)];
    expect([slash.status, slash.revision, slash.decision.by]).toEqual([rest.status, rest.revision, rest.decision.by]);
    const [mine, other] = [await auditOf(world, first), await auditOf(world, second)];
    expect(mine.map(({ action }) => action)).toEqual(other.map(({ action }) => action));
    expect([mine[0]?.via, other[0]?.via]).toEqual(["slash", "rest"]);
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

  test("a card shown to one person has only those buttons switched on that they may use", async () => {
    const reference = await filePunishment(world, author);
    const shownTo = async (user: User) => (await (await at(user).runSlashCommand("review show", { reference })).reply()).components;
    const stateOf = (rows: readonly { components?: readonly { label?: string; disabled?: boolean }[] }[]) =>
      Object.fromEntries((rows[0]?.components ?? []).map(({ label, disabled }) => [label, disabled === true]));
    expect(stateOf(await shownTo(admin))).toEqual({ Claim: false, Approve: false, Deny: false, "Ask info": false });
    expect(stateOf(await shownTo(author))).toMatchObject({ Approve: true, Deny: true });
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
