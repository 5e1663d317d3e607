import { ZodError } from "zod";
import { ProblemError, problems } from "../kernel/errors.ts";
import type { Reply, Row } from "./command.ts";
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
export function titleOf({ code }: Pick<ProblemError, "code">, t: Translate): string {
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

/** A refusal with buttons that offer another attempt, so that the input is not lost. */
export class RefusedWithOffer extends Error {
  readonly refusal: ProblemError;
  readonly components: readonly Row[];

  constructor(refusal: ProblemError, components: readonly Row[]) {
    super(refusal.message);
    this.name = "RefusedWithOffer";
    this.refusal = refusal;
    this.components = components;
  }
}
