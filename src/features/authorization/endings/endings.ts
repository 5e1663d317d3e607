import type { AuthorizationSession } from "../../../generated/sqlite/client.ts";
import { isOpen } from "../authorization.policy.ts";

/** How a visit can end; each has its own page, with this status. */
export const endings = {
  done: 200,
  declined: 200,
  cancelled: 410,
  "wrong-account": 403,
  expired: 410,
  used: 410,
  "other-browser": 403,
  "discord-unreachable": 503,
  "scope-missing": 403,
  failed: 400,
} as const;
export type Ending = keyof typeof endings;

/** The page of a session that has ended; undefined while it still waits. An unknown address is as good as an expired one. */
export function endingOf(session: Pick<AuthorizationSession, "status" | "failure" | "expiresAt"> | null, now: Date): Ending | undefined {
  if (session === null) return "expired";
  if (isOpen(session, now)) return undefined;
  switch (session.status) {
    case "authorized":
      return "used";
    case "declined":
      return "declined";
    case "cancelled":
      return "cancelled";
    case "failed":
      return endingOfFailure(session.failure);
    default:
      return "expired";
  }
}

/** The page of a session that failed. */
export function endingOfFailure(failure: string | null): Ending {
  if (failure === "wrong_account") return "wrong-account";
  return failure === "scope_missing" ? "scope-missing" : "failed";
}
