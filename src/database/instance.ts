import type { Instance, Write } from "./write.ts";
import { systemCall } from "../kernel/call.ts";
import { ProblemError } from "../kernel/errors.ts";
import { uuid7 } from "../kernel/ids.ts";
import { randomToken } from "../kernel/secrets.ts";
import type { ReadClient } from "./client.ts";

const key = "instance_id";
/** How often it is made sure of. */
const lookMs = 1000;

export function createInstance(read: ReadClient, write: () => Write): Instance {
  let known: string | undefined;
  let lookedAt = -Infinity;

  async function find(db: Pick<ReadClient, "setting"> = read): Promise<string | undefined> {
    const row = await db.setting.findUnique({ where: { key } });
    return row === null ? undefined : String(row.value);
  }

  async function make(): Promise<string> {
    return write()(systemCall("job", uuid7()), async (tx) => {
      await tx.lock("settings");
      const made = await tx.db.setting.upsert({ where: { key }, create: { key, value: randomToken().slice(0, 22) }, update: {} });
      return String(made.value);
    });
  }

  return {
    find: () => find(),
    id: async () => (known ??= (await find()) ?? (await make())),
    async assertSame(db) {
      if (known === undefined || performance.now() - lookedAt < lookMs) return;
      if ((await find(db)) !== known) {
        const detail =
          "The database is that of another installation than at the start, so nothing is written. Put the right one back, or restart the service.";
        throw new ProblemError("storage_readonly", { retryAfter: 5, detail });
      }
      lookedAt = performance.now();
    },
  };
}
