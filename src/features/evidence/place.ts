import { z } from "zod";
import { evidencePlaceName, type EvidencePlace } from "../../config/values.ts";
import type { Database } from "../../database/database.ts";
import { Prisma } from "../../generated/sqlite/client.ts";
import { systemCall } from "../../kernel/call.ts";
import { uuid7 } from "../../kernel/ids.ts";
import { OperatorError } from "../../kernel/operator-errors.ts";

/** The setting that says where the files are that rows name. Absent: in the data folder, where all were before there was a choice. */
export const placeSetting = "evidence_store";

/** As `EVIDENCE_STORE` names places. */
const HeldPlace = z.union([
  z.string().transform((name) => ({ name, leaving: null })),
  /** A move has copied everything, and deletes what it has left behind. */
  z.object({ name: z.string(), leaving: z.string().nullable() }),
]);
export type HeldPlace = z.output<typeof HeldPlace>;

/** @param value what the setting holds */
export const readHeldPlace = (value: unknown): HeldPlace => HeldPlace.parse(value ?? "folder");

/** Where the files are. */
export async function findHeldPlace({ read }: Pick<Database, "read">): Promise<HeldPlace> {
  const [row] = await read.$select("Setting", Prisma.sql`WHERE t.key = ${placeSetting}`);
  return readHeldPlace(row?.value);
}

export async function notePlace({ write }: Pick<Database, "write">, value: string | HeldPlace): Promise<void> {
  await write(systemCall("job", uuid7()), async ({ db, now: updatedAt }) => {
    await db.setting.upsert({
      where: { key: placeSetting },
      create: { key: placeSetting, value, updatedAt },
      update: { value, updatedAt },
    });
  });
}

/**
 * Make sure that the files are where they are looked for: with another `EVIDENCE_STORE` they would all seem to be lost.
 * @throws OperatorError that says how they are moved
 */
export async function requireOwnPlace(database: Pick<Database, "read" | "write">, place: EvidencePlace): Promise<void> {
  const name = evidencePlaceName(place);
  const refusal = otherPlace(await findHeldPlace(database), name);
  if (refusal === undefined) return;
  if ((await database.read.evidenceFile.findFirst({ where: { status: "stored" }, select: { sha256: true } })) !== null)
    throw new OperatorError(refusal);
  await notePlace(database, name);
}

/** Why files are not looked for where they are, in words for the operator; undefined when they are. */
export function otherPlace({ name, leaving }: HeldPlace, configured: string): string | undefined {
  if (leaving !== null)
    return `The files of evidence were copied from ${leaving} to ${name}, and those in ${leaving} are not all deleted yet. Run \`provost evidence move --to ${name}\` again.`;
  if (name === configured) return undefined;
  return `The files of evidence are in ${name}, and \`EVIDENCE_STORE\` is ${configured}. Set it to ${name}; if they are to be moved, run \`provost evidence move --to ${configured}\` then.`;
}
