// @module-tag both
import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { createWordsCatchUp } from "../../src/features/blacklist/upkeep.ts";
import { systemCall } from "../../src/kernel/call.ts";
import { uuid7 } from "../../src/kernel/ids.ts";
import { searchedWords, wordsOf } from "../../src/kernel/words.ts";
import { createGround, freshId, type Ground } from "./workflows-ground.ts";
import { runsOf } from "../support/size.ts";

const job = () => systemCall("job", uuid7());

/** Numbers of the records that a search finds. */
async function found(ground: Ground, actor: string, q: string): Promise<number[]> {
  const answer = await ground.get(`/blacklist?q=${encodeURIComponent(q)}`, { actor });
  expect(answer.status).toBe(200);
  return answer.body.data.map((record: any) => Number(record.number.slice(3)));
}

async function list(ground: Ground, actor: string, more: object) {
  const answer = await ground.post("/blacklist", { kind: "user", subject_id: freshId(), ...more }, { actor });
  expect(answer.status).toBe(201);
  return answer.body.data;
}

describe("a search", () => {
  test("finds words of the reasons, the name, the tags and the notes of evidence by their beginnings, whatever their case or accents", async () => {
    const ground = await createGround();
    const actor = ground.staff("owner");
    await list(ground, actor, { reason_public: "Ran a RAID on the café", tags: ["night-shift"] });
    await list(ground, actor, { subject_name: "Raiding Party", evidence: [{ title: "Screenshot", note: "seen at midnight" }] });
    const cases: [string, number[]][] = [
      ["raid", [2, 1]],
      ["RAIDING", [2]],
      ["cafe", [1]],
      ["CAFÉ raid", [1]],
      ["shift", [1]],
      ["screen mid", [2]],
      ["aid", []],
      ["raid party café", []],
      ["!?", []],
      ["bl-000002", [2]],
      ["100%", []],
    ];
    for (const [q, numbers] of cases) expect([q, await found(ground, actor, q)]).toEqual([q, numbers]);
  });

  test("finds a record by the id of its subject and by its number, and by both where a reason names another one", async () => {
    const ground = await createGround();
    const actor = ground.staff("owner");
    const first = await list(ground, actor, {});
    await list(ground, actor, { reason_public: `Came with ${first.subject_id}, see BL-000001` });
    expect(await found(ground, actor, first.subject_id)).toEqual([2, 1]);
    expect(await found(ground, actor, "BL-000001")).toEqual([2, 1]);
    expect(await found(ground, actor, first.subject_id.slice(0, 12))).toEqual([2]);
  });

  test("follows the texts as they change, and finds what was said when a record was taken back", async () => {
    const ground = await createGround();
    const actor = ground.staff("owner");
    const made = await list(ground, actor, { reason_public: "phishing" });
    await ground.patch(`/blacklist/${made.id}`, { reason_public: "harmless" }, { actor });
    expect([await found(ground, actor, "phishing"), await found(ground, actor, "harmless")]).toEqual([[], [1]]);
    await ground.delete(`/blacklist/${made.id}`, { reason: "confused identity" }, { actor });
    expect(await found(ground, actor, "confused")).toEqual([1]);
  });

  test("finds hidden words only for those who may read them, and a word that is open and hidden for all", async () => {
    const ground = await createGround();
    const [owner, moderator] = [ground.staff("owner"), ground.staff("moderator")];
    await list(ground, owner, { reason_public: "raids", reason_internal: "informant raids quietly" });
    for (const q of ["informant", "raids informant", "quiet"])
      expect([await found(ground, owner, q), await found(ground, moderator, q)]).toEqual([[1], []]);
    expect(await found(ground, moderator, "raids")).toEqual([1]);
    const counted = await ground.get("/blacklist?q=informant&count=true", { actor: moderator });
    expect(counted.body.page.total).toBe(0);
  });

  test("finds exactly what a reader with a pencil finds", async () => {
    const ground = await createGround();
    const actor = ground.staff("owner");
    const words = ["raid", "raider", "rage", "scam", "scammer", "Ärger", "arg", "东京塔", "x1"];
    const texts = fc.sample(
      fc.array(fc.constantFrom(...words), { minLength: 1, maxLength: 5 }).map((some) => some.join(" ")),
      { numRuns: 25, seed: 3 },
    );
    for (const reason_public of texts) await list(ground, actor, { reason_public });
    const asked = fc
      .array(fc.constantFrom(...words, "ra", "s", "京", "ar", "zz"), { minLength: 1, maxLength: 3 })
      .map((some) => some.join("  "));
    await fc.assert(
      fc.asyncProperty(asked, async (q) => {
        const starts = searchedWords(q);
        const fits = (text: string): boolean => starts.every((start) => wordsOf(text).some((word) => word.startsWith(start)));
        const expected = texts.flatMap((text, index) => (fits(text) ? [index + 1] : [])).toReversed();
        fc.pre(q.length >= 2);
        expect(await found(ground, actor, q)).toEqual(expected);
      }),
      { numRuns: runsOf(40), seed: 4 },
    );
  });

  test("finds the last of very many records with a frequent word", async () => {
    const ground = await createGround();
    const actor = ground.staff("owner");
    const first = await list(ground, actor, { reason_public: "needle in hay" });
    const row = await ground.database.read.blacklistRecord.findUniqueOrThrow({ where: { id: first.id } });
    const copies = Array.from({ length: 1100 }, (_unused, index) => ({
      ...row,
      id: uuid7(),
      number: index + 2,
      activeKey: null,
      subjectId: freshId(),
    }));
    await ground.database.write(job(), async (tx) => {
      await tx.db.blacklistRecord.createMany({ data: copies as never });
      await tx.db.blacklistWord.createMany({ data: copies.map(({ id }) => ({ recordId: id, word: "hay", isHidden: false })) });
    });
    expect(await found(ground, actor, "needle hay")).toEqual([1]);
    expect(await found(ground, actor, "hay")).toHaveLength(50);
    expect((await ground.get("/blacklist?q=hay&limit=1&count=true", { actor })).body.page.total).toBe(1101);
  });
});

describe("records that were stored before there were words", () => {
  test("are given them once, in parts, also where a part was done before", async () => {
    const ground = await createGround();
    const actor = ground.staff("owner");
    for (const name of ["alpha", "beta", "gamma"]) await list(ground, actor, { reason_public: `${name} speaks` });
    await ground.database.write(job(), async (tx) => void (await tx.db.blacklistWord.deleteMany({})));
    expect(await found(ground, actor, "speaks")).toEqual([]);
    expect(await createWordsCatchUp({ database: ground.database }).catchUp(job())).toBe(3);
    expect(await found(ground, actor, "speaks")).toEqual([3, 2, 1]);
    expect(await found(ground, actor, "beta")).toEqual([2]);
    await ground.database.write(job(), async (tx) => void (await tx.db.blacklistWord.deleteMany({})));
    expect(await createWordsCatchUp({ database: ground.database }).catchUp(job())).toBe(0);
    expect(await ground.database.read.blacklistWord.count()).toBe(0);
  });

  test("are given them by the job of the service, anew when words are made in another way", async () => {
    const ground = await createGround();
    const actor = ground.staff("owner");
    await list(ground, actor, { reason_public: "alpha" });
    const key = "blacklist_words";
    await ground.database.write(job(), async (tx) => {
      await tx.db.blacklistWord.deleteMany({});
      await tx.db.setting.create({ data: { key, value: { version: 0, after: null } } });
    });
    await ground.blacklist.expireDue(job());
    expect(await found(ground, actor, "alpha")).toEqual([1]);
    expect((await ground.database.read.setting.findUniqueOrThrow({ where: { key } })).value).toEqual({ version: 1, after: null });
  });
});
