import { createHash } from "node:crypto";
import { beforeAll, describe, expect, test } from "vitest";
import { staffAtConsole } from "../contract/world.ts";
import { freshId } from "../contract/document.ts";
import { createWorld, type World } from "../support/world.ts";
import { upload } from "./evidence-ground.ts";

const png = Buffer.from("iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAQAAAC1HAwCAAAAC0lEQVR42mNkYAAAAAYAAjCB0C8AAAAASUVORK5CYII=", "base64");

describe("/blacklist", () => {
  let world: World;
  beforeAll(async () => {
    let end = (): Promise<void> => Promise.resolve();
    world = await createWorld({ onEnd: (way) => (end = way) });
    return () => end();
  });

  const listed = async (fields: object = {}) => {
    const actor = await world.staff("admin");
    const { body } = await world.post("/blacklist", { kind: "user", subject_id: freshId(), category: "scam", ...fields }, { actor });
    return body.data as { id: string; number: string; subject_id: string };
  };
  const asking = async (level: "admin" | "viewer" | "moderator") => {
    const person = await staffAtConsole(world, level);
    return { person, ask: world.sandbox.as(person).in(world.guild) };
  };

  test("people are looked up by ids and mentions, and more than 25 are refused instead of cut", async () => {
    const { person } = await asking("moderator");
    const record = await listed({ severity: "low" });
    const said = await world.slash(person, "blacklist check", { ids: `<@${record.subject_id}>, ${freshId()}` });
    expect(said).toContain(`\`${record.subject_id}\` **is listed**: ${record.number} · user · low · scam`);
    expect(said.match(/is not listed/g)).toHaveLength(1);
    const second = await world.slash(person, "blacklist check", { ids: `0${record.subject_id.slice(1)}` });
    expect(second).toContain("validation_failed");
    expect(second).not.toContain("is not listed");
    const many = Array.from({ length: 26 }, () => freshId()).join(" ");
    const refused = await world.slash(person, "blacklist check", { ids: many });
    expect(refused).toContain("validation_failed");
    expect(refused).not.toContain("is not listed");
    const stranger = world.member();
    world.guild.setRoles(stranger, [world.guild.createRole("door", { permissions: ["Administrator"] })]);
    const turnedAway = await world.slash(stranger, "blacklist check", { ids: many });
    expect(turnedAway).toContain("acting_user_not_staff");
    expect(turnedAway).not.toContain("at most");
  });

  test("a record is added with a form, as over HTTP, and shown without formatting of its reason", async () => {
    const { person, ask } = await asking("admin");
    const subject = world.member();
    const run = await ask.runSlashCommand("blacklist add", { user: subject, category: "raid", severity: "high" });
    const sent = await run.submitModal({ "reason-public": "**Bold** raid", "reason-internal": "", evidence: "Seen by three" });
    const before = (await world.get(`/blacklist?subject=${subject.id}`, { actor: person })).body.data;
    expect([(await sent.reply()).content, before]).toEqual([expect.stringMatching(`^List <@${subject.id}>.*\nWhat is known:`), []]);
    const shown = JSON.stringify((await (await sent.clickButton("Yes, do it")).reply()).embeds);
    expect(shown).toContain("\\\\*\\\\*Bold");
    const { body } = await world.get(`/blacklist?subject=${subject.id}`, { actor: person });
    expect(body.data).toHaveLength(1);
    expect(body.data[0]).toMatchObject({
      category: "raid",
      severity: "high",
      reason_public: "**Bold** raid",
      evidence: [{ note: "Seen by three" }],
    });
  });

  test("a record is revoked only after a reason and a yes, which says what depends on it", async () => {
    const { person, ask } = await asking("admin");
    const record = await listed();
    const run = await ask.runSlashCommand("blacklist revoke", { record: record.number });
    const asked = await run.submitModal({ reason: "The report was wrong" });
    expect((await asked.reply()).content).toContain(`Take ${record.number} back?`);
    const state = async () => (await world.get(`/blacklist/${record.number}`, { actor: person })).body.data;
    expect((await state()).status).toBe("active");
    await asked.clickButton("Cancel");
    await world.sandbox.waitFor(() => asked.current()?.content === "Nothing was done.");
    expect((await state()).status).toBe("active");
    const second = await ask.runSlashCommand("blacklist revoke", { record: record.number, reason: "The report was wrong" });
    await second.reply();
    await second.clickButton("Yes, do it");
    await expect.poll(async () => (await state()).status).toBe("revoked");
    expect((await state()).revoked).toMatchObject({ by: person.id, reason: "The report was wrong" });
    const entry = await world.app.database.read.auditEntry.findFirstOrThrow({
      where: { action: "blacklist.revoke" },
      orderBy: { seq: "desc" },
    });
    expect(entry).toMatchObject({ via: "slash", targetId: record.id });
  });

  test("an edit about an older revision changes nothing", async () => {
    const { person, ask } = await asking("admin");
    const record = await listed();
    await world.patch(`/blacklist/${record.number}`, { severity: "high" }, { actor: person });
    const said = await (await ask.runSlashCommand("blacklist edit", { record: record.number, revision: 1, severity: "critical" })).reply();
    expect(said.content).toContain("precondition_failed");
    expect((await world.get(`/blacklist/${record.number}`, { actor: person })).body.data.severity).toBe("high");
  });

  test("a picture is kept with the hash it has over HTTP, and shown in the gallery", async () => {
    const { person, ask } = await asking("admin");
    const record = await listed();
    const file = { name: "proof.png", bytes: png, contentType: "image/png" };
    const run = await ask.runSlashCommand("blacklist evidence", { record: record.number, file, "file-2": { ...file, name: "two.png" } });
    expect(JSON.stringify((await run.reply()).embeds)).toContain("two");
    const http = await upload(world, `/blacklist/${record.number}/evidence`, { actor: person, bytes: png });
    const { body } = await world.get(`/blacklist/${record.number}/evidence`, { actor: person });
    expect(body.data.map(({ sha256 }: { sha256: string }) => sha256)).toEqual(Array(3).fill(http.body.data.sha256));
    expect(http.body.data.sha256).toBe(createHash("sha256").update(png).digest("hex"));
    const shown = await (await ask.runSlashCommand("blacklist show", { record: record.number })).reply();
    expect(shown.attachments.map(({ bytes }) => bytes.equals(png))).toEqual([true, true, true]);
    expect(JSON.stringify(shown.embeds)).toContain("evidence-1.png");
  });

  test("an import is first only told, then done at a press", async () => {
    const { ask } = await asking("admin");
    const [one, two] = [freshId(), freshId()];
    const bytes = Buffer.from(`kind,subject_id,category,severity\nuser,${one},scam,low\nuser,${two},nothing,low\n`);
    const count = () => world.app.database.read.blacklistRecord.count({ where: { subjectId: { in: [one, two] } } });
    const run = await ask.runSlashCommand("blacklist import", { file: { name: "list.csv", bytes } });
    const asked = await run.reply();
    expect(asked.content).toContain("• created: 1");
    expect(asked.content).toContain("Line 3:");
    expect(await count()).toBe(0);
    await run.clickButton("Yes, do it");
    await expect.poll(count).toBe(1);
    await world.sandbox.waitFor(() => run.current()?.content.includes("The import is done") === true);
    expect(run.current()?.attachments.map(({ name }) => name)).toEqual(["import.json"]);
  });

  test("who may not is refused before a file is fetched, and nothing is written", async () => {
    const { ask } = await asking("viewer");
    const before = await world.app.database.read.blacklistRecord.count();
    const said = await (await ask.runSlashCommand("blacklist import", { file: { name: "a.csv", bytes: Buffer.from([0xff]) } })).reply();
    expect(said.content).toContain("permission_denied");
    expect(await world.app.database.read.blacklistRecord.count()).toBe(before);
  });

  test("numbers are completed from the records the person may see", async () => {
    const { ask } = await asking("moderator");
    const record = await listed();
    const choices = await ask.autocomplete("blacklist show", record.number.slice(0, 6));
    expect(choices.map(({ value }) => value)).toContain(record.number);
  });
});
