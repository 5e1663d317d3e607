import { say } from "../../kit/say.ts";
import type { Deps } from "../deps.ts";
import type { Tx } from "../../database/database.ts";
import type { Call } from "../../kernel/call.ts";
import { ProblemError } from "../../kernel/errors.ts";
import type { PermissionsService } from "../permissions/permissions.service.ts";

export interface ConflictsDeps extends Deps<"access" | "reach"> {
  permissions: Pick<PermissionsService, "requireRankAbove">;
}

export interface Conflicts {
  ownMatter(): ProblemError;
  accountsOf(db: Reader, call: Call): Promise<string[]>;
  otherAccountsOf(db: Reader, call: Call): Promise<string[]>;
  requireMayDecideAbout(tx: Tx, userIds: readonly string[]): Promise<void>;
  /** Of what only the rank decides otherwise: nobody does it to another account of theirs. @throws ProblemError conflict_of_interest */
  requireNoOtherOwn(db: Reader, call: Call, userId: string): Promise<void>;
  /** The same about a person with every account that is linked with theirs. @throws ProblemError conflict_of_interest, hierarchy_violation */
  requireMayDecideAboutPerson(tx: Tx, userId: string): Promise<void>;
}

type Reader = Parameters<ConflictsDeps["reach"]["linkedAccountsOf"]>[0];

/** Who may decide about whom: nobody about themselves, by any account of theirs, nor about staff of their own rank or above. */
export function createConflicts({ access, reach, permissions }: ConflictsDeps): Conflicts {
  /** The account of the caller and those that are linked with it. */
  async function accountsOf(db: Reader, call: Call): Promise<string[]> {
    return call.actor === null ? [] : [call.actor.id, ...(await otherAccountsOf(db, call))];
  }

  /** The accounts that are linked with the caller's. */
  async function otherAccountsOf(db: Reader, { actor }: Call): Promise<string[]> {
    return actor === null ? [] : await reach.linkedAccountsOf(db, actor.id);
  }

  /** @throws ProblemError conflict_of_interest, hierarchy_violation */
  async function requireMayDecideAbout(tx: Tx, userIds: readonly string[]): Promise<void> {
    const own = new Set(await accountsOf(tx.db, tx.call));
    if (userIds.some((userId) => own.has(userId))) throw ownMatter();
    for (const userId of userIds) {
      const { isStaff, rank } = access.of(userId);
      if (isStaff) permissions.requireRankAbove(tx.call, rank);
    }
  }

  return {
    ownMatter,
    accountsOf,
    otherAccountsOf,
    requireMayDecideAbout,

    async requireNoOtherOwn(db: Reader, call: Call, userId: string): Promise<void> {
      if ((await otherAccountsOf(db, call)).includes(userId)) throw ownMatter();
    },

    async requireMayDecideAboutPerson(tx: Tx, userId: string): Promise<void> {
      await requireMayDecideAbout(tx, [userId, ...(await reach.linkedAccountsOf(tx.db, userId))]);
    },
  };
}

function ownMatter(): ProblemError {
  return new ProblemError("conflict_of_interest", { detail: say("links.this-is-about-you-or-about-an") });
}
