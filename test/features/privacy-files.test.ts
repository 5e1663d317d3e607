import { expect, inject, test } from "vitest";
import { sqliteFile } from "../../src/database/dialect.ts";
import { readElsewhere } from "../support/elsewhere.ts";
import { createWorld, type World } from "../support/world.ts";
import { cli, plant, words } from "./privacy-ground.ts";

/** Which of these texts stand in the bytes of the database or of its log. */
async function foundIn({ databaseUrl }: World, texts: readonly string[]): Promise<string[]> {
  const file = sqliteFile(databaseUrl);
  const bytes = await Promise.all([file, `${file}-wal`].map((path) => readElsewhere(path).catch(() => Buffer.alloc(0))));
  return texts.filter((text) => bytes.some((one) => one.includes(text)));
}

test.runIf(inject("dialect") === "sqlite")("after a redaction nothing of the person is left in the bytes of the database", async () => {
  const world = await createWorld();
  const { person } = await plant(world);
  const texts = [words.name, words.staffNote, words.permission];
  expect(await foundIn(world, texts)).toEqual(texts);
  await world.app.privacy.redact(cli(), person.id, { reason: "Asked for by the person by mail." });
  expect(await foundIn(world, texts)).toEqual([]);
});

test.runIf(inject("dialect") === "sqlite")("after a purge nothing of the record is left in the bytes of the database", async () => {
  const world = await createWorld();
  const owner = await world.staff("owner");
  const texts = ["Quillfeather-reason", "Quillfeather-note"];
  const about = { kind: "user", subject_id: world.member().id, reason_public: texts[0], reason_internal: texts[1] };
  const { body } = await world.post("/blacklist", about, { actor: owner });
  await world.delete(`/blacklist/${String(body.data.id)}`, { reason: "It was a mistake." }, { actor: owner });
  expect(await foundIn(world, texts)).toEqual(texts);
  expect(
    (await world.post(`/blacklist/${String(body.data.id)}/purge`, { reason: "Nothing of it was true." }, { actor: owner })).status,
  ).toBe(200);
  expect(await foundIn(world, texts)).toEqual([]);
});
