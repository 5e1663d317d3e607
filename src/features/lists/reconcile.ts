import type { Deps } from "../deps.ts";
import type { Tx } from "../../database/database.ts";
import type { GuildState } from "../../discord/guild-state.ts";
import type { ListAction } from "../../generated/sqlite/client.ts";
import type { Presences } from "../../discord/guild/presence.ts";
import type { Breaker } from "./breaker.ts";
import { isSettledIn } from "./checks.ts";
import { endingOf, isUndo, lockPerson, standingKeyOf, type ActionState, type Ledger } from "./ledger.ts";
import type { ListSource } from "./own-list.ts";
import type { Rules } from "./rules.ts";
import { barOf, isBarred } from "./stance-roles.ts";
import { hasRuleFor, verdictsOf, type Verdict } from "./verdict.ts";

export interface ReconcileDeps extends Deps<"audit" | "access" | "events"> {
  sources: readonly ListSource[];
  rules: Rules;
  breaker: Breaker;
  ledger: Ledger;
  guildState: Pick<GuildState, "guilds" | "role"> & { presences: Pick<Presences, "joinedAt"> };
}

/** What is known of somebody in one guild. */
interface Place {
  guildId: string;
  userId: string;
  joinedAt: number | undefined;
  verdicts: readonly Verdict[];
  /** That the comparison was asked for, with what decisions have ended since. */
  checks: readonly { settles: string | null }[];
}

export interface Reconcile {
  /** @param checks that asked for it, with what decisions have ended since: what they ended is not begun */
  person(tx: Tx, userId: string, checks?: Place["checks"]): Promise<void>;
}

/** Brings what guilds do about a person in line with what lists say about them and what the guilds want. */
export function createReconcile({ sources, rules, breaker, ledger, events, guildState, access }: ReconcileDeps): Reconcile {
  /** What all lists say about somebody. */
  async function listingsOf(tx: Tx, userId: string) {
    const all = [];
    for (const source of sources) all.push(...((await source.listingsOf(tx.db, [userId], tx.now)).get(userId) ?? []));
    return all;
  }

  async function begin(tx: Tx, { guildId, userId, joinedAt, checks }: Place, verdict: Verdict): Promise<void> {
    if (joinedAt === undefined) return;
    const what = { guildId, userId, joinedAt, verdict };
    if (verdict.stance === "notify") {
      await ledger.begin(tx, { ...what, state: "done" });
      const { listId, reference } = verdict.listing;
      const byRule = hasRuleFor(rules.of(guildId), verdict.listing);
      const data = { guild_id: guildId, user_id: userId, number: reference, list: listId, by_rule: byRule };
      events.emit(tx, { type: "listed_person.joined", data });
      return;
    }
    if (verdict.action !== null && isSettledIn(checks, { guildId, action: verdict.action })) {
      await ledger.begin(tx, { ...what, state: "settled" });
      return;
    }
    const batchId = await breaker.batchFor(tx, guildId);
    await ledger.begin(tx, { ...what, state: batchId === null ? "pending" : "held", batchId });
  }

  /** What stands, and is wanted still. @returns whether it stands in the way of doing it again */
  async function keep(tx: Tx, row: ListAction, { joinedAt }: Place, { listing, stance }: Verdict): Promise<boolean> {
    const isSame = row.recordId === listing.recordId && row.listId === listing.listId;
    const state = row.state as ActionState;
    if (state === "settled" || (isUndo(row) && row.standingKey !== null)) {
      if (isSame) return true;
      await ledger.change(tx, row, endingOf(row, tx.now));
      return false;
    }
    const hasComeBack = joinedAt !== undefined && joinedAt > row.joinedAt.getTime() && (state === "done" || state === "failed");
    if (hasComeBack && stance === "notify") {
      await end(tx, row);
      return false;
    }
    if (hasComeBack) {
      // Nobody comes back from a ban unless somebody has lifted it.
      const isLifted = row.action === "ban" && row.changed && state === "done" && stance === "apply";
      await ledger.change(tx, row, isLifted ? { state: "settled", dueAt: null } : { state: "ended", standingKey: null, dueAt: null });
      return isLifted;
    }
    if (!isSame) {
      const { listId, recordId, reference: recordReference } = listing;
      await ledger.change(tx, row, { listId, recordId, recordReference });
    }
    return true;
  }

  async function end(tx: Tx, row: ListAction): Promise<void> {
    await ledger.change(tx, row, endingOf(row, tx.now));
    const { guildId, userId, recordReference, listId } = row;
    if (row.stance !== "notify") return;
    events.emit(tx, { type: "listed_person.cleared", data: { guild_id: guildId, user_id: userId, number: recordReference, list: listId } });
  }

  async function bring(tx: Tx, place: Place, standing: readonly ListAction[]): Promise<void> {
    const wanted = new Map(place.verdicts.map((verdict) => [standingKeyOf(place.guildId, place.userId, verdict), verdict]));
    for (const row of standing) {
      const verdict = wanted.get(row.standingKey ?? "");
      if (verdict === undefined) await end(tx, row);
      else if (await keep(tx, row, place, verdict)) wanted.delete(row.standingKey ?? "");
    }
    for (const verdict of wanted.values()) await begin(tx, place, verdict);
  }

  return {
    async person(tx: Tx, userId: string, checks: Place["checks"] = []): Promise<void> {
      await lockPerson(tx, userId);
      const listings = await listingsOf(tx, userId);
      const rows = await tx.db.listAction.findMany({ where: { userId, standingKey: { not: null } }, orderBy: { id: "asc" } });
      if (listings.length === 0 && rows.length === 0) return;
      const exempt = await rules.exemptionsOf(tx.db, userId, tx.now);
      const { isOwner, held } = access.of(userId);
      const guilds = guildState.guilds().filter(({ present }) => present);
      for (const { id: guildId, ownerId } of guilds) {
        const isProtected = isOwner || held.length > 0 || ownerId === userId;
        const isBarredRole = (roleId: string): boolean => isBarred(barOf({ access, guildState }, guildId, roleId));
        const circumstances = { guildId, isExempt: exempt.has(guildId), isProtected, isBarredRole };
        const verdicts = verdictsOf(listings, rules.of(guildId), circumstances);
        const joinedAt = guildState.presences.joinedAt(guildId, userId);
        const standing = rows.filter((row) => row.guildId === guildId);
        await bring(tx, { guildId, userId, joinedAt, verdicts, checks }, standing);
      }
    },
  };
}
