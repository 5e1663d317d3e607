import type { ReadClient, TransactionClient } from "../../database/database.ts";
import { firstOf } from "../../database/earliest.ts";
import { can, requirePermission, requireWrite, type Call } from "../../kernel/call.ts";
import { recordNotFound } from "../../kernel/errors.ts";
import { partByPart } from "../../kernel/isolated.ts";
import { walk, walkedPage } from "../../database/walk.ts";
import { countOf } from "../../database/where.ts";
import { withTotal, type Page } from "../../kernel/page.ts";
import { createAgreements, type AgreementDeps } from "./agreements/agreements.ts";
import { createClearances } from "./clearances/clearances.ts";
import { createInviteSweep, type ReadInvite } from "./invites.ts";
import { conditions, order, withAliases } from "./filters.ts";
import { createIncidents } from "./incidents.ts";
import { agreementsInForce, byAnyId, hashesOf, recordsInForce, type RegisteredServer } from "./known.ts";
import { createMerges } from "./merges.ts";
import { presentServer, registryPermissions, visibleServer } from "./servers.policy.ts";
import { createServerRows } from "./rows.ts";
import { CreateServerInput, ListRegistryQuery, UpdateServerInput, type ServerView } from "./servers.schema.ts";

/** The list, as its cursors name it. */
const listName = "server_list";

export type RegistryService = ReturnType<typeof createRegistryService>;

export interface RegistryDeps extends AgreementDeps {
  /** @throws ProblemError discord_unavailable */
  readInvite: ReadInvite;
}

/** The register of servers the community knows of. Nothing is ever deleted from it: a server that is gone is `defunct`. */
export function createRegistryService(deps: RegistryDeps) {
  const { database, cursors, clock } = deps;
  const rows = createServerRows(deps);
  const { sweepAgreements, nextAgreement, ...agreements } = createAgreements(deps);
  const { sweepClearances, nextClearance, ...clearances } = createClearances(deps);
  const { sweepInvites } = createInviteSweep(deps);

  return {
    ...agreements,
    ...createMerges({ rows, agreements, clock }),
    ...createIncidents(deps),
    ...clearances,

    /** Register a server. @throws ProblemError duplicate_active_record, validation_failed */
    async create(call: Call, input: CreateServerInput): Promise<ServerView> {
      requireWrite(call, registryPermissions.manage);
      const parsed = CreateServerInput.parse(input);
      const view = await database.write(call, async (tx) => viewOf(tx.db, await rows.create(tx, parsed), tx.now));
      return visibleServer(call, view);
    },

    /** Change a server; what was not sent stays. @param id its own or an alias @throws ProblemError precondition_failed, duplicate_active_record */
    async update(call: Call, id: string, input: UpdateServerInput, ifMatch?: number): Promise<ServerView> {
      requireWrite(call, registryPermissions.manage);
      const parsed = UpdateServerInput.parse(input);
      const view = await database.write(call, async (tx) => {
        const before = await rows.open(tx, id, ifMatch);
        return viewOf(tx.db, await rows.change(tx, before, parsed), tx.now);
      });
      return visibleServer(call, view);
    },

    /** @param id of the server, or an alias of it */
    async get(call: Call, id: string): Promise<ServerView> {
      requirePermission(call, registryPermissions.read);
      const row = await database.read.server.findFirst({ where: byAnyId(id), include: { aliases: true } });
      if (row === null) throw recordNotFound();
      return visibleServer(call, await viewOf(database.read, row, clock.now()));
    },

    /** Registered servers, the newest first. */
    async list(call: Call, query: ListRegistryQuery): Promise<Page<ServerView>> {
      requirePermission(call, registryPermissions.read);
      const { limit, cursor, count, ...filters } = ListRegistryQuery.parse(query);
      const position = cursor === undefined ? undefined : cursors.decode(listName, filters, cursor);
      const now = clock.now();
      const walked = await walk("Server", {
        conditions: conditions({ filters, readsRecords: can(call, registryPermissions.records), now, dialect: database.dialect }),
        read: database.read,
        order,
        usual: {},
        position,
        limit,
      });
      const rows = await withAliases(database.read, walked.rows);
      const data = (await viewsOf(database.read, rows, now)).map((view) => visibleServer(call, view));
      const page = walkedPage(walked, { data, limit }, (reached) => cursors.encode(listName, filters, reached));
      return withTotal(page, { count }, () => countOf(database.read, "Server", walked.everything));
    },

    /** Start and end agreements, end clearances, look invites up. For the job that runs each minute. */
    async sweep(call: Call): Promise<number> {
      requirePermission(call, registryPermissions.sweep);
      const { agreements, clearances, invites } = await partByPart({
        agreements: () => sweepAgreements(call),
        clearances: () => sweepClearances(call),
        invites: () => sweepInvites(call),
      });
      return agreements + clearances + invites;
    },

    /** When the next agreement starts or ends, or the next clearance ends. */
    nextDue: async (): Promise<Date | null> => firstOf(await nextAgreement(), await nextClearance()),
  };
}

type Reader = Pick<ReadClient | TransactionClient, "agreementParty" | "blacklistRecord">;

async function viewOf(db: Reader, row: RegisteredServer, now: Date): Promise<ServerView> {
  const [view] = await viewsOf(db, [row], now);
  return view ?? presentServer(row, null, []);
}

/** The whole servers, with the records and agreements in force. */
async function viewsOf(db: Reader, rows: readonly RegisteredServer[], now: Date): Promise<ServerView[]> {
  const all = rows.flatMap(hashesOf);
  const records = await recordsInForce(db, all, now);
  const agreements = await agreementsInForce(db, all, now);
  return rows.map((row) => {
    const record = hashesOf(row).flatMap((hash) => records.get(hash) ?? [])[0];
    const ids = hashesOf(row).flatMap((hash) => agreements.get(hash)?.ids ?? []);
    return presentServer(row, record?.id ?? null, [...new Set(ids)]);
  });
}
