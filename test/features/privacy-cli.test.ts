import { readFile, stat } from "node:fs/promises";
import { join } from "node:path";
import { expect, test } from "vitest";
import { openDatabase } from "../../src/database/database.ts";
import { createWorkplace, dotEnv } from "../cli/run.ts";
import { validEnvironment } from "../config/environment.ts";
import { createEmptyCopy } from "../support/database.ts";
import { job } from "./privacy-ground.ts";

const person = "80351110224678912";
const reason = "Asked for by the person by mail.";

/** An operator's folder with one person in its database. */
async function createInstallation() {
  const { url, remove } = await createEmptyCopy();
  const database = await openDatabase({ url, synchronous: "normal" });
  const now = new Date();
  const grant = { scopes: ["identify"], purposes: ["verification"], consentVersion: "1", grantedAt: now };
  await database.write(job(), async ({ db }) => {
    await db.authorization.create({ data: { userId: person, status: "expired", ...grant } });
    await db.staffProfile.create({ data: { userId: person, department: "Quay", updatedAt: now } });
  });
  const work = await createWorkplace(dotEnv({ ...validEnvironment(), DATABASE_URL: url, SQLITE_SYNCHRONOUS: "normal" }));
  return {
    ...work,
    database,
    journal: () => readFile(join(work.directory, "data", "erasures.jsonl"), "utf8"),
    async [Symbol.asyncDispose]() {
      await database.close();
      await work[Symbol.asyncDispose]();
      await remove();
    },
  };
}

test("export prints the person's data as JSON, or writes a file for the operator alone that it never overwrites", async () => {
  await using work = await createInstallation();
  const printed = await work.provost(["users", "export", person]);
  expect(printed).toMatchObject({ code: 0, stderr: "" });
  expect(JSON.parse(printed.stdout)).toMatchObject({
    discord_user_id: person,
    authorization: { status: "expired" },
    reads: { entries: [] },
  });

  const file = join(work.directory, "person.json");
  const written = await work.here(["users", "export", person, "--out", file]);
  expect(written).toMatchObject({ code: 0, stdout: "", stderr: `Written to ${file}.\n` });
  expect(JSON.parse(await readFile(file, "utf8"))).toMatchObject({ staff: { department: "Quay" } });
  expect((await stat(file)).mode & 0o777).toBe(0o600);
  expect(await work.here(["users", "export", person, "--out", file])).toMatchObject({
    code: 1,
    stderr: expect.stringMatching(/exists already, and is not overwritten/),
  });
});

test("erase does nothing without --yes, then everything at once, and unsuppress lifts the tombstone", async () => {
  await using work = await createInstallation();
  const { read } = work.database;
  const dry = await work.here(["users", "erase", person, "--reason", reason]);
  expect(dry).toMatchObject({ code: 1, stdout: "" });
  expect(dry.stderr).toMatch(/^Nothing was erased\./);
  expect([await read.authorization.count(), await read.staffProfile.count(), await read.erasure.count()]).toEqual([1, 1, 0]);

  const done = await work.here(["users", "erase", person, "--reason", reason, "--yes"]);
  expect(done).toMatchObject({ code: 0, stdout: "authorization: 1\nstaff: 1\n" });
  expect(done.stderr).toMatch(/is erased\. What stays:\n- Blacklist records/);
  expect([await read.authorization.count(), await read.staffProfile.count()]).toEqual([0, 0]);
  expect(await read.auditEntry.findMany({ select: { action: true, via: true, subjectUserId: true } })).toEqual([
    { action: "user.redact", via: "cli", subjectUserId: person },
  ]);
  const kinds = async () =>
    (await work.journal())
      .trim()
      .split("\n")
      .map((line) => JSON.parse(line).kind);
  expect(await kinds()).toEqual(["redaction", "suppression"]);

  const lifted = await work.here(["users", "unsuppress", person]);
  expect(lifted).toMatchObject({ code: 0, stderr: `${person} can be asked again.\n` });
  expect(await kinds()).toEqual(["redaction", "suppression", "release"]);
});
