import { readFile } from "node:fs/promises";
import { expect, test } from "vitest";
import { kept, unshown, idColumn } from "../../src/features/privacy/registry/types.ts";
import { registry } from "../../src/features/privacy/registry/erase.ts";
import { everyRow } from "../contract/world.ts";
import { createWorld, type World } from "../support/world.ts";
import { asPerson, cli, plant, write } from "./privacy-ground.ts";
import { markOf, personalTexts, plantEverywhere } from "./privacy-registry.ground.ts";

const texts = personalTexts();
const markOfKey = (key: string): string => markOf(key.split(".")[0] ?? "", key.split(".")[1] ?? "");
const foundIn = (text: string): string[] => [...texts.keys()].filter((key) => text.includes(markOfKey(key)));
const stored = async (world: World): Promise<string[]> => foundIn(JSON.stringify(await everyRow(world)));

/** A person about whom every column that can hold text about a person has one. */
async function createMarked() {
  const world = await createWorld();
  const person = world.member();
  await write(world, async (tx) => {
    await plantEverywhere(tx, person.id);
    world.app.audit.record(tx, { action: "user.erase", user: person.id, reason: markOf("AuditPayload", "payload") });
  });
  expect(await stored(world)).toEqual([...texts.keys()]);
  return { world, person };
}

test("a redaction erases every text about a person but those that the registry keeps, and keeps those", async () => {
  const { world, person } = await createMarked();
  await world.app.privacy.redact(cli(), person.id, { reason: "Asked for by the person by mail." });
  const stays = [...texts].filter(([, { redaction }]) => typeof redaction === "object" && "stays" in redaction).map(([key]) => key);
  expect(await stored(world)).toEqual(stays);
  expect((await world.get("/audit/verify")).body.data.ok).toBe(true);
});

test("a redaction that is carried out again leaves what is younger than it", async () => {
  const { world, person } = await createMarked();
  await world.app.privacy.redact(cli(), person.id, { reason: "Asked for by the person by mail." });
  await write(world, async ({ db, now }) => {
    const clearance = { fromServerId: "1", toServerId: "2", status: "revoked", originReference: "PCH-REQ-000001" };
    await db.poachClearance.create({ data: { ...clearance, userId: person.id, createdAt: now, endReason: "younger-text" } });
    await db.erasure.deleteMany();
  });
  expect(await world.app.privacy.catchUp(cli())).toBeGreaterThan(0);
  expect(JSON.stringify(await everyRow(world))).toContain("younger-text");
});

test("a person's own export shows the texts that the registry shows, each in its part, and no other", async () => {
  const { world, person } = await createMarked();
  const view = await world.app.privacy.export(asPerson(person.id), person.id);
  const shown = [...texts].filter(([, { shown: part }]) => typeof part === "string");
  expect(foundIn(JSON.stringify(view))).toEqual(shown.map(([key]) => key));
  const parts = new Map(Object.entries(view).map(([part, value]) => [part, foundIn(JSON.stringify(value))]));
  expect(shown.filter(([key, { shown: part }]) => parts.get(String(part))?.includes(key) !== true)).toEqual([]);
});

test("the registry finds the rows about a person wherever it erases a text itself", () => {
  const own = [...texts].filter(([, { redaction }]) => redaction === "row" || (typeof redaction === "object" && !("stays" in redaction)));
  expect(own.length).toBeGreaterThan(10);
  expect(own.filter(([, { about }]) => typeof about !== "function").map(([key]) => key)).toEqual([]);
});

test("columns that hold ids, codes or hashes hold no sentence", async () => {
  const world = await createWorld();
  await plant(world);
  const plain = new Set(["id", "code", "hash"]);
  const wrong: string[] = [];
  for (const [model, rows] of Object.entries(await everyRow(world))) {
    const columns = registry[model as keyof typeof registry].columns as Readonly<Record<string, unknown>>;
    for (const row of rows)
      for (const [name, value] of Object.entries(JSON.parse(row) as object))
        if ((idColumn.test(name) || plain.has(String(columns[name]))) && /[a-z]{2} [a-z]{2}/i.test(JSON.stringify(value)))
          wrong.push(`${model}.${name}: ${JSON.stringify(value)}`);
  }
  expect(wrong).toEqual([]);
});

test("docs/privacy.md says what stays and what the download leaves out as the registry does", async () => {
  const page = (await readFile("docs/privacy.md", "utf8")).replaceAll(/ +/g, " ");
  const [, table = ""] = /What stays after a redaction[\s\S]*?\n\n\| What stays \| Why \|\n[^\n]*\n([\s\S]*?)\n\n/.exec(page) ?? [];
  const rows = table.split("\n").map((line) => line.split("|").map((cell) => cell.trim()));
  const told = rows.map(([, what, why]) => ({ what, why }));
  expect(told.slice(0, Object.keys(kept).length)).toEqual(Object.values(kept));
  const groups = [...texts.values()].flatMap(({ redaction }) =>
    typeof redaction === "object" && "stays" in redaction ? [redaction.stays] : [],
  );
  expect(new Set([...groups, "redaction"])).toEqual(new Set(Object.keys(kept)));
  for (const reason of Object.values(unshown)) expect(page).toContain(reason);
});
