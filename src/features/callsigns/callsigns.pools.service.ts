import type { Database } from "../../database/database.ts";
import type { Clock } from "../../kernel/clock.ts";
import type { Cursors } from "../../kernel/page.ts";
import type { AuditService } from "../audit/audit.service.ts";

export type CallsignPoolsService = ReturnType<typeof createPoolsService>;

export interface PoolsDeps {
  database: Database;
  audit: Pick<AuditService, "record">;
  cursors: Cursors;
  clock: Clock;
}

/** The pools that callsigns are taken from. */
export function createPoolsService(_deps: PoolsDeps) {
  return {};
}
