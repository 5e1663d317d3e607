// @module-tag both
// @module-tag slow
import { createHmac, hash } from "node:crypto";
import { describe, expect, test } from "vitest";
import { systemCall } from "../../src/kernel/call.ts";
import { uuid7 } from "../../src/kernel/ids.ts";
import { Prisma } from "../../src/generated/sqlite/client.ts";
import type { User } from "../../sandbox/index.ts";
import { canonicalJson } from "../../src/kernel/canonical-json.ts";
import { shareWorld, staffAtConsole } from "../contract/world.ts";
import type { World } from "../support/world.ts";
import { filing } from "../contract/document.ts";
import { contentIntents, listSomebody, upload } from "./evidence-ground.ts";

const shared = shareWorld();

/** What is planted: few enough such texts exist that a computer goes through all of them. */
const phone = "01512 4711";
const title = "Phone 4711";
const key = (): Record<string, string> => ({ "idempotency-key": `guess-${Math.random().toString(36).slice(2)}` });

/** Every column of every row as text, those that the models leave out too. */
async function dump({ app: { database } }: World): Promise<string> {
  const tables = await Promise.all(
    Object.keys(Prisma.ModelName).map(async (model) => {
      const name = (model.charAt(0).toLowerCase() + model.slice(1)) as "setting";
      return (await database.read[name].findMany()) as unknown[];
    }),
  );
  return JSON.stringify(tables, (_key, value: unknown) => (typeof value === "bigint" ? value.toString() : value));
}

/** Every hash that somebody could make who guesses right, in each form that a database holds hashes in. */
function* guesses(texts: readonly string[], dumped: string): Generator<string> {
  // Whatever is stored may have been the salt.
  const salts = new Set(dumped.match(/[\w-]{16,64}={0,2}/g));
  for (const text of texts) {
    const digest = hash("sha256", text);
    for (const form of ["hex", "base64", "base64url"] as const) yield hash("sha256", text, form);
    for (const salt of salts)
      for (const bytes of [Buffer.from(salt), Buffer.from(salt, "base64url"), Buffer.from(salt, "hex")])
        for (const said of [text, digest])
          for (const form of ["hex", "base64url"] as const) yield createHmac("sha256", bytes).update(said).digest(form);
  }
}

function found(texts: readonly string[], dumped: string): string[] {
  return [...new Set([...guesses(texts, dumped)].filter((guess) => dumped.includes(guess)))];
}

interface Planted {
  actor: User;
  path: string;
}

/** Each way of adding a text that can be guessed. @returns the piece, and all that could be hashed of it */
const plantings: Record<string, (world: World, planted: Planted) => Promise<{ piece: any; texts: string[] }>> = {
  async "a text"(world, { actor, path }) {
    const body = { kind: "text", title, note: phone };
    const { body: answer } = await world.post(`${path}/evidence`, body, { actor, headers: key() });
    return { piece: answer.data, texts: [phone, JSON.stringify(phone), JSON.stringify(body), canonical(body), `${title}\n${phone}`] };
  },
  async "an address"(world, { actor, path }) {
    const url = `https://example.org/${phone.replace(" ", "")}`;
    const body = { kind: "link", title, url };
    const { body: answer } = await world.post(`${path}/evidence`, body, { actor, headers: key() });
    return { piece: answer.data, texts: [url, JSON.stringify(url), JSON.stringify(body), canonical(body)] };
  },
  async "a reference"(world, { actor, path }) {
    const body = { kind: "record", title, record_ref: phone };
    const { body: answer } = await world.post(`${path}/evidence`, body, { actor, headers: key() });
    return { piece: answer.data, texts: [phone, JSON.stringify(body), canonical(body)] };
  },
  async "a file"(world, { actor, path }) {
    const { body: answer } = await upload(world, `${path}/evidence`, {
      actor,
      bytes: Buffer.from(phone),
      name: "phone.txt",
      fields: { title },
      headers: key(),
    });
    return { piece: answer.data, texts: [phone, JSON.stringify([[["title", title]], "phone.txt", hash("sha256", phone)])] };
  },
  async "a message with a file"(world, { actor, path }) {
    world.sandbox.setPrivilegedIntents(contentIntents);
    const witness = world.member();
    const attachments = [{ name: "phone.txt", bytes: Buffer.from(phone) }];
    const message = world.sandbox.as(witness).in(world.guild).post({ content: phone, attachments });
    const address = { channel_id: message.channelId, message_id: message.id };
    const { body: answer } = await world.post(`${path}/evidence`, { kind: "message", message: address }, { actor, headers: key() });
    const { attachments: files, ...said } = answer.data.message;
    const parts = files.map(({ name, bytes, sha256 }: Record<string, unknown>) => ({ name, bytes, sha256 }));
    const inOrder = ["guild_id", "channel_id", "message_id", "author_id", "content", "sent_at", "edited_at"];
    const whole = { ...Object.fromEntries(inOrder.map((name) => [name, said[name]])), attachments: parts };
    const hashed = JSON.stringify(whole) + canonicalJson(said.parts);
    return { piece: answer.data, texts: [phone, hashed, JSON.stringify(whole), canonical(whole)] };
  },
  async "a text that came by Discord"(world, { actor, path }) {
    const record = path.split("/").at(-1) ?? "";
    const run = await world.sandbox.as(actor).in(world.guild).runSlashCommand("blacklist evidence", { record });
    await (await run.submitModal({ title, note: phone })).reply();
    const { body } = await world.get(`${path}/evidence`, { actor });
    const input = { kind: "text", title, note: phone };
    return { piece: body.data[0], texts: [phone, JSON.stringify(input), canonical(input)] };
  },
};

function canonical(value: object): string {
  return JSON.stringify(Object.fromEntries(Object.entries(value).toSorted(([a], [b]) => (a < b ? -1 : 1))));
}

describe("what was redacted", () => {
  test.each(Object.keys(plantings))("cannot be guessed from the whole database: %s", async (name) => {
    const { world } = shared;
    const actor = await staffAtConsole(world, "admin");
    const path = await listSomebody(world, actor);
    const { piece, texts } = await (plantings[name] as (typeof plantings)[string])(world, { actor, path });

    const redacted = await world.post(`/evidence/${piece.id as string}/redact`, { reason: "Shows a number." }, { actor, headers: key() });
    await world.app.evidence.drained();
    const dumped = await dump(world);
    expect(dumped).not.toContain(phone);
    expect(found(texts, dumped)).toEqual([]);
    expect(dumped).not.toContain(piece.sha256);

    // While it is there, it can be proved to be what was captured.
    expect(piece.sha256).toMatch(/^[0-9a-f]{64}$/);
    expect(texts.map((text) => hash("sha256", text))).toContain(piece.sha256);
    expect(piece.commitment).toBe(createHmac("sha256", Buffer.from(piece.salt, "base64url")).update(piece.sha256).digest("base64url"));
    expect([redacted.status, redacted.body.data.sha256, redacted.body.data.salt]).toEqual([200, null, null]);
    expect(redacted.body.data.commitment).toBe(piece.commitment);
    expect(dumped).not.toContain(piece.salt);
  });

  test("keeps no file of its hash, while another piece with the same bytes keeps both", async () => {
    const { world } = shared;
    const actor = await world.staff("admin");
    const bytes = Buffer.from("two pieces of one kind");
    const [first, second] = [await listSomebody(world, actor), await listSomebody(world, actor)];
    const one = (await upload(world, `${first}/evidence`, { actor, bytes })).body.data;
    const two = (await upload(world, `${second}/evidence`, { actor, bytes })).body.data;
    expect(one.sha256).toBe(two.sha256);
    expect(one.commitment).not.toBe(two.commitment);
    const redacted = await world.post(`/evidence/${one.id as string}/redact`, { reason: "Shows a home." }, { actor });
    expect(redacted.body.data.file).toMatchObject({ name: null, sha256: null, status: "redacted", bytes: bytes.length });
    expect((await world.get(`/evidence/${two.id as string}`, { actor })).body.data).toEqual(two);
    const rows = await world.app.database.read.evidenceFile.findMany({ where: { sha256: two.sha256 as string } });
    expect(rows.map(({ evidenceId }) => evidenceId)).toEqual([two.id]);
  });

  test("is bound by its commitment: a content that somebody changes in the database does not fit it", async () => {
    const { world } = shared;
    const actor = await world.staff("owner");
    const path = await listSomebody(world, actor);
    const piece = (await world.post(`${path}/evidence`, { kind: "text", note: "As it was said." }, { actor })).body.data;
    const audited = await world.get(`/audit?action=evidence.add&target=${path.split("/").at(-1) ?? ""}`, { actor });
    expect(audited.body.data[0].after).toMatchObject({ evidence_id: piece.id, commitment: piece.commitment });
    expect(JSON.stringify(audited.body)).not.toContain(piece.sha256);
    await world.app.database.write(systemCall("cli", uuid7()), async ({ db }) => {
      await db.evidenceItem.update({ where: { id: piece.id as string }, data: { note: "As nobody said it." } });
    });
    const { sha256, salt, commitment } = (await world.get(`/evidence/${piece.id as string}`, { actor })).body.data;
    expect(sha256).toBe(hash("sha256", "As nobody said it."));
    expect(commitment).toBe(piece.commitment);
    expect(
      createHmac("sha256", Buffer.from(salt as string, "base64url"))
        .update(sha256 as string)
        .digest("base64url"),
    ).not.toBe(commitment);
  });
});

test("what an earlier version hashed is forgotten at the next start, and what is there gets its commitment", async () => {
  const { world } = shared;
  const owner = await world.staff("owner");
  const subject = world.member();
  const opened = await world.post(
    "/cases",
    { type: "general", title: "An old case", subjects: [{ kind: "user", id: subject.id }] },
    { actor: owner },
  );
  const path = `/cases/${opened.body.data.number as string}`;
  const add = async (note: string, confidential: boolean) =>
    (await world.post(`${path}/evidence`, { kind: "text", note, confidential }, { actor: owner })).body.data;
  const [open, closed] = [await add("It was heard by many.", false), await add(phone, true)];
  const old = hash("sha256", phone);
  await world.app.database.write(systemCall("cli", uuid7()), async (tx) => {
    const { db, now } = tx;
    await db.evidenceItem.updateMany({ where: { recordId: opened.body.data.id as string }, data: { salt: null, commitment: null } });
    await db.setting.create({ data: { key: "evidence_commitments", value: "due", updatedAt: now } });
    for (const action of ["evidence.add", "evidence.redact"])
      world.app.audit.record(tx, {
        action,
        target: { kind: "case", id: opened.body.data.id as string, reference: opened.body.data.number as string },
        after: { evidence_id: closed.id as string, kind: "text", sha256: old },
      });
  });
  expect(await dump(world)).toContain(old);
  await world.restart();
  const dumped = await dump(world);
  expect(dumped).not.toContain(old);
  const asked = await world.get(`/evidence/${open.id as string}`, { actor: owner });
  const { sha256, salt, commitment } = asked.body.data;
  expect(sha256).toBe(open.sha256);
  expect(commitment).toBe(
    createHmac("sha256", Buffer.from(salt as string, "base64url"))
      .update(sha256 as string)
      .digest("base64url"),
  );
  const { body: audit } = await world.get("/audit?action=evidence.commit", { actor: owner });
  expect(audit.data[0].after.pieces).toContainEqual({ evidence_id: open.id, kind: "text", commitment });
  expect((await world.get("/audit/verify", { actor: owner })).body.data).toMatchObject({ ok: true });

  // Entries that no longer say which piece they are about could be about a hidden one.
  const senior = await world.staff("senior");
  const { body: timeline } = await world.get(`${path}/timeline`, { actor: senior });
  expect(timeline.data.map(({ event }: { event: string }) => event)).toEqual(["opened"]);
  await world.restart();
  const { body: again } = await world.get("/audit?action=evidence.forget_hashes&count=true", { actor: owner });
  expect(again.page.total).toBe(2);
});

test("no body that came with an idempotency key is kept as a hash that can be guessed", async () => {
  const { world } = shared;
  const actor = await world.staff("owner");
  const bodies = [
    ["/blacklist", { kind: "user", subject_id: world.member().id, reason_internal: phone }],
    ["/workflows/poach", { ...filing("poach"), summary: phone }],
  ] as const;
  for (const [path, body] of bodies) {
    const sent = await world.post(path, body, { actor, headers: key() });
    expect(sent.status).toBe(201);
    const dumped = await dump(world);
    expect(found([JSON.stringify(body), canonical(body)], dumped)).toEqual([]);
    const [record] = await world.app.database.read.idempotencyRecord.findMany({ orderBy: { createdAt: "desc" }, take: 1 });
    expect(record?.fingerprint).toMatch(/^[\w-]{43}$/);
  }
});
