// @module-tag postgres
// @module-tag slow
import { randomBytes } from "node:crypto";
import { chmod, readdir, readFile, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { tmpdir } from "node:os";
import { beforeAll, describe, expect, test } from "vitest";
import type { PendingInteraction } from "../../src/commands/pending-interactions.ts";
import { menuCommand } from "../../src/commands/runner.ts";
import { translator } from "../../src/kit/say.ts";
import { commandTable } from "../../src/features.ts";
import { ProblemError } from "../../src/kernel/errors.ts";
import { messageOf } from "../../src/discord/replies.ts";
import { freshId } from "../contract/document.ts";
import { staffAtConsole } from "../contract/world.ts";
import type { User } from "../../sandbox/index.ts";
import { createWorld, type Level, type World } from "../support/world.ts";
import { upload } from "./evidence-ground.ts";

const png = Buffer.from("iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg==", "base64");
const long = `${"word ".repeat(250)}THE END`;

describe("what staff do every day", () => {
  let world: World;
  beforeAll(async () => {
    let end = (): Promise<void> => Promise.resolve();
    world = await createWorld({ onEnd: (way) => (end = way) });
    return () => end();
  });

  const asking = async (level: Level = "admin") => {
    const person = await staffAtConsole(world, level);
    return { person, ask: world.sandbox.as(person).in(world.guild) };
  };
  const made = async (person: User, path: string, body: object) => {
    const answer = await world.post(path, body, { actor: person });
    if (answer.status !== 201) throw new Error(JSON.stringify(answer.body));
    return answer.body.data;
  };
  const listed = (person: User, more: object = {}) => made(person, "/blacklist", { kind: "user", subject_id: freshId(), ...more });
  const opened = (person: User, more: object = {}) =>
    made(person, "/cases", { title: "Raid", subjects: [{ kind: "user", id: freshId() }], ...more });
  /** All of a reply, with its files. */
  const whole = ({ content, embeds, attachments }: any): string =>
    [content, JSON.stringify(embeds), ...attachments.map(({ bytes }: { bytes: Buffer }) => bytes.toString())].join("\n");
  const valuesOf = (choices: readonly { value: unknown }[]) => choices.map(({ value }) => value);

  test("a length is taken in a request as everywhere else", async () => {
    const { ask } = await asking();
    for (const duration of ["30d", "30D", "p30d", "permanent"]) {
      const options = { user: world.member(), category: "scam", severity: "low", duration };
      const run = await ask.runSlashCommand("request blacklist-user", options);
      const reply = await (await run.submitModal({ reason: "Posted links that lead to stolen accounts." })).reply();
      expect(reply.content, duration).not.toContain("validation_failed");
    }
  });

  test("the end of a record can be lifted", async () => {
    const { person, ask } = await asking();
    const { number } = await listed(person, { duration: "30d" });
    const said = await (await ask.runSlashCommand("blacklist edit", { record: number, duration: "permanent" })).reply();
    expect(said.content).not.toContain("validation_failed");
    expect((await world.get(`/blacklist/${number as string}`, { actor: person })).body.data.expires_at).toBeNull();
  });

  test("a case that gets servers keeps its people, and the other way round", async () => {
    const { person, ask } = await asking();
    const [subject, server, other] = [world.member(), freshId(), freshId()];
    const { number } = await opened(person, { subjects: [{ kind: "user", id: subject.id }] });
    const about = async () =>
      (await world.get(`/cases/${number as string}`, { actor: person })).body.data.subjects.map(({ id }: { id: string }) => id).toSorted();
    await (await ask.runSlashCommand("case edit", { case: number, servers: server })).reply();
    expect(await about()).toEqual([subject.id, server].toSorted());
    await (await ask.runSlashCommand("case edit", { case: number, users: other })).reply();
    expect(await about()).toEqual([other, server].toSorted());
  });

  test("a picture that is not what was kept hides no record, and makes nothing look failed that was done", async () => {
    const { person, ask } = await asking();
    const { number } = await listed(person);
    // Bytes that nobody else keeps: the file is looked for by its hash.
    const own = Buffer.concat([png, randomBytes(16)]);
    const kept = await upload(world, `/blacklist/${number as string}/evidence`, { actor: person, bytes: own });
    const paths = await Promise.all(
      (await readdir(tmpdir()))
        .filter((name) => name.startsWith("provost-world-"))
        .map(async (root) => {
          const names = await readdir(join(tmpdir(), root), { recursive: true }).catch(() => []);
          return names.filter((name) => name.endsWith(kept.body.data.sha256 as string)).map((name) => join(tmpdir(), root, name));
        }),
    );
    for (const path of paths.flat()) {
      const bytes = await readFile(path);
      bytes[bytes.length - 1] = (bytes.at(-1) ?? 0) ^ 1;
      await chmod(path, 0o600);
      await writeFile(path, bytes);
    }
    expect(whole(await (await ask.runSlashCommand("blacklist show", { record: number })).reply())).toContain(number);
    expect(whole(await (await ask.runSlashCommand("blacklist edit", { record: number, severity: "high" })).reply())).toContain(number);
  });

  describe("a message that a web-hook wrote", () => {
    const targetOf = (targetMessage: object) =>
      ({
        isChatInputCommand: () => false,
        isMessageContextMenuCommand: () => true,
        targetMessage,
        targetId: "80351110224678913",
        channelId: "80351110224678914",
        guildId: "80351110224678915",
        user: { id: "80351110224678916" },
        locale: "en-US",
      }) as never;
    const byWebhook = targetOf({ author: { id: "80351110224678912" }, webhookId: "80351110224678912", applicationId: null });
    const noCall = () => Promise.reject(new Error("nobody asks for the person"));
    const menu = (name: string) =>
      menuCommand(
        { name, type: 3 },
        { ...commandTable(), opens: (asked) => asked as never, start: () => Promise.resolve({ content: "" }) },
      );
    const authorOf = (target: never) => {
      const asked = menu("Save as evidence").opens?.("", target, noCall) as unknown as PendingInteraction | undefined;
      return asked?.given.values["author"];
    };

    test("is nobody's: no case is opened about an id that is no account", () => {
      expect(authorOf(byWebhook)).toBeUndefined();
      const answered = { author: { id: "80351110224678917" }, webhookId: "80351110224678917", applicationId: "80351110224678917" };
      expect(authorOf(targetOf(answered))).toBe("80351110224678917");
      expect(authorOf(targetOf({ author: { id: "80351110224678918" }, webhookId: null, applicationId: null }))).toBe("80351110224678918");
    });
    test("is no offender", () => {
      expect(() => menu("Report poaching").opens?.("", byWebhook, noCall)).toThrow(ProblemError);
    });
  });

  test("a long reason can be read whole", async () => {
    const { person, ask } = await asking();
    const { number } = await listed(person, { reason_public: long });
    expect(whole(await (await ask.runSlashCommand("blacklist show", { record: number })).reply())).toContain("THE END");
  });

  test("notes that a page cuts can be had as a file, wherever they stand", async () => {
    const { person, ask } = await asking();
    const { number } = await opened(person);
    for (const body of ["Short.", long, "Short, too."]) await made(person, `/cases/${number as string}/notes`, { body });
    const run = await ask.runSlashCommand("case notes", { case: number });
    expect(JSON.stringify((await run.reply()).components)).toContain(":json");
    expect(whole(await (await run.clickButton("JSON")).reply())).toContain("THE END");
  });

  test("a reason that was typed is not lost when the yes is refused", async () => {
    const { person, ask } = await asking();
    const { number } = await listed(person);
    const run = await ask.runSlashCommand("blacklist revoke", { record: number });
    const sent = await run.submitModal({ reason: "A long and careful reason" });
    await sent.reply();
    await world.patch(`/blacklist/${number as string}`, { severity: "high" }, { actor: person });
    const pressed = await sent.clickButton("Yes, do it");
    await world.sandbox.waitFor(() => pressed.followups().length > 0);
    const [refused] = pressed.followups();
    expect(refused?.content).toContain("precondition_failed");
    expect(JSON.stringify(refused?.components)).toContain("Change and send again");
  });

  test("a form that was sent is not opened again, to be filled in for nothing", async () => {
    const { ask } = await asking();
    const given = { user: world.member(), category: "scam", severity: "low", duration: "soon" };
    const run = await ask.runSlashCommand("blacklist add", given);
    await run.reply();
    const first = await run.clickButton("Change and send again");
    await first.acked;
    const fields = { duration: "soon", "reason-public": "First try.", "reason-internal": "" };
    expect((await (await first.submitModal(fields)).reply()).content).toContain("validation_failed");
    const second = await run.clickButton("Change and send again");
    await second.acked;
    expect(second.interaction.modal ?? undefined).toBeUndefined();
  });

  test("typing narrows what is offered down to what stands far below", async () => {
    const { person, ask } = await asking("owner");
    const { number } = await opened(person);
    for (let index = 0; index < 27; index += 1) {
      const key = index.toString().padStart(2, "0");
      await made(person, "/callsigns/pools", { key: `p${key}`, name: `Pool ${key}`, template: `P${key}-{n:03}`, ranges: [[1, 9]] });
      await made(person, `/cases/${number as string}/notes`, { body: `Words of witness ${key}.` });
      await world.put(`/staffroles/r${key}`, { name: `Role ${key}`, rank: 5, level: "viewer", discord: [] }, { actor: person });
    }
    expect(valuesOf(await ask.autocomplete("callsign list", { focused: "pool", value: "p26" }))).toEqual(["p26"]);
    expect(valuesOf(await ask.autocomplete("roster list", { focused: "staff-role", value: "r26" }))).toEqual(["r26"]);
    const options = { case: number };
    expect(await ask.autocomplete("case note-edit", { focused: "note", value: "witness 00", options })).toHaveLength(1);
  });

  test("a number that is typed whole is found among all records", async () => {
    const { person, ask } = await asking();
    const first = await listed(person);
    for (let index = 0; index < 201; index += 1) await listed(person);
    expect(valuesOf(await ask.autocomplete("blacklist show", first.number))).toEqual([first.number]);
  });

  test("of several permissions each is completed, and those before it stay", async () => {
    const { ask } = await asking("owner");
    const choices = await ask.autocomplete("permission simulate", { focused: "allow", value: "cases.read, cases.no" });
    expect(valuesOf(choices)).toEqual(["cases.read, cases.note"]);
  });

  test("a list about several people is refused rather than shown for the first of them", async () => {
    const { person, ask } = await asking();
    const [one, two] = [world.member(), world.member()];
    for (const { id } of [one, two]) await opened(person, { title: `About ${id}`, subjects: [{ kind: "user", id }] });
    const reply = await (await ask.runSlashCommand("case list", { subject: `${one.id} ${two.id}` })).reply();
    expect(reply.content).toContain("validation_failed");
    expect(whole(await (await ask.runSlashCommand("case list", { subject: `<@${two.id}>` })).reply())).toContain(`About <@${two.id}>`);
  });

  test("a record with more evidence than its gallery holds leads to all of it", async () => {
    const { person, ask } = await asking();
    const { number } = await listed(person);
    for (let index = 0; index < 12; index += 1)
      await made(person, `/blacklist/${number as string}/evidence`, { kind: "text", note: `Piece ${index.toString()}.` });
    const run = await ask.runSlashCommand("blacklist show", { record: number });
    expect(JSON.stringify((await run.reply()).components)).toContain("Evidence");
    const list = await (await run.clickButton("Evidence")).reply();
    expect(JSON.stringify(list.components)).toContain(":json");
  });

  test("a name on a button does not turn its text around", () => {
    const button = { type: 2, style: 2, label: "Dismiss · \u202egnitset", custom_id: "do:x" } as const;
    expect(JSON.stringify(messageOf({ content: "x", components: [{ type: 1, components: [button] }] }).components)).not.toContain("\u202e");
  });

  test("what is offered while typing is plain text, and found as it is typed", () => {
    const { choice, keeps } = commandTable().sources["held-change"] ?? {};
    const view = { id: freshId(), code: "K7QM2X", summary: "Let Ann have cases.read_all (BL-000001)" } as never;
    const t = translator("en-GB");
    expect(choice?.(view, "", t).name).toBe("K7QM2X · Let Ann have cases.read_all (BL-000001)");
    expect(keeps?.(view, "cases.read_all", t)).toBe(true);
  });

  test("a reason or a title makes no line of its own in a list", async () => {
    const { person, ask } = await asking();
    const record = await listed(person);
    await world.delete(`/blacklist/${record.number as string}`, { reason: "ok\n999 · audit · nothing to see here" }, { actor: person });
    const found = await (await ask.runSlashCommand("audit search", { record: record.id, action: "blacklist.revoke" })).reply();
    expect(found.embeds[0]?.description?.split("\n")).toHaveLength(1);
    await opened(person, { title: "Raid\nCASE-000999 · closed", labels: ["forged"] });
    const list = await (await ask.runSlashCommand("case list", { label: "forged" })).reply();
    expect(list.embeds[0]?.description?.split("\n")).toHaveLength(1);
  });

  test("no cell of a list's file is taken for a formula, in full width either", async () => {
    const { person, ask } = await asking();
    for (let index = 0; index < 4; index += 1) await opened(person, { title: `＝1+1 ${index.toString()}`, labels: ["wide"] });
    const run = await ask.runSlashCommand("case list", { label: "wide" });
    await run.reply();
    const file = await (await run.clickButton("CSV")).reply();
    expect(file.attachments[0]?.bytes.toString()).not.toMatch(/(^|,)"?[=＝＋－＠]/m);
  });

  test("a search that has found nothing yet can go on", async () => {
    const asked: unknown[] = [];
    const searching = await createWorld({
      aroundVerbs: (verbs) => ({
        ...verbs,
        run(operation, call, input) {
          if (operation !== "listAudit") return verbs.run(operation, call, input);
          asked.push(input.query?.["cursor"]);
          // As the verb answers once it has looked at twenty thousand entries.
          return Promise.resolve({ data: [], limit: 10, next_cursor: "further", notes: { examined: 20_000, examined_to: 4711 } });
        },
      }),
    });
    const person = await staffAtConsole(searching, "admin");
    const run = await searching.sandbox.as(person).in(searching.guild).runSlashCommand("audit search", { words: "stolen" });
    const reply = await run.reply();
    expect(reply.content).toContain("4711");
    expect(reply.content).not.toContain("Nothing");
    await run.clickButton("▶");
    await searching.sandbox.waitFor(() => asked.length === 2);
    expect(asked).toEqual([undefined, "further"]);
  });

  test("a question before harm names what it is about, and a yes is about that alone", async () => {
    const { person, ask } = await asking("owner");
    const { number } = await opened(person, { title: "Stolen accounts" });
    const piece = await made(person, `/cases/${number as string}/evidence`, { kind: "text", title: "Home address", note: "Number 5." });
    const redact = await ask.runSlashCommand("case redact", { case: number, piece: piece.id, reason: "Shows a home." });
    const sent = redact.interaction.modal === null ? redact : await redact.submitModal({ reason: "Shows a home." });
    expect((await sent.reply()).content).toContain("Home address");
    const erase = await ask.runSlashCommand("case delete", { case: number, reason: "Opened twice." });
    const asked = erase.interaction.modal === null ? erase : await erase.submitModal({ reason: "Opened twice." });
    expect((await asked.reply()).content).toContain("Stolen accounts");
    await world.patch(`/cases/${number as string}`, { title: "Threats against a minor", priority: "critical" }, { actor: person });
    const pressed = await asked.clickButton("Yes, do it");
    await world.sandbox.waitFor(() => pressed.followups().length > 0 || asked.current()?.components.length !== 1);
    expect((await world.get(`/cases/${number as string}`, { actor: person })).body.data).toMatchObject({ deleted_at: null });
  });

  test("a file of evidence comes under its own name", async () => {
    const { person, ask } = await asking();
    const { number } = await listed(person);
    const { body } = await upload(world, `/blacklist/${number as string}/evidence`, { actor: person, bytes: png, name: "beweis; für.png" });
    const file = await (await ask.runSlashCommand("blacklist file", { record: number, piece: body.data.id })).reply();
    expect(file.attachments[0]?.name).toBe("beweis; für.png");
  });

  test("a note that is changed is shown as it reads, to be changed and not typed anew", async () => {
    const { person, ask } = await asking();
    const { number } = await opened(person);
    const note = await made(person, `/cases/${number as string}/notes`, { body: "Spoke with Ann about it." });
    const run = await ask.runSlashCommand("case note-edit", { case: number, note: note.id });
    await run.acked;
    expect(run.interaction.modal ?? undefined).toBeUndefined();
    await run.reply();
    expect(JSON.stringify(await (await run.clickButton("Change it")).modal())).toContain("Spoke with Ann about it.");
  });
});
