// @module-tag sqlite
import { copyFile, rename, rm } from "node:fs/promises";
import { expect, test } from "vitest";
import { until } from "../discord/support.ts";
import { addOwner, ownerIds, sampleCall } from "./samples.ts";
import { createSqliteDatabase } from "./sqlite-file.ts";

const refusal = { code: "storage_readonly", detail: expect.stringContaining("removed or replaced") };

/** Two databases, the first of which has been used. */
async function createTwo() {
  const [first, second] = [await createSqliteDatabase(), await createSqliteDatabase()];
  const add = (id: string) => first.database.write(sampleCall(), (tx) => addOwner(tx, id));
  await add("a");
  return { ...first, add, other: second.file };
}

test("a database file that is deleted takes no further write, and takes them again when it is back", async () => {
  const { file, database, add } = await createTwo();
  await rename(file, `${file}.away`);
  await expect(add("b")).rejects.toMatchObject(refusal);
  await expect(database.check()).rejects.toMatchObject(refusal);
  await rename(`${file}.away`, file);
  await add("c");
  expect(await ownerIds(database.read)).toEqual(["a", "c"]);
});

test("a database file that is replaced by another takes no further write", async () => {
  const { file, database, add, other } = await createTwo();
  await copyFile(other, `${file}.new`);
  await rename(`${file}.new`, file);
  await expect(add("b")).rejects.toMatchObject(refusal);
  await expect(database.check()).rejects.toMatchObject(refusal);
});

test("a database file that another is written over takes no further write within a second", async () => {
  const { file, add, other } = await createTwo();
  await copyFile(other, file);
  let count = 0;
  const refused = await until(() =>
    add(`b${(count += 1).toString()}`).then(
      () => undefined,
      (error: unknown) => error,
    ),
  );
  expect(refused).toMatchObject({ code: "storage_readonly" });
});

test("a transaction in whose course the file is deleted is not acknowledged", async () => {
  const { file, database } = await createTwo();
  const write = database.write(sampleCall(), async (tx) => {
    await addOwner(tx, "b");
    await rename(file, `${file}.away`);
  });
  await expect(write).rejects.toMatchObject(refusal);
  await rename(`${file}.away`, file);
  expect(await ownerIds(database.read)).toEqual(["a"]);
});

test("a database file that is gone is not made anew", async () => {
  const { file, database, add } = await createTwo();
  await rm(file);
  await expect(add("b")).rejects.toMatchObject(refusal);
  await database.close();
  await expect(copyFile(file, `${file}.copy`)).rejects.toMatchObject({ code: "ENOENT" });
});
