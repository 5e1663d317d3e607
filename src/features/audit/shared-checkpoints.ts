import type { Database } from "../../database/database.ts";
import { Prisma } from "../../generated/sqlite/client.ts";
import { processCall } from "../../kernel/call.ts";
import { uuid7 } from "../../kernel/ids.ts";
import type { CheckpointsDeps } from "./checkpoints.ts";
import { CheckpointLine } from "./sign.ts";

/** The signed positions of every process of a cluster, as rows. Each is signed as the lines of the files are. */
export function createSharedCheckpoints(database: Database, isSigner: () => boolean): NonNullable<CheckpointsDeps["shared"]> {
  return {
    isSigner,
    async after(at) {
      const rows = await database.read.$select("AuditCheckpoint", Prisma.sql`WHERE t.at > ${new Date(at ?? 0)} ORDER BY t.at, t.id`);
      return rows.map(({ line }) => CheckpointLine.parse(line));
    },
    async add(line) {
      await database.write(processCall(uuid7()), async ({ db }) => {
        await db.auditCheckpoint.create({ data: { id: uuid7(), at: new Date(line.at), line } });
      });
    },
  };
}
