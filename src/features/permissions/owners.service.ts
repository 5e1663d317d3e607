import { say } from "../../kit/say.ts";
import type { Deps } from "../deps.ts";
import type { Tx } from "../../database/database.ts";
import { requirePermission, requireWrite, systemCall, type Call } from "../../kernel/call.ts";
import { ProblemError, recordNotFound } from "../../kernel/errors.ts";
import { Snowflake } from "../../kernel/fields.ts";
import type { AuditService } from "../audit/audit.service.ts";
import type { EventsService } from "../events/events.service.ts";
import { requireRankAbove } from "./grant.ts";
import { permissionsPolicy } from "./permissions.policy.ts";
import { ownerRank } from "./access/person.ts";
import { uuid7 } from "../../kernel/ids.ts";

/** An owner and every reason why they are one. */
export interface OwnerView {
  user_id: string;
  /** `configuration`, `owners`, `last_owner`, or the key of a staff role. */
  sources: string[];
}

export interface OwnersDeps extends Deps<"database" | "access"> {
  audit: AuditService;
  events: EventsService;
}

/** Who owns the installation. Somebody always does. */
export function createOwners({ database, audit, events, access }: OwnersDeps) {
  const lock = (tx: Tx): Promise<void> => tx.lock("owners");
  /** @param isOwner whether they are one from now on */
  const emitOwner = (tx: Tx, userId: string, isOwner: boolean): void =>
    events.emit(tx, { type: "owner.changed", data: { user_id: userId, owner: isOwner } });

  /** @throws ProblemError hierarchy_violation for anyone who is no owner */
  function requireOwner(call: Call): void {
    requireWrite(call, permissionsPolicy.owners);
    requireRankAbove(call, ownerRank);
  }

  async function add(tx: Tx, userId: string): Promise<void> {
    await lock(tx);
    const known = await tx.db.owner.findUnique({ where: { userId } });
    tx.afterCommit(() => access.setOwners((owners) => owners.set(userId, { retained: false })));
    if (known?.retained === false) return;
    const createdBy = tx.call.actor?.id ?? tx.call.client?.name ?? tx.call.via;
    const data = { createdBy, createdAt: tx.now, retained: false };
    await tx.db.owner.upsert({ where: { userId }, create: { userId, ...data }, update: data });
    audit.record(tx, { action: "owner.create", user: userId });
    emitOwner(tx, userId, true);
  }

  async function remove(tx: Tx, userId: string): Promise<void> {
    await lock(tx);
    const rows = await tx.db.owner.findMany();
    if (!rows.some((row) => row.userId === userId)) throw notNamed(userId);
    const others = rows.filter((row) => row.userId !== userId);
    const isLast = others.length === 0 && access.configuredOwners().length === 0 && access.ownersByRole().length === 0;
    if (isLast) throw new ProblemError("last_owner", { detail: say("permissions.nobody-would-be-an-owner-any-more") });
    await tx.db.owner.delete({ where: { userId } });
    audit.record(tx, { action: "owner.remove", user: userId });
    emitOwner(tx, userId, access.ownersByRole().includes(userId));
    tx.afterCommit(() => access.setOwners((owners) => owners.delete(userId)));
  }

  /** Why somebody cannot be taken off the list of names. */
  function notNamed(userId: string): ProblemError {
    if (access.configuredOwners().includes(userId))
      return new ProblemError("invalid_transition", { detail: say("permissions.owner-ids-names-this-owner-take-them") });
    if (access.ownersByRole().includes(userId))
      return new ProblemError("invalid_transition", { detail: say("permissions.this-owner-is-one-by-a-discord") });
    return recordNotFound();
  }

  return {
    handleLastOwnersLost: createLastOwners({ database, audit, access, lock, tell: emitOwner }),

    /** Make somebody an owner, as part of another feature's transaction; an owner stays one. */
    addInTx: add,

    /** Everybody who is an owner, and why. */
    list(call: Call): OwnerView[] {
      requirePermission(call, permissionsPolicy.owners);
      return access.listOwners().map((userId) => {
        const named = access.ownerSource(userId);
        const roles = access.of(userId).held.filter(({ role }) => role.level === "owner");
        return { user_id: userId, sources: [...(named === null ? [] : [named]), ...roles.map(({ role }) => role.key)] };
      });
    },

    /** Name an owner. @throws ProblemError hierarchy_violation */
    async add(call: Call, userId: string): Promise<void> {
      requireOwner(call);
      const id = Snowflake.parse(userId);
      await database.write(call, (tx) => add(tx, id));
    },

    /**
     * Take an owner off the list of names.
     * @throws ProblemError hierarchy_violation, record_not_found, last_owner, invalid_transition (an owner by configuration or role)
     */
    async remove(call: Call, userId: string): Promise<void> {
      requireOwner(call);
      const id = Snowflake.parse(userId);
      await database.write(call, (tx) => remove(tx, id));
    },
  };
}

interface LastOwnersDeps extends Deps<"database" | "access"> {
  audit: AuditService;
  /** Hold the list of owners by name. */
  lock(tx: Tx): Promise<void>;
  /** Tell that somebody is an owner from now on, or is one no longer. */
  tell(tx: Tx, userId: string, isOwner: boolean): void;
}

/** Written as the author of those who are kept as the last owners. */
const keeper = "last_owner";

/**
 * Those who were the last owners when Discord took that away stay owners, by name, until there is another one.
 * @returns brings the list of names in step with who is kept; a job calls it
 */
export function createLastOwners({ database, audit, access, lock, tell: emitOwner }: LastOwnersDeps): (call: Call) => Promise<void> {
  function note(tx: Tx, action: "owner.retain" | "owner.release", userId: string, reason: string): void {
    audit.record(tx, { action, user: userId, reason, permission: permissionsPolicy.jobs });
  }

  /** Write down those who are kept as the last owners. */
  async function retain(call: Call): Promise<void> {
    const ids = access.retainedOwners();
    await database.write(call, async (tx) => {
      await lock(tx);
      const known = new Set((await tx.db.owner.findMany({ where: { userId: { in: ids } } })).map((row) => row.userId));
      for (const userId of ids.filter((id) => !known.has(id))) {
        await tx.db.owner.create({ data: { userId, createdAt: tx.now, createdBy: keeper, retained: true } });
        note(tx, "owner.retain", userId, say("permissions.nobody-else-is-an-owner"));
        emitOwner(tx, userId, true);
      }
    });
  }

  /** There is another owner: those who were kept as the last ones are what their roles say. */
  async function release(call: Call): Promise<void> {
    await database.write(call, async (tx) => {
      await lock(tx);
      const rows = await tx.db.owner.findMany({ where: { retained: true } });
      await tx.db.owner.deleteMany({ where: { retained: true } });
      for (const { userId } of rows) {
        note(tx, "owner.release", userId, say("permissions.there-is-another-owner-again"));
        emitOwner(tx, userId, access.ownersByRole().includes(userId));
      }
      tx.afterCommit(() =>
        access.setOwners((owners) => {
          for (const [userId, { retained }] of owners) if (retained) owners.delete(userId);
        }),
      );
    });
  }

  async function handleLastOwnersLost(call: Call): Promise<void> {
    if (access.retainedOwners().length === 0) return;
    await (access.hasLastingOwner() ? release(call) : retain(call));
  }

  // A failure is made up for by the next run of the job: until then memory knows.
  access.onLastOwnersLost(() => void handleLastOwnersLost(systemCall("job", uuid7())).catch(() => undefined));
  return handleLastOwnersLost;
}
