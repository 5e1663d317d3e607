import { z } from "zod";
import { isHeld } from "../kernel/held.ts";
import type { Page } from "../kernel/page.ts";
import { annotated, type Route, type RouteSpec } from "./route.ts";

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

export interface KnownPermissions {
  /** Every permission of the catalog. */
  permissions: ReadonlySet<string>;
  /** The values a `{param}` placeholder of a permission stands for, in the permission's own spelling. */
  expansions: Readonly<Record<string, readonly string[]>>;
}

/**
 * Refuse to start with a route that nobody guards or that hides another.
 * @throws Error naming the route
 */
export function checkRoutes(
  routes: readonly Route[],
  pages: readonly { spec: Pick<RouteSpec, "method" | "path" | "operationId"> }[],
  known: KnownPermissions,
): void {
  const seen = new Map<string, string>();
  for (const { spec } of [...routes, ...pages]) {
    const name = `${spec.method.toUpperCase()} ${spec.path}`;
    refuseTwin(seen, `${spec.method} ${spec.path.replace(/\{\w+\}/g, "{}")}`, name, "answers the same requests as");
    refuseTwin(seen, spec.operationId, name, "has the operationId of");
  }
  for (const { spec } of routes) {
    if ("public" in spec.access) continue;
    const name = `${spec.method.toUpperCase()} ${spec.path}`;
    const { permission: first, also = first, either = [] } = spec.access;
    for (const permission of [first, also, ...either].flatMap((one) => expand(one, known.expansions, name))) {
      if (!known.permissions.has(permission))
        throw new Error(`${name} needs the permission "${permission}", which the catalog does not know`);
    }
    if (spec.access.own !== undefined && !spec.path.includes(`{${spec.access.own}}`)) {
      throw new Error(`${name} names "${spec.access.own}" as its own person, which is no parameter of its path`);
    }
  }
}

function refuseTwin(seen: Map<string, string>, key: string, name: string, how: string): void {
  const other = seen.get(key);
  if (other !== undefined) throw new Error(`${name} ${how} ${other}`);
  seen.set(key, name);
}

function expand(permission: string, expansions: KnownPermissions["expansions"], name: string): string[] {
  const placeholder = /\{(\w+)\}/.exec(permission);
  if (placeholder?.[1] === undefined) return [permission];
  const values = expansions[placeholder[1]];
  if (values === undefined) throw new Error(`${name} fills its permission from {${placeholder[1]}}, whose values are not known`);
  return values.flatMap((value) => expand(permission.replace(placeholder[0], value), expansions, name));
}
