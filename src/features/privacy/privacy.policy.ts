import type { Actor, Call } from "../../kernel/call.ts";
import { kept } from "./registry/types.ts";
import type { ErasureView } from "./privacy.schema.ts";

/** Permissions of this feature. */
export const privacyPolicy = { export: "users.export", redact: "users.redact", jobs: "system.act" } as const;

/** How actions begin whose details in the audit rest on what a person shared: they go with that. */
export const sharedActions = ["authorization", "match"] as const;

/** How long it is kept who looked at somebody's information. */
export const readRetentionDays = 90;

const everywhere = [
  "Blacklist records, cases, requests and the decisions on them, as records about an account id: moderation has to be able to explain itself.",
  "Places on the roster with their history, and callsigns, as records about an account id.",
  "That something was done, in the audit.",
];

/** What stays after each kind of erasure, in plain words. */
export const keptWords: Readonly<Record<ErasureView["kind"], readonly string[]>> = {
  deletion: [
    ...everywhere,
    "Links to other accounts that staff have found.",
    "What is kept of present and former staff, and of members of the community's own Discord servers who are or were staff.",
  ],
  redaction: [
    ...Object.values(kept).map(({ what }) => `${what.charAt(0).toUpperCase()}${what.slice(1)}.`),
    "That something was done, in the audit.",
  ],
};

/**
 * The person's own view of things, no matter who asks for it: what an export shows must not depend on who makes it.
 * @param call where the request came from
 */
export function callOfPerson(call: Call, userId: string): Call {
  const decide: Actor["decide"] = () => ({ allowed: false, reasons: [] });
  const actor = { id: userId, isStaff: false, isOwner: false, rank: 0, isStale: () => false, decide, heldUntil: () => undefined };
  return { ...call, client: null, actor };
}
