import type { ProblemError } from "../kernel/errors.ts";
import type { Row } from "./command.ts";

/** A refusal with what can be done about it, so that nothing of what was typed is lost. */
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
