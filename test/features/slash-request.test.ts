import { beforeAll, describe, expect, test } from "vitest";
import { staffAtConsole } from "../contract/world.ts";
import type { User } from "../../sandbox/index.ts";
import { createWorld, type World } from "../support/world.ts";
import { auditOf, filePunishment, reason } from "./review-ground.ts";

const [left, right] = ["80351110224678912", "80351110224678913"];

describe("/request", () => {
  let world: World;
  let author: User;
  let admin: User;
  beforeAll(async () => {
    let end = (): Promise<void> => Promise.resolve();
    world = await createWorld({ onEnd: (way) => (end = way) });
    [author, admin] = [await staffAtConsole(world, "moderator"), await staffAtConsole(world, "admin")];
    return () => end();
  });
  const count = () => world.app.database.read.workflowRequest.count();
  const newest = () => world.app.database.read.workflowRequest.findFirstOrThrow({ orderBy: { createdAt: "desc" } });
  async function file(user: User, words: string, options: object, form: Record<string, string>) {
    const run = await world.sandbox
      .as(user)
      .in(world.guild)
      .runSlashCommand(`request ${words}`, options as never);
    return await (await run.submitModal(form)).reply();
  }

  const grounds = { grounds: "The record is about somebody else entirely." };
  test.each<[words: string, type: string, options: (subject: User) => object, form: Record<string, string>]>([
    ["blacklist-user", "blacklist-user", (user) => ({ user, category: "raid", severity: "high" }), { reason }],
    [
      "blacklist-server",
      "blacklist-server",
      () => ({ server: left, category: "scam", severity: "low", "member-policy": "flag" }),
      { reason },
    ],
    ["investigation", "investigation", (user) => ({ user, category: "leak" }), { allegation: "Shared internal screenshots." }],
    ["recruitment", "recruitment", (user) => ({ user, position: "moderator", timezone: "Europe/Berlin" }), { experience: "Two years." }],
    ["server-merge", "server-merge", () => ({ source: left, target: right, effective: "2027-01-31" }), { reason }],
    ["alt", "alt-request", (user) => ({ user, other: world.member(), confidence: "suspected" }), { basis: "Never online together." }],
    [
      "punishment",
      "punishment",
      (user) => ({ user, action: "strike", points: 1 }),
      { reason, evidence: "https://example.org/1\nThree saw it." },
    ],
    ["poach", "poach", () => ({ kind: "report", "offending-server": left, "victim-server": right, occurred: "2026-11-20 10:00" }), {}],
    ["appeal", "appeal", () => ({ target: "PUN-REQ-000001" }), grounds],
  ])("/request %s files what the same fields file over HTTP", async (words, type, options, form) => {
    const before = await count();
    const reply = await file(admin, words, options(world.member()), form);
    expect(reply.content).toMatch(/is filed; it is pending/);
    expect(await count()).toBe(before + 1);
    const row = await newest();
    expect(row).toMatchObject({ type, requesterId: admin.id, requestedVia: "slash" });
    expect(row.origin).toMatchObject({ guild_id: world.guild.id });
    expect((await auditOf(world, row.reference)).map(({ action, via }) => [action, via])).toEqual([["workflow.create", "slash"]]);
  });

  test("evidence is a piece a line, links as links", async () => {
    await file(
      author,
      "punishment",
      { user: world.member(), action: "warning" },
      { reason, evidence: "https://example.org/1\n\nThree saw it." },
    );
    expect((await newest()).evidence).toEqual([
      expect.objectContaining({ kind: "link", url: "https://example.org/1" }),
      expect.objectContaining({ kind: "text", note: "Three saw it." }),
    ]);
  });

  test("what is wrong is named, and nothing is filed", async () => {
    const before = await count();
    const run = await world.sandbox
      .as(author)
      .in(world.guild)
      .runSlashCommand("request punishment", { user: world.member(), action: "demotion" });
    const reply = await run.reply();
    expect(reply.content).toMatch(/^`demote-to`: .+\n-# validation_failed$/);
    const opened = await run.clickButton("Change and send again");
    await opened.acked;
    expect(JSON.stringify(opened.interaction.modal)).toContain("demote-to");
    const viewer = await staffAtConsole(world, "viewer");
    const options = { server: right, category: "scam", severity: "low", "member-policy": "flag" };
    const refused = await world.sandbox.as(viewer).in(world.guild).runSlashCommand("request blacklist-server", options);
    expect((await refused.reply()).content).toContain("permission_denied");
    expect(await count()).toBe(before);
  });

  test("an author changes and takes back what is theirs, and nobody else does", async () => {
    const reference = await filePunishment(world, author);
    const other = await staffAtConsole(world, "moderator");
    await file(author, "edit", { reference, priority: "high" }, { reason: "Led both raids of last night." });
    const read = async () => (await world.get(`/workflows/punishment/${reference}`, { actor: author })).body.data;
    expect(await read()).toMatchObject({ priority: "high", payload: { reason: "Led both raids of last night." } });
    const withdraw = async (user: User) => {
      const run = await world.sandbox.as(user).in(world.guild).runSlashCommand("request withdraw", { reference });
      await run.reply();
      const pressed = await run.clickButton("Yes, do it");
      return { run, pressed };
    };
    const refused = await withdraw(other);
    await world.sandbox.waitFor(() => refused.pressed.followups().some(({ content }) => content.includes("-#")));
    expect((await read()).status).toBe("pending");
    const { run } = await withdraw(author);
    await world.sandbox.waitFor(() => run.current()?.content.includes("is withdrawn") === true);
    expect((await read()).status).toBe("withdrawn");
    expect(await world.slash(author, "request mine", { state: "withdrawn" })).toContain(reference.replaceAll("-", "\\\\-"));
    expect(await world.slash(other, "request mine", { state: "withdrawn" })).not.toContain(reference.replaceAll("-", "\\\\-"));
  });

  test("a comment is written in a form", async () => {
    const reference = await filePunishment(world, author);
    await file(admin, "comment", { reference, visibility: "requester" }, { body: "The second witness answered." });
    const { data } = (await world.get(`/workflows/punishment/${reference}/comments`, { actor: author })).body;
    expect(data).toMatchObject([{ body: "The second witness answered.", author: { id: admin.id } }]);
  });
});
