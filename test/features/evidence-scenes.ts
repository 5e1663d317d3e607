import { hash, randomBytes } from "node:crypto";
import { readdir, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { beforeAll, describe, expect, test } from "vitest";
import { systemCall } from "../../src/kernel/call.ts";
import { uuid7 } from "../../src/kernel/ids.ts";
import type { User } from "../../sandbox/index.ts";
import { everyRow, shareWorld } from "../contract/world.ts";
import type { Level, World } from "../support/world.ts";
import { download, fileRequest, listSomebody, upload } from "./evidence-ground.ts";

/** A store as the tests look behind it. */
export interface KeptFiles {
  env: Record<string, string>;
  isThere(world: World, sha256: string): Promise<boolean>;
  /** Change what is stored, as nobody may. */
  overwrite(world: World, sha256: string, bytes: Buffer): Promise<void>;
}

/** What is so wherever the files are. */
export function evidenceScenes(kept: KeptFiles): void {
  const time = { offset: 0 };
  const shared = shareWorld({
    clock: { now: () => new Date(Date.now() + time.offset) },
    env: { EVIDENCE_MAX_BYTES: "2000000", ...kept.env },
  });
  const people = new Map<Level, User>();
  const staff = (level: Level): User => {
    const person = people.get(level);
    if (person === undefined) throw new Error("the people are made before the tests");
    return person;
  };

  beforeAll(async () => {
    for (const level of ["owner", "admin", "senior", "moderator", "viewer"] as const) people.set(level, await shared.world.staff(level));
  });

  const isThere = (sha256: string): Promise<boolean> => kept.isThere(shared.world, sha256);
  /** One pixel, and a tail of its own. */
  const pixel = "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg==";
  const png = Buffer.concat([Buffer.from(pixel, "base64"), randomBytes(2000)]);

  describe("a file", () => {
    test("is kept under the hash of its bytes, comes back as it was, and is told of without its content", async () => {
      const { world } = shared;
      const path = await fileRequest(world, staff("moderator"));
      const answer = await upload(world, `${path}/evidence`, {
        actor: staff("moderator"),
        bytes: png,
        name: "../../etc/été\u202egnp.exe",
        fields: { title: "The raid", note: "Taken at eight." },
      });
      expect(answer.status).toBe(201);
      const sha256 = hash("sha256", png);
      const { id } = answer.body.data;
      expect(answer.body.data).toMatchObject({
        kind: "file",
        record: { kind: "request", reference: path.split("/").at(-1) },
        title: "The raid",
        note: "Taken at eight.",
        file: { position: 0, name: "étégnp.exe", mime: "image/png", bytes: png.length, sha256, status: "stored" },
        message: null,
        sha256,
        captured_by: staff("moderator").id,
        verified: false,
        visibility: "staff",
        redacted_at: null,
      });
      expect(await isThere(sha256)).toBe(true);
      expect(await readdir(world.app.evidence.arriving)).toEqual([]);

      const back = await download(world, id, 0, staff("moderator"));
      expect(back.status).toBe(200);
      expect(back.bytes.equals(png)).toBe(true);
      expect(Object.fromEntries(back.headers)).toMatchObject({
        "content-type": "application/octet-stream",
        "content-disposition": `attachment; filename="_t_gnp.exe"; filename*=UTF-8''%C3%A9t%C3%A9gnp.exe`,
        "content-length": png.length.toString(),
        "x-content-type-options": "nosniff",
        "content-security-policy": "default-src 'none'; sandbox",
        "cache-control": "private, no-store",
        etag: `"${sha256}"`,
      });
      const known = (tag: string) => world.get(`/evidence/${id}/files/0`, { actor: staff("moderator"), headers: { "if-none-match": tag } });
      expect(await known(`"${sha256}"`)).toMatchObject({ status: 304, body: "" });
      expect((await known(`"${sha256.replace(/^./, "x")}"`)).status).toBe(200);
      expect((await world.get(`/evidence/${id}/files/%20`, { actor: staff("moderator") })).status).toBe(422);
      const { body } = await world.get(`/audit?target=${path.split("/").at(-1) ?? ""}&action=evidence.add`, { actor: staff("owner") });
      expect(body.data).toHaveLength(1);
      expect(JSON.stringify(body.data)).toContain(id);
      expect(JSON.stringify(body.data)).not.toMatch(/The raid|Taken at eight|exe/);
    });

    test.each([
      ["a page that calls itself a picture", Buffer.from("<!doctype html><script>alert(1)</script>"), "cute.png", "text/plain"],
      ["a picture that calls itself a text", png, "notes.txt", "image/png"],
      ["bytes of no kind", Buffer.from([1, 2, 0, 255, 254, 3]), "a.png", "application/octet-stream"],
      ["text that is not UTF-8", Buffer.from([0x67, 0x72, 0xfc, 0x6e]), "a.txt", "application/octet-stream"],
      ["text with a NUL in it", Buffer.from("plain\0words"), "a.txt", "application/octet-stream"],
      ["nothing at all", Buffer.alloc(0), "a.png", "text/plain"],
    ])("is what its bytes are: %s", async (_name, bytes, name, mime) => {
      const { world } = shared;
      const path = await listSomebody(world, staff("admin"));
      const { status, body } = await upload(world, `${path}/evidence`, { actor: staff("admin"), bytes, name });
      expect([status, body.data.file.mime, body.data.file.name]).toEqual([201, mime, name]);
      expect((await download(world, body.data.id, 0, staff("admin"))).headers.get("content-type")).toBe("application/octet-stream");
    });

    test("that is sent twice is stored once; redacting one piece keeps the other record's copy", async () => {
      const { world } = shared;
      const admin = staff("admin");
      const bytes = randomBytes(5000);
      const sha256 = hash("sha256", bytes);
      const [first, second] = [await listSomebody(world, admin), await listSomebody(world, admin)];
      const one = (
        await upload(world, `${first}/evidence`, { actor: admin, bytes, name: "secret-name.bin", fields: { note: "secret note" } })
      ).body.data;
      const two = (await upload(world, `${second}/evidence`, { actor: admin, bytes })).body.data;
      const redacted = await world.post(`/evidence/${one.id}/redact`, { reason: "Shows a home." }, { actor: admin });
      expect(redacted.status).toBe(200);
      expect(redacted.body.data).toMatchObject({
        title: null,
        note: null,
        sha256: null,
        file: { name: null, mime: "application/octet-stream", bytes: 5000, sha256: null, status: "redacted" },
        redacted_by: admin.id,
        redact_reason: "Shows a home.",
        revision: 2,
      });
      await world.app.evidence.drained();
      expect((await download(world, one.id, 0, admin)).status).toBe(404);
      expect((await download(world, two.id, 0, admin)).bytes.equals(bytes)).toBe(true);
      expect(JSON.stringify(await everyRow(world))).not.toMatch(/secret-name|secret note/);

      expect((await world.post(`/evidence/${two.id}/redact`, { reason: "Shows a home." }, { actor: admin })).status).toBe(200);
      await world.app.evidence.drained();
      expect(await isThere(sha256)).toBe(false);
      const again = await world.post(`/evidence/${two.id}/redact`, { reason: "Once more." }, { actor: admin });
      expect([again.status, again.body.code]).toEqual([409, "invalid_transition"]);
    });

    test("of an address that is not the record's own kind, or none, is not kept", async () => {
      const { world } = shared;
      const path = await fileRequest(world, staff("moderator"));
      const bytes = randomBytes(3000);
      for (const wrong of [path.replace("/poach/", "/alt-request/"), "/workflows/poach/none", "/blacklist/BL-999999"]) {
        const answer = await upload(world, `${wrong}/evidence`, { actor: staff("owner"), bytes });
        expect([wrong, answer.status, answer.body.code]).toEqual([wrong, 404, "record_not_found"]);
      }
      expect(await isThere(hash("sha256", bytes))).toBe(false);
      expect(await readdir(world.app.evidence.arriving)).toEqual([]);
    });

    test("that no piece refers to is deleted after an hour, and nothing else is", async () => {
      const { world } = shared;
      const admin = staff("admin");
      const [kept, lost] = [randomBytes(100), randomBytes(100)];
      const path = await listSomebody(world, admin);
      await upload(world, `${path}/evidence`, { actor: admin, bytes: kept });
      const orphan = hash("sha256", lost);
      await upload(world, `${path}/evidence`, { actor: admin, bytes: lost });
      await world.app.database.write(systemCall("cli", uuid7()), async ({ db }) => {
        await db.evidenceItem.deleteMany({ where: { files: { some: { sha256: orphan } } } });
      });
      await writeFile(join(world.app.evidence.arriving, "upload-left"), "x");
      time.offset += 50 * 60_000;
      await world.app.evidence.sweep();
      expect([await isThere(orphan), await isThere(hash("sha256", kept))]).toEqual([true, true]);
      time.offset += 20 * 60_000;
      await world.app.evidence.sweep();
      expect([await isThere(orphan), await isThere(hash("sha256", kept))]).toEqual([false, true]);
      expect(await readdir(world.app.evidence.arriving)).toEqual([]);
    });

    test("whose stored bytes were changed never arrives as a whole one", async () => {
      const { world } = shared;
      const admin = staff("admin");
      const path = await listSomebody(world, admin);
      const bytes = randomBytes(200_000);
      const { id } = (await upload(world, `${path}/evidence`, { actor: admin, bytes })).body.data;
      const changed = Buffer.from(bytes);
      changed[100] = (changed[100] ?? 0) ^ 1;
      await kept.overwrite(world, hash("sha256", bytes), changed);
      await expect(download(world, id, 0, admin)).rejects.toThrow();
      await kept.overwrite(world, hash("sha256", bytes), changed.subarray(1));
      expect((await download(world, id, 0, admin)).status).toBe(500);
    });

    test("that is sent again with the same key is kept once, whatever is put between its parts", async () => {
      const { world } = shared;
      const admin = staff("admin");
      const path = await listSomebody(world, admin);
      const headers = { "idempotency-key": `evidence-${uuid7()}` };
      const bytes = randomBytes(1000);
      const one = await upload(world, `${path}/evidence`, { actor: admin, bytes, headers });
      const two = await upload(world, `${path}/evidence`, { actor: admin, bytes, headers });
      expect([one.status, two.status, two.headers.get("idempotency-replayed")]).toEqual([201, 201, "true"]);
      expect(two.body).toEqual(one.body);
      const other = await upload(world, `${path}/evidence`, { actor: admin, bytes: randomBytes(1000), headers });
      expect([other.status, other.body.code]).toEqual([422, "idempotency_key_reused"]);
      expect((await world.get(`${path}/evidence?count=true`, { actor: admin })).body.page.total).toBe(1);

      expect((await world.post(`/evidence/${one.body.data.id as string}/redact`, { reason: "A mistake." }, { actor: admin })).status).toBe(
        200,
      );
      const stored = JSON.stringify(await shared.world.app.database.read.idempotencyRecord.findMany());
      expect(stored).not.toContain(one.body.data.id);
    });

    test("larger than allowed is refused, and so is one that is missing", async () => {
      const { world } = shared;
      const path = await listSomebody(world, staff("admin"));
      const large = await upload(world, `${path}/evidence`, { actor: staff("admin"), bytes: randomBytes(2_000_001) });
      expect([large.status, large.body.code]).toEqual([413, "body_too_large"]);
      const none = await world.post(`${path}/evidence`, { kind: "file", title: "none" }, { actor: staff("admin") });
      expect([none.status, none.body.errors[0].pointer]).toEqual([422, "/file"]);
      expect((await world.get(`${path}/evidence`, { actor: staff("admin") })).body.data).toEqual([]);
    });
  });

  describe("words", () => {
    test.each([
      [{ kind: "text", note: "Three people saw it." }, "Three people saw it."],
      [{ kind: "link", url: "https://example.org/a?b=c" }, "https://example.org/a?b=c"],
      [{ kind: "record", record_ref: "CASE-000001" }, "CASE-000001"],
    ])("%j are kept with the hash of their content", async (input, content) => {
      const { world } = shared;
      const path = await listSomebody(world, staff("admin"));
      const { status, body } = await world.post(`${path}/evidence`, { title: "Seen", ...input }, { actor: staff("admin") });
      expect([status, body.data.sha256]).toEqual([201, hash("sha256", content)]);
      expect(body.data).toMatchObject({ title: "Seen", ...input, verified: false });
      expect((await world.get(`/evidence/${body.data.id as string}`, { actor: staff("moderator") })).body.data).toEqual(body.data);
    });

    test.each([
      [{ kind: "text" }, "/note"],
      [{ kind: "link", url: "ftp://example.org" }, "/url"],
      [{ kind: "link", url: "javascript:alert(1)" }, "/url"],
      [{ kind: "text", note: "x", verified: true }, "/verified"],
      [{ kind: "text", note: "x", message: { channel_id: "80351110224678912", message_id: "80351110224678912" } }, "/message"],
      [{ kind: "message" }, "/message"],
      [
        { kind: "message", message_url: "https://discord.com.evil.example/channels/80351110224678912/80351110224678912/80351110224678912" },
        "/message_url",
      ],
      [{ kind: "rumour", note: "x" }, "/kind"],
    ])("%j is refused at %s, and nothing is written", async (input, pointer) => {
      const { world } = shared;
      const path = await listSomebody(world, staff("admin"));
      const { status, body } = await world.post(`${path}/evidence`, input, { actor: staff("admin") });
      expect([status, body.errors.map((error: { pointer: string }) => error.pointer)]).toEqual([422, [pointer]]);
      expect((await world.get(`${path}/evidence`, { actor: staff("admin") })).body.data).toEqual([]);
    });

    test("stop at a hundred pieces for one record", async () => {
      const { world } = shared;
      const path = await listSomebody(world, staff("admin"));
      const { id } = (await world.get(path, { actor: staff("admin") })).body.data;
      await world.app.database.write(systemCall("cli", uuid7()), async ({ db, now }) => {
        await db.evidenceItem.createMany({
          data: Array.from({ length: 100 }, () => ({
            recordKind: "blacklist",
            recordId: id as string,
            kind: "text",
            note: "one of many",
            isVerified: false,
            isConfidential: false,
            capturedAt: now,
          })),
        });
      });
      const { status, body } = await world.post(`${path}/evidence`, { kind: "text", note: "one too many" }, { actor: staff("admin") });
      expect([status, body.code]).toEqual([409, "invalid_transition"]);
    });
  });

  describe("who", () => {
    test("may not read confidential pieces does not learn of them", async () => {
      const { world } = shared;
      const path = await listSomebody(world, staff("admin"));
      const open = (await world.post(`${path}/evidence`, { kind: "text", note: "for all" }, { actor: staff("admin") })).body.data;
      const closed = (await upload(world, `${path}/evidence`, { actor: staff("senior"), bytes: png, fields: { confidential: "true" } }))
        .body.data;
      expect([open.visibility, closed.visibility]).toEqual(["staff", "confidential"]);

      const list = async (level: Level) => {
        const { body } = await world.get(`${path}/evidence?count=true`, { actor: staff(level) });
        return { ids: body.data.map((piece: { id: string }) => piece.id), total: body.page.total };
      };
      expect(await list("senior")).toEqual({ ids: [closed.id, open.id], total: 2 });
      expect(await list("moderator")).toEqual({ ids: [open.id], total: 1 });
      const hidden = await world.get(`/evidence/${closed.id as string}`, { actor: staff("moderator") });
      const nowhere = await world.get(`/evidence/${uuid7()}`, { actor: staff("moderator") });
      const { request_id: _a, instance: _b, ...unlike } = hidden.body;
      const { request_id: _c, instance: _d, ...like } = nowhere.body;
      expect([hidden.status, unlike]).toEqual([nowhere.status, like]);
      expect((await download(world, closed.id, 0, staff("moderator"))).status).toBe(404);
      expect((await download(world, closed.id, 0, staff("senior"))).status).toBe(200);
      const unread = { actor: staff("senior"), key: await world.makeKey(["evidence.*", "blacklist.read", "blacklist.update"]) };
      const marked = await world.post(`${path}/evidence`, { kind: "text", note: "x", confidential: true }, unread);
      expect([marked.status, marked.body.required]).toEqual([403, "blacklist.read_confidential"]);
    });

    test("may not read the record does not learn of its evidence", async () => {
      const { world } = shared;
      const path = await listSomebody(world, staff("admin"));
      const { id } = (await world.post(`${path}/evidence`, { kind: "text", note: "x" }, { actor: staff("admin") })).body.data;
      const key = await world.makeKey(["evidence.*"]);
      expect((await world.get(`/evidence/${id as string}`, { actor: staff("admin"), key })).status).toBe(404);
      expect((await world.get(`${path}/evidence`, { actor: staff("admin"), key })).status).toBe(403);
      expect((await world.post(`/evidence/${id as string}/redact`, { reason: "Not mine." }, { actor: staff("admin"), key })).status).toBe(
        404,
      );
      expect((await world.get(`/evidence/${id as string}`, { actor: staff("viewer") })).status).toBe(403);
      expect((await world.post(`/evidence/${id as string}/redact`, { reason: "Not mine." }, { actor: staff("senior") })).status).toBe(403);
      expect((await world.get(`/evidence/${id as string}`, { actor: staff("admin") })).body.data.redacted_at).toBeNull();
    });

    test("is the one it speaks against does not redact it", async () => {
      const { world } = shared;
      const [owner, admin] = [staff("owner"), staff("admin")];
      const about = { title: "A quarrel", subjects: [{ kind: "user", id: admin.id }] };
      const { id: caseId } = (await world.post("/cases", about, { actor: owner })).body.data;
      const { id } = (await world.post(`/cases/${caseId as string}/evidence`, { kind: "text", note: "What was said." }, { actor: owner }))
        .body.data;
      const refused = await world.post(`/evidence/${id as string}/redact`, { reason: "It was not me." }, { actor: admin });
      expect([refused.status, refused.body.code]).toEqual([403, "conflict_of_interest"]);
      expect((await world.get(`/evidence/${id as string}`, { actor: owner })).body.data).toMatchObject({
        redacted_at: null,
        note: "What was said.",
      });
      expect((await world.post(`/evidence/${id as string}/redact`, { reason: "A mistake." }, { actor: owner })).status).toBe(200);
    });

    test("reviews, or filed it, adds to a request while it is open", async () => {
      const { world } = shared;
      const requester = await world.staff("moderator");
      const path = await fileRequest(world, requester);
      const piece = { kind: "text", note: "what I saw" };
      expect((await world.post(`${path}/evidence`, piece, { actor: requester })).status).toBe(201);
      expect((await world.post(`${path}/evidence`, piece, { actor: staff("senior") })).status).toBe(201);
      const word = { decision: "deny", reason: "Not clear enough." };
      expect((await world.post(`${path}/decision`, word, { actor: staff("owner") })).status).toBe(200);
      const late = await world.post(`${path}/evidence`, piece, { actor: requester });
      expect([late.status, late.body.code]).toEqual([409, "invalid_transition"]);
      expect((await world.get(`${path}/evidence`, { actor: requester })).body.data).toHaveLength(2);
    });
  });

  test("the evidence of a record that is deleted for good goes with it, and its files when nothing else refers to them", async () => {
    const { world } = shared;
    const admin = staff("admin");
    const bytes = randomBytes(700);
    const path = await listSomebody(world, admin);
    const { id: recordId } = (await world.get(path, { actor: admin })).body.data;
    const { id } = (await upload(world, `${path}/evidence`, { actor: admin, bytes })).body.data;
    const dropped = await world.app.database.write(systemCall("cli", uuid7()), (tx) =>
      world.app.evidence.dropOf(tx, "blacklist", recordId),
    );
    await world.app.evidence.drained();
    expect(dropped).toBe(1);
    expect((await world.get(`/evidence/${id as string}`, { actor: admin })).status).toBe(404);
    expect(await world.app.database.read.evidenceFile.count({ where: { evidenceId: id } })).toBe(0);
    expect(await isThere(hash("sha256", bytes))).toBe(false);
  });

  test("pages of evidence show every piece once", async () => {
    const { world } = shared;
    const admin = staff("admin");
    const path = await listSomebody(world, admin);
    const ids: string[] = [];
    for (let count = 0; count < 5; count += 1)
      ids.push((await world.post(`${path}/evidence`, { kind: "text", note: count.toString() }, { actor: admin })).body.data.id);
    const seen: string[] = [];
    for (let next: string | null = `${path}/evidence?limit=2`; next !== null;) {
      const { body }: { body: any } = await world.get(next, { actor: admin });
      seen.push(...body.data.map((piece: { id: string }) => piece.id));
      next = body.page.next_cursor === null ? null : `${path}/evidence?limit=2&cursor=${encodeURIComponent(body.page.next_cursor)}`;
    }
    expect(seen).toEqual(ids.toReversed());
  });

  test("what is neither id nor number of a record is told to be none, as at the record itself", async () => {
    const { world } = shared;
    for (const [path, misnamed] of [
      ["/cases", "BL-000001"],
      ["/blacklist", "CASE-000001"],
      ["/cases", "case-1"],
    ] as const) {
      const answers = [await world.get(`${path}/${misnamed}`), await world.get(`${path}/${misnamed}/evidence`)];
      for (const { status, body } of answers) expect([status, body.errors[0]]).toMatchObject([422, { pointer: "/id", in: "path" }]);
    }
  });
}
