import { ZodError } from "zod";
import { ProblemError, problems } from "../kernel/errors.ts";
import type { Reply } from "./command.ts";
import { english, escapeText, type Translate } from "./replies.ts";
import { sentenceText } from "./sentence.ts";

/** Translates a refusal into a reply; undefined if the error is not a refusal and has to be logged. */
export function refusalReply(error: unknown, t: Translate = english): Reply | undefined {
  if (error instanceof ZodError) return refusalReply(problemOf(error), t);
  if (!(error instanceof ProblemError)) return undefined;
  const lines = [`${titleOf(error, t)}.`];
  if (error.detail !== undefined) lines.push(sentenceText(error.detail, t));
  for (const { pointer, detail } of error.errors ?? []) lines.push(`• ${escapeText(pointer.slice(1))}: ${sentenceText(detail, t)}`);
  if (error.retryAfter !== undefined)
    lines.push(t("door wait", { at: `<t:${(Math.ceil(Date.now() / 1000) + error.retryAfter).toString()}:R>` }));
  lines.push(`-# ${error.code}`);
  return { content: lines.join("\n") };
}

/** The title of a refusal in the language of `t`, or else in English. */
function titleOf({ code }: ProblemError, t: Translate): string {
  const key = `problem ${code}` as const;
  const title = t(key);
  return title === key ? problems[code].title : title;
}

function problemOf(error: ZodError): ProblemError {
  const errors = error.issues.map((issue) => ({
    pointer: `/${issue.path.join("/")}`,
    in: "body" as const,
    code: issue.code,
    detail: issue.message,
  }));
  return new ProblemError("validation_failed", { errors });
}

/** What goes with a refusal, so that the input is not lost: buttons for another attempt, files, further lines. */
export type Offer = Pick<Reply, "components" | "files"> & { notes?: readonly string[] };

/** A refusal, or an unexpected error, with an offer. */
export class RefusedWithOffer extends Error {
  readonly refusal: unknown;
  readonly offer: Offer;

  constructor(refusal: unknown, offer: Offer) {
    super("refused with an offer", { cause: refusal });
    this.name = "RefusedWithOffer";
    this.refusal = refusal;
    this.offer = offer;
  }
}
