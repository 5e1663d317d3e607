import { createHash } from "node:crypto";
import { beforeAll, describe, expect, test } from "vitest";
import { staffAtConsole } from "../contract/world.ts";
import { createWorld, type World } from "../support/world.ts";

describe("/case", () => {
  let world: World;
  beforeAll(async () => {
    let end = (): Promise<void> => Promise.resolve();
    world = await createWorld({ onEnd: (way) => (end = way), env: { EVIDENCE_MAX_BYTES: "1048576" } });
    return () => end();
  });

  const asking = async (level: "owner" | "admin" | "viewer" | "senior" = "admin") => {
    const person = await staffAtConsole(world, level);
    return { person, ask: world.sandbox.as(person).in(world.guild) };
  };
  const opened = async (actor: Awaited<ReturnType<typeof asking>>["person"]) => {
    const { body } = await world.post(
      "/cases",
      { title: "Raid on the lobby", subjects: [{ kind: "user", id: world.member().id }] },
      { actor },
    );
    return body.data as { id: string; number: string };
  };

  test("a case is opened, noted, closed and reopened, and its buttons lead to what hangs on it", async () => {
    const { person, ask } = await asking();
    const subject = world.member();
    const open = await ask.runSlashCommand("case open", { user: subject, title: "Odd @everyone", priority: "high", labels: "raid, lobby" });
    const embed = JSON.stringify((await open.reply()).embeds);
    const number = /CASE-\d+/.exec(embed)?.[0] ?? "";
    expect(embed).toContain("Odd \\\\@everyone");
    const note = await ask.runSlashCommand("case note", { case: number });
    await (await note.submitModal({ text: "Spoke with the reporter" })).reply();
    const notes = await (await open.clickButton("Notes")).reply();
    expect(JSON.stringify(notes.embeds)).toContain("Spoke with the reporter");
    const close = await ask.runSlashCommand("case close", { case: number, outcome: "resolved" });
    await (await close.submitModal({ reason: "Both agreed" })).reply();
    const view = async () => (await world.get(`/cases/${number}`, { actor: person })).body.data;
    expect(await view()).toMatchObject({
      status: "closed",
      outcome: "resolved",
      outcome_reason: "Both agreed",
      labels: ["lobby", "raid"],
      notes_count: 1,
    });
    const reopen = await ask.runSlashCommand("case reopen", { case: number, reason: "A new witness" });
    expect((await reopen.reply()).embeds).toHaveLength(1);
    expect((await view()).status).toBe("active");
    expect(await world.slash(person, "case history", { case: number })).toContain("The case was closed");
    const list = await (await ask.runSlashCommand("case list", { subject: subject.id })).reply();
    expect(JSON.stringify(list.embeds)).toContain(number);
  });

  test("several files are kept one after the other; one that is too large is named, and the others stay", async () => {
    const { person, ask } = await asking();
    const { number } = await opened(person);
    const small = (text: string) => ({ name: `${text}.txt`, bytes: Buffer.from(text) });
    const large = { name: "large.bin", bytes: Buffer.alloc(2 * 1024 * 1024) };
    const run = await ask.runSlashCommand("case evidence", { case: number });
    const sent = await run.submitModal({ files: [small("one"), large, small("two")], title: "Logs", note: "" });
    const said = JSON.stringify((await sent.reply()).embeds);
    expect(said).toContain("large.bin");
    expect(said).toContain("body_too_large");
    const { body } = await world.get(`/cases/${number}/evidence`, { actor: person });
    expect(body.data.map(({ file }: any) => [file.name, file.sha256]).toSorted()).toEqual(
      ["one", "two"].map((text) => [`${text}.txt`, createHash("sha256").update(text).digest("hex")]),
    );
    const first = body.data.at(-1);
    const files = await (await ask.runSlashCommand("case file", { case: number, piece: first.id })).reply();
    expect(files.attachments[0]?.bytes.toString()).toBe("one");
  });

  test("a file that Discord does not give any more leaves nothing behind", async () => {
    const { person, ask } = await asking();
    const { number } = await opened(person);
    world.sandbox.faults.rest({ route: "GET /attachments/:channel/:attachment/:name", status: 404 });
    const run = await ask.runSlashCommand("case evidence", { case: number, file: { name: "gone.txt", bytes: Buffer.from("x") } });
    expect((await run.reply()).content).toContain("discord_unavailable");
    expect((await world.get(`/cases/${number}/evidence`, { actor: person })).body.data).toEqual([]);
  });

  test("links are taken back by the reference of the other record", async () => {
    const { person, ask } = await asking();
    const [one, two] = [await opened(person), await opened(person)];
    await (await ask.runSlashCommand("case link", { case: one.number, reference: two.number })).reply();
    const links = async () => (await world.get(`/cases/${one.number}`, { actor: person })).body.data.links;
    expect(await links()).toMatchObject([{ rel: "related", reference: two.number }]);
    const wrong = await (await ask.runSlashCommand("case unlink", { case: one.number, reference: "CASE-999999" })).reply();
    expect(wrong.content).toContain("no link with this record");
    await (await ask.runSlashCommand("case unlink", { case: one.number, reference: two.number })).reply();
    expect(await links()).toEqual([]);
  });

  test("what was done is recorded with its points; deleting asks first", async () => {
    const { person, ask } = await asking();
    const { number } = await opened(person);
    const run = await ask.runSlashCommand("case action", { case: number, kind: "strike", points: 2 });
    const asked = await run.submitModal({ reason: "Insulted two newcomers" });
    expect((await asked.reply()).content).toMatch(/^Record this action against <@\d+>\?\nWhat is known:/);
    expect((await world.get(`/cases/${number}/actions`, { actor: person })).body.data).toEqual([]);
    await (await asked.clickButton("Yes, do it")).reply();
    const [action] = (await world.get(`/cases/${number}/actions`, { actor: person })).body.data;
    expect(action).toMatchObject({ kind: "strike", points: 2 });
    const [subject] = (await world.get(`/cases/${number}`, { actor: person })).body.data.subjects;
    expect(action.user_id).toBe(subject.id);
    const given = { case: number, reason: "Opened by mistake" };
    expect((await (await ask.runSlashCommand("case delete", given)).reply()).content).toContain("cases.delete");
    const remove = await (await asking("owner")).ask.runSlashCommand("case delete", given);
    expect((await remove.reply()).content).toContain(`Put ${number.replaceAll("-", "\\-")} into the bin?`);
    expect((await world.get(`/cases/${number}`, { actor: person })).body.data.deleted_at).toBeNull();
  });

  test("a case that is hidden is not found, in the words for one that is not there", async () => {
    const { person } = await asking("senior");
    const { person: admin } = await asking();
    const body = { title: "Hidden matter", subjects: [{ kind: "user", id: world.member().id }], confidential: true };
    const { number } = (await world.post("/cases", body, { actor: admin })).body.data;
    const hidden = await world.slash(person, "case show", { case: number });
    expect(hidden).toContain("record_not_found");
    expect(hidden).toBe(await world.slash(person, "case show", { case: "CASE-999999" }));
  });
});
