import type { Call } from "./call.ts";
import { ProblemError, problems, type ProblemCode } from "./errors.ts";

/** What somebody tried and may not do, as the transport that refused it tells it. Nothing of the content is in it. */
export interface DeniedAttempt {
  caller: AuditedCaller;
  /** The permission it needs, or the operation where there is none. */
  action: string;
  code: ProblemCode;
  /** What the path named, as it was written. */
  target?: { kind: string; id: string };
  /** The person the path named. */
  subjectUserId?: string;
  /** Whether the record had been looked at: only then does the refusal say something about it. */
  isAboutRecord: boolean;
}

/** A refused attempt without whose it was. */
export type Denial = Omit<DeniedAttempt, "caller">;

/** Who did or tried something; null for what is not known of them. */
export interface AuditedCaller {
  clientId: string | null;
  actorId: string | null;
  via: Call["via"];
  requestId: string;
  guildId?: string;
}

/** Remembers an attempt. Costs the refusal no database access and never fails. */
export type NoteDenied = (attempt: DeniedAttempt) => void;

/** Who makes a call. */
export function callerOf({ client, actor, via, requestId, guildId }: Call): AuditedCaller {
  return { clientId: client?.id ?? null, actorId: actor?.id ?? null, via, requestId, ...(guildId !== undefined && { guildId }) };
}

/** Whether a refusal is about rights, and not about the content or the state of a record. */
export function isDenial(error: unknown): error is ProblemError {
  return error instanceof ProblemError && problems[error.code].status === 403;
}

/** The permission that a refusal names. */
export function requiredBy({ extra }: ProblemError): string | undefined {
  const required = extra?.["required"];
  return typeof required === "string" ? required : undefined;
}
