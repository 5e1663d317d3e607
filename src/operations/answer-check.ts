import { z } from "zod";
import { isHeld } from "../kernel/held.ts";
import type { Page } from "../kernel/page.ts";
import { annotated, type Route } from "./route.ts";

/** For tests: the same route, which throws an Error when an answer does not fit the schema the document promises. */
export function withAnswerCheck(route: Route): Route {
  const { spec, handle } = route;
  const { schema, shape, notes = z.object({}) } = spec.success;
  if (shape === "raw") return route;
  const check = (answer: unknown): void => {
    if (spec.confirmable === true && isHeld(answer)) return;
    if (shape === "list") notes.strict().parse((answer as Page<unknown>).notes ?? {});
    const views = shape === "list" ? (answer as Page<unknown>).data : [annotated(answer).view];
    for (const view of views) {
      const checked = schema.safeParse(view);
      if (!checked.success) throw new Error(`${spec.operationId} answers what it does not promise: ${z.prettifyError(checked.error)}`);
    }
  };
  return {
    spec,
    async handle(input) {
      const answer = await handle(input);
      check(answer);
      return answer;
    },
  };
}
