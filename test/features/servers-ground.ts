import { silent } from "../support/rooms.ts";
import { randomBytes } from "node:crypto";
import { onTestFinished } from "vitest";
import { createAuditService } from "../../src/features/audit/audit.service.ts";
import { createEventsService } from "../../src/features/events/events.service.ts";
import { createServerFacts } from "../../src/features/servers/facts.ts";
import { createRegistryService, type RegistryDeps } from "../../src/features/servers/servers.service.ts";
import { systemCall } from "../../src/kernel/call.ts";
import { systemClock } from "../../src/kernel/clock.ts";
import { createCursors } from "../../src/kernel/page.ts";
import { createTestDatabase } from "../support/database.ts";

export const hashOf = (id: string): string => `hash-${id}`;
export const call = systemCall("cli", "test");

/** The register alone on a fresh database, without the job that runs each minute, and what it asked to be compared again. */
export async function createRegister(options: Partial<Pick<RegistryDeps, "clock" | "readInvite">> = {}) {
  const { clock = systemClock, readInvite = () => Promise.resolve(null) } = options;
  const { database, drop } = await createTestDatabase({ clock });
  onTestFinished(drop);
  const compared = new Set<string>();
  const cursors = createCursors(randomBytes(32));
  const registry = createRegistryService({
    database,
    audit: createAuditService({ database, cursors }),
    events: createEventsService({ database, clock }),
    matches: {
      applyServer: (_tx, ids) => {
        for (const id of ids) compared.add(id);
        return Promise.resolve({ added: 0, changed: 0, removed: 0 });
      },
    },
    cursors,
    clock,
    logger: silent,
    hashOf,
    readInvite,
  });
  return { registry, database, compared, facts: createServerFacts() };
}
