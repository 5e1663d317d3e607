import { say, term } from "../../kit/say.ts";
import type { Tx } from "../../database/database.ts";
import { fieldError } from "../../kernel/errors.ts";
import { caseReference } from "../../kernel/parsing.ts";
import type { DraftRecords } from "../workflows/drafts/records.ts";
import type { WholeCase } from "./cases.policy.ts";

/** What closing a case can suggest. */
export const suggestedKinds = ["punishment", "blacklist-user", "blacklist-server", "alt-request"] as const;
export type SuggestedKind = (typeof suggestedKinds)[number];

interface Prefilled {
  /** Whom the request would be about. */
  id: string;
  payload: Readonly<Record<string, unknown>>;
}

interface SuggestedRequest {
  about: "user" | "server";
  /** One request for each subject, or one for all of them. */
  prefill(ids: readonly string[]): Prefilled[];
  /** Whether a request of the kind names the case it comes from. */
  namesCase?: true;
}

/** Shorter texts are no reason of a request. */
const shortestReason = 10;
/** Accounts of one request. */
const maxAccounts = 10;
const eachUser = (ids: readonly string[]): Prefilled[] => ids.map((id) => ({ id, payload: { user_id: id } }));

const suggestedRequests: Readonly<Record<SuggestedKind, SuggestedRequest>> = {
  punishment: { about: "user", prefill: eachUser, namesCase: true },
  "blacklist-user": { about: "user", prefill: eachUser },
  "blacklist-server": { about: "server", prefill: (ids) => ids.map((id) => ({ id, payload: { server_id: id } })) },
  "alt-request": {
    about: "user",
    prefill: (ids) => ids.slice(0, 1).map((id) => ({ id, payload: { user_ids: ids.slice(0, maxAccounts) } })),
  },
};

/** Requests that the end of a case suggests. They wait until a person files them. */
export function createSuggestions(drafts: Pick<DraftRecords, "suggestInTx" | "dismissInTx" | "openKeys">) {
  return {
    /**
     * Suggest requests about the subjects of a case that was closed. A request can be read by more people than a confidential case:
     * it neither names one nor quotes it.
     * @throws ProblemError validation_failed for a kind that none of the subjects fits
     */
    async suggest(tx: Tx, row: WholeCase, kinds: readonly SuggestedKind[]): Promise<void> {
      const reference = caseReference(row.number);
      const outcome = term(row.outcome ?? "");
      const cause = row.isConfidential ? say("cases.a-case-closed-as", { outcome }) : say("cases.case-closed-as", { reference, outcome });
      const quoted = row.isConfidential || (row.outcomeReason ?? "").length < shortestReason ? null : row.outcomeReason;
      for (const [index, kind] of kinds.entries()) {
        const { about, prefill, namesCase = false } = suggestedRequests[kind];
        const found = prefill(row.subjects.filter((subject) => subject.kind === about).map(({ subjectId }) => subjectId));
        if (found.length === 0) throw fieldError(`/spawn/${index.toString()}`, "no_subject", say(`cases.about-no-${about}`));
        for (const { id, payload } of found) {
          await drafts.suggestInTx(tx, {
            type: kind,
            payload: {
              ...payload,
              ...(quoted !== null && { reason: quoted }),
              ...(namesCase && !row.isConfidential && { case_reference: reference }),
            },
            subject: { kind: about, id },
            cause,
            causeReference: reference,
            caseNumber: row.number,
            openKey: `${keysOf(row)}${kind}:${id}`,
          });
        }
      }
    },

    /** Dismiss what the end of a case suggested, for it goes on. */
    async dismiss(tx: Tx, row: WholeCase): Promise<void> {
      const keys = await drafts.openKeys(tx.db, keysOf(row));
      if (keys.length > 0) await drafts.dismissInTx(tx, keys, say("cases.its-ground-is-gone-the-case-was-2"));
    },
  };
}

const keysOf = ({ id }: WholeCase): string => `case:${id}:`;
