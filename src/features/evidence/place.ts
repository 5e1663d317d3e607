import type { Database } from "../../database/database.ts";
import { Prisma } from "../../generated/sqlite/client.ts";
import { evidencePlaceName, type EvidencePlace } from "../../config/values.ts";
import { systemCall } from "../../kernel/call.ts";
import { uuid7 } from "../../kernel/ids.ts";
import { OperatorError } from "../../kernel/operator-errors.ts";

/** Where the files are that the rows of a database name. Absent: in the data folder, where all were before there was a choice. */
export const placeSetting = "evidence_store";

/**
 * Make sure that the files are where they are looked for: with another `EVIDENCE_STORE` they would all seem to be lost.
 * @throws OperatorError that says how they are moved
 */
export async function requireOwnPlace(database: Pick<Database, "read" | "write">, place: EvidencePlace): Promise<void> {
  const name = evidencePlaceName(place);
  const held = await placeOfFiles(database);
  if (held === name) return;
  if ((await database.read.evidenceFile.findFirst({ where: { status: "stored" }, select: { sha256: true } })) !== null)
    throw new OperatorError(
      `The files of evidence are in ${held}, and \`EVIDENCE_STORE\` is ${name}. Set it to ${held}; to move them, run \`provost evidence move --to ${name}\` then.`,
    );
  await notePlace(database, place);
}

/** As `EVIDENCE_STORE` names it. */
export async function placeOfFiles({ read }: Pick<Database, "read">): Promise<string> {
  const [row] = await read.$select("Setting", Prisma.sql`WHERE t.key = ${placeSetting}`);
  return typeof row?.value === "string" ? row.value : "folder";
}

export async function notePlace({ write }: Pick<Database, "write">, place: EvidencePlace): Promise<void> {
  const value = evidencePlaceName(place);
  await write(systemCall("job", uuid7()), async ({ db, now }) => {
    await db.setting.upsert({
      where: { key: placeSetting },
      create: { key: placeSetting, value, updatedAt: now },
      update: { value, updatedAt: now },
    });
  });
}
