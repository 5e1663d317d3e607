// @module-tag both
import { readdir, readFile } from "node:fs/promises";
import { join } from "node:path";
import { expect, inject, onTestFinished, test } from "vitest";
import { migrationsFolder } from "../../src/database/migrate-sqlite.ts";
import { createTestDatabase } from "../support/database.ts";
import { execute } from "./sql.ts";
import { sampleCall } from "./samples.ts";

const at = new Date("2026-11-20T10:00:00.000Z");
const keys = ["authorization", "matches", "blacklist", "no_poach"];
const checkOf = (key: string) => ({ key, result: "fail", detail: `Found by ${key}.`, at: at.toISOString() });

test("checks that an earlier version stored learn whose consent they rest on, and lose what they found where it is over", async () => {
  const { url, database, drop } = await createTestDatabase();
  onTestFinished(drop);
  await database.write(sampleCall(), async ({ db }) => {
    for (const [index, status] of ["active", "revoked", undefined].entries()) {
      const userId = `80351110224678912${index.toString()}`;
      const grant = { userId, scopes: [], purposes: [], consentVersion: "2", grantedAt: at };
      if (status !== undefined) await db.authorization.create({ data: { ...grant, status } });
      const filed = {
        reference: `REC-REQ-00000${index.toString()}`,
        type: "recruitment",
        status: "pending",
        priority: "normal",
        urgent: false,
      };
      const texts = { title: "", summary: "", requestedVia: "rest", approvalsRequired: 1, createdAt: at, updatedAt: at };
      const lists = { extra: {}, evidence: [], related: [], links: [] };
      await db.workflowRequest.create({ data: { ...filed, ...texts, ...lists, payload: { user_id: userId }, checks: keys.map(checkOf) } });
    }
    const other = { reference: "PUN-REQ-000001", type: "punishment", status: "pending", priority: "normal", urgent: false, title: "" };
    const rest = { summary: "", requestedVia: "rest", approvalsRequired: 1, createdAt: at, updatedAt: at, payload: {}, extra: {} };
    await db.workflowRequest.create({ data: { ...other, ...rest, evidence: [], related: [], links: [] } });
  });
  const folder = migrationsFolder(inject("dialect"));
  const name = (await readdir(folder)).find((one) => one.endsWith("_consent_of_checks")) ?? "";
  await execute(url, await readFile(join(folder, name, "migration.sql"), "utf8"));

  const rows = await database.read.workflowRequest.findMany({ orderBy: { reference: "asc" }, select: { reference: true, checks: true } });
  const consent_of = "803511102246789120";
  const over = { result: "ended", detail: "Ended with the consent it rested on." };
  const ended = keys.map((key) => (key === "blacklist" ? checkOf(key) : { ...checkOf(key), ...over }));
  const kept = keys.map((key) => ({
    ...checkOf(key),
    ...(key !== "blacklist" && { consent_of }),
    ...(key === "matches" && { through_accounts: true }),
  }));
  expect(new Map(rows.map(({ reference, checks }) => [reference, checks]))).toEqual(
    new Map<string, unknown>([
      ["PUN-REQ-000001", null],
      ["REC-REQ-000000", kept],
      ["REC-REQ-000001", ended],
      ["REC-REQ-000002", ended],
    ]),
  );
});
