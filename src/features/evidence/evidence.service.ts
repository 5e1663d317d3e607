import type { Database } from "../../database/database.ts";
import type { Clock } from "../../kernel/clock.ts";
import type { Cursors } from "../../kernel/page.ts";
import type { AuditService } from "../audit/audit.service.ts";
import type { EventsService } from "../events/events.service.ts";
import type { EvidenceHost, HostKind } from "./evidence.hosts.ts";

export type EvidenceService = ReturnType<typeof createEvidenceService>;

export interface EvidenceDeps {
  database: Database;
  audit: AuditService;
  events: Pick<EventsService, "emit">;
  hosts: Readonly<Partial<Record<HostKind, EvidenceHost>>>;
  /** The folder that holds the files. */
  folder: string;
  /** The most that one file may hold. */
  maxBytes: number;
  cursors: Cursors;
  clock: Clock;
}

/** What records rest on: files, captured messages, addresses and texts. */
export function createEvidenceService(_deps: EvidenceDeps) {
  return {};
}
