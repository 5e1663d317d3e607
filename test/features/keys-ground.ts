import { pino } from "pino";
import { createAuditService } from "../../src/features/audit/audit.service.ts";
import { createAuthenticate } from "../../src/features/keys/authenticate.ts";
import { createKeysService } from "../../src/features/keys/keys.service.ts";
import { createKeyStore } from "../../src/features/keys/store.ts";
import { createPermissionsService } from "../../src/features/permissions/permissions.service.ts";
import { createCursors } from "../../src/kernel/page.ts";
import { everyRow } from "../contract/world.ts";
import { createTestDatabase } from "../support/database.ts";
import { createJournals } from "../support/rooms.ts";
import type { World } from "../support/world.ts";

export const secret = Buffer.alloc(32, 7);

/** Stands for what is known of people: the rooms alone know nobody. */
export const nobody = { onLastOwnersLost: () => undefined, setOwners: () => undefined, allHold: () => true } as never;

/** The keys room alone, on a fresh database, in a time of its own. */
export async function createKeys(pollMs = 60_000) {
  const warnings: { details: object; message: string }[] = [];
  const logger = { warn: (details: object, message: string) => void warnings.push({ details, message }), error: () => undefined };
  const time = { now: new Date("2026-11-20T10:00:00.000Z") };
  const clock = { now: () => time.now };
  const fresh = await createTestDatabase({ clock });
  const cursors = createCursors(secret);
  const service = (database: typeof fresh.database) => {
    const audit = createAuditService({ database, cursors });
    const ground = { database, audit, access: nobody, cursors, clock };
    const journals = createJournals(ground);
    const permissions = createPermissionsService({
      ...ground,
      ...journals,
      logger: pino({ level: "silent" }),
      servedGuilds: new Set(),
      guildState: nobody,
    });
    return { permissions, keys: createKeysService({ ...ground, ...journals, permissions, pepper: secret, logger }) };
  };
  const { permissions, keys } = service(fresh.database);
  const store = createKeyStore({ database: fresh.database, keys, permissions, access: nobody, pepper: secret, pollMs });
  const access = {
    actorOf: (id: string) =>
      ({
        id,
        isStaff: true,
        isOwner: false,
        rank: 1,
        isStale: () => false,
        decide: () => ({ allowed: true, reasons: [] }),
        heldUntil: () => null,
      }) as never,
  };
  const authenticate = createAuthenticate({ store, access, clock });
  return { time, fresh, database: fresh.database, keys, store, authenticate, service, warnings };
}

const inTheirOwnTime = /^(Guild|Counter$|AuditPayload$)/;

/** Every row but what follows Discord or the clock by itself: the job of the minute speaks of keys that end soon. */
export async function rowsOf(world: World): Promise<Record<string, string[]>> {
  const tables = Object.entries(await everyRow(world)).filter(([table]) => !inTheirOwnTime.test(table));
  const ofCallers = (rows: readonly string[]): string[] =>
    rows
      .filter((row) => !row.includes('"via":"job"') && !row.includes('"type":"api_key.expiring"'))
      .map((row) => row.replace(/"noticeDays":(null|\d+),/, ""));
  return Object.fromEntries(tables.map(([table, rows]) => [table, ofCallers(rows)]));
}
