import { z } from "zod";
import { isHeld } from "../kernel/held.ts";
import type { Page } from "../kernel/page.ts";
import { annotated, type RouteSpec } from "./route.ts";

/** @returns a check that throws an Error when an answer does not fit the schema the document promises */
export function createAnswerCheck(spec: RouteSpec): (answer: unknown) => void {
  const { schema, shape, notes = z.object({}) } = spec.success;
  if (shape === "raw") return () => undefined;
  return (answer) => {
    if (spec.confirmable === true && isHeld(answer)) return;
    if (shape === "list") notes.strict().parse((answer as Page<unknown>).notes ?? {});
    const views = shape === "list" ? (answer as Page<unknown>).data : [annotated(answer).view];
    for (const view of views) {
      const checked = schema.safeParse(view);
      if (!checked.success) throw new Error(`${spec.operationId} answers what it does not promise: ${z.prettifyError(checked.error)}`);
    }
  };
}
