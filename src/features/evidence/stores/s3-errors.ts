import type { Config } from "../../../config/config.ts";
import { ProblemError } from "../../../kernel/errors.ts";
import { systemReason } from "../../../kernel/operator-errors.ts";

/** What the client reports: an answer of the server with its code as name, or an error of the connection. */
interface S3Error extends Error {
  $metadata?: { httpStatusCode?: number };
  Code?: string;
}

/** Whether it may work in a moment: the server is away, slow, or has too much to do. */
export function isPassing(error: unknown): boolean {
  const { name, $metadata } = error as S3Error;
  const status = $metadata?.httpStatusCode;
  if (["SlowDown", "RequestTimeout", "TimeoutError", "AbortError", "InternalError", "ServiceUnavailable"].includes(name)) return true;
  return status === undefined ? !(error instanceof TypeError) : status === 429 || status >= 500;
}

/** What a caller is told; what the server said goes into the log, without what was signed. */
export function s3Problem(store: string, error: unknown): unknown {
  if (error instanceof ProblemError) return error;
  const cause = new Error(`${store}: ${saidBy(error)}`);
  if (isPassing(error)) return new ProblemError("storage_busy", { retryAfter: 5, cause });
  return new ProblemError("storage_readonly", { retryAfter: 60, cause });
}

function saidBy(error: unknown): string {
  const { name, message, $metadata } = error as S3Error;
  const status = $metadata?.httpStatusCode;
  return status === undefined ? systemReason(error) : `${name} (status ${status.toString()}) ${message}`;
}

/** What the codes of servers mean for the operator. */
const mends: Readonly<Record<string, string>> = {
  NoSuchBucket: "There is no such bucket. Make it, or name another one in `EVIDENCE_STORE`.",
  InvalidAccessKeyId:
    "The server does not know the access key. Check `EVIDENCE_S3_ACCESS_KEY`, and that `EVIDENCE_S3_ENDPOINT` names the right server.",
  SignatureDoesNotMatch: "The secret key is not that of the access key. Check `EVIDENCE_S3_SECRET_KEY`.",
  AccessDenied:
    "The keys may not do this. They need to list the bucket and its versions, and to read, write and delete its objects and their versions.",
  AuthorizationHeaderMalformed: "The bucket is in another region. Check `EVIDENCE_S3_REGION`.",
  PermanentRedirect: "The bucket is in another region. Check `EVIDENCE_S3_REGION` and `EVIDENCE_S3_ENDPOINT`.",
  RequestTimeTooSkewed: "The clock of this machine is wrong. Set it.",
};

/** Why a bucket cannot be used, and what mends it. */
export function explained({ name, endpoint, region }: Config["evidenceS3"] & { name: string }, error: unknown): string {
  const at = endpoint ?? `AWS (${region})`;
  const code = (error as S3Error).name;
  const mend =
    mends[code] ??
    (isPassing(error) ? "See that the server runs, and that this machine reaches it." : "Check `EVIDENCE_S3_ENDPOINT` and the bucket.");
  return `\`EVIDENCE_STORE\`: ${name} at ${at} cannot be used: ${saidBy(error)}. ${mend}`;
}
