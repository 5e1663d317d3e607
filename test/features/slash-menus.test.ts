import { beforeAll, describe, expect, test } from "vitest";
import { createFiles } from "../../src/commands/files.ts";
import { createAttachments } from "../../src/discord/rest/attachments.ts";
import { freshId } from "../contract/document.ts";
import { staffAtConsole } from "../contract/world.ts";
import { createWorld, type World } from "../support/world.ts";
import { contentIntents } from "./evidence-ground.ts";

describe("menus on people and messages", () => {
  let world: World;
  beforeAll(async () => {
    let end = (): Promise<void> => Promise.resolve();
    world = await createWorld({ onEnd: (way) => (end = way) });
    world.sandbox.setPrivilegedIntents(contentIntents);
    return () => end();
  });

  const asking = async (level: "admin" | "moderator" | "viewer" = "admin") => {
    const person = await staffAtConsole(world, level);
    return { person, ask: world.sandbox.as(person).in(world.guild) };
  };
  const message = () => {
    const author = world.member();
    return { author, said: world.sandbox.as(author).in(world.guild).post({ content: "Come to **our** server" }) };
  };

  test("a person's menu tells whether they are listed, what happened to them, and what is known of them", async () => {
    const { person, ask } = await asking();
    const subject = world.member();
    const { number } = (await world.post("/blacklist", { kind: "user", subject_id: subject.id }, { actor: person })).body.data;
    const check = await (await ask.runUserCommand("Blacklist check", subject)).reply();
    expect(check.content).toContain(`is listed**: ${number as string}`);
    expect(check.ephemeral).toBe(true);
    const timeline = await (await ask.runUserCommand("Case timeline", subject)).reply();
    expect(JSON.stringify(timeline.embeds)).toContain(number.replace("-", "\\\\-"));
    const profile = await (await ask.runUserCommand("Intel profile", subject)).reply();
    expect(JSON.stringify(profile.embeds)).toContain(subject.id);
  });

  test("a punishment is requested for the person through a form, as by its slash command", async () => {
    const { person, ask } = await asking("moderator");
    const subject = world.member();
    const run = await ask.runUserCommand("Request punishment", subject);
    const sent = await run.submitModal({ action: "warning", reason: "Insulted two newcomers", summary: "", evidence: "" });
    const reference = /PUN-REQ-\d+/.exec((await sent.reply()).content.replaceAll("\\", ""))?.[0] ?? "";
    const { data } = (await world.get(`/workflows/punishment/${reference}`, { actor: person })).body;
    expect(data.payload).toMatchObject({ user_id: subject.id, action: "warning", reason: "Insulted two newcomers" });
  });

  test("a message is kept by the service itself: with a case, and with a new case about its author", async () => {
    const { person, ask } = await asking();
    const { author, said } = message();
    const old = (await world.post("/cases", { title: "Old matter", subjects: [{ kind: "user", id: author.id }] }, { actor: person })).body
      .data;
    const first = await ask.runMessageCommand("Save as evidence", said);
    const kept = await first.submitModal({ where: "record", record: old.number, title: "Offer", note: "" });
    expect((await kept.reply()).content).toContain("This was kept");
    const pieces = (await world.get(`/cases/${old.number as string}/evidence`, { actor: person })).body.data;
    expect(pieces).toMatchObject([
      { kind: "message", verified: true, title: "Offer", message: { message_id: said.id, author_id: author.id } },
    ]);
    const second = await ask.runMessageCommand("Save as evidence", said);
    const made = await (await second.submitModal({ where: "new-case", record: "", title: "Recruiting", note: "" })).reply();
    const number = /CASE-\d+/.exec(made.content)?.[0] ?? "";
    const view = (await world.get(`/cases/${number}`, { actor: person })).body.data;
    expect(view).toMatchObject({ title: "Recruiting", subjects: [{ kind: "user", id: author.id }], evidence_count: 1 });
  });

  test("a message goes with a blacklist record or a request by its reference; one that is not there is not found", async () => {
    const { person, ask } = await asking();
    const { said } = message();
    const record = (await world.post("/blacklist", { kind: "user", subject_id: freshId() }, { actor: person })).body.data;
    const save = async (reference: string) => {
      const run = await ask.runMessageCommand("Save as evidence", said);
      return (await (await run.submitModal({ where: "record", record: reference, title: "", note: "Seen" })).reply()).content;
    };
    expect(await save(record.number)).toContain("This was kept");
    expect((await world.get(`/blacklist/${record.number as string}/evidence`, { actor: person })).body.data).toHaveLength(1);
    expect(await save("PCH-REQ-999999")).toContain("record_not_found");
    expect(await save("")).toContain("record");
    expect(await world.app.database.read.evidenceItem.count({ where: { note: "Seen" } })).toBe(1);
  });

  test("poaching is reported with the message as evidence", async () => {
    const { person, ask } = await asking();
    const { author, said } = message();
    const run = await ask.runMessageCommand("Report poaching", said);
    const form = JSON.stringify(await run.modal());
    expect(form).toContain(`/${said.id}`);
    const sent = await run.submitModal({ "offending-server": freshId(), reason: "Offers places in another server" });
    const reference = /PCH-REQ-\d+/.exec((await sent.reply()).content.replaceAll("\\", ""))?.[0] ?? "";
    const evidence = (await world.get(`/workflows/poach/${reference}/evidence`, { actor: person })).body.data;
    expect(evidence).toContainEqual(expect.objectContaining({ kind: "message", verified: true }));
    expect((await world.get(`/workflows/poach/${reference}`, { actor: person })).body.data.payload.offender_user_ids).toEqual([author.id]);
  });

  test("who may not add evidence is refused, and nothing is kept", async () => {
    const { ask } = await asking("viewer");
    const { said } = message();
    const before = await world.app.database.read.evidenceItem.count();
    const run = await ask.runMessageCommand("Save as evidence", said);
    const sent = await run.submitModal({ where: "new-case", record: "", title: "Mine", note: "" });
    expect((await sent.reply()).content).toContain("permission_denied");
    expect(await world.app.database.read.evidenceItem.count()).toBe(before);
    expect(await world.app.database.read.case.count({ where: { title: "Mine" } })).toBe(0);
  });

  test("a file is taken from Discord's own hosts only", async () => {
    const { textOf } = createFiles(createAttachments({ apiBase: world.sandbox.apiBase }));
    const file = { id: "1", name: "a.csv", bytes: 3, url: "https://example.com/attachments/1/2/a.csv" };
    const spec = { request: {} } as Parameters<typeof textOf>[0];
    await expect(textOf(spec, file)).rejects.toMatchObject({ code: "discord_unavailable" });
    await expect(textOf({ request: { bodyLimit: 2 } } as typeof spec, file)).rejects.toMatchObject({ code: "body_too_large" });
  });
});
