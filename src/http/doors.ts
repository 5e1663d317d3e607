import { OpenAPIHono } from "@hono/zod-openapi";
import type { Handler } from "hono";
import { ProblemError } from "../kernel/errors.ts";
import type { Door, PathParams } from "./door.ts";

/** A door and the parameters of the path that led to it. */
export interface Located {
  door: Door;
  params: PathParams;
}

/** Finds doors with Hono's router. */
export interface DoorFinder {
  app: OpenAPIHono;
  find(method: string, path: string): Located | undefined;
  /** The problem of a request no door is for: 405 with the methods the path knows, or 404. */
  missing(path: string): ProblemError;
}

/**
 * Register doors on a Hono app. Parameters are registered by position, so that routes of one shape may name them differently,
 * and fixed paths before those with parameters, so that `/callsigns/next` is never taken for an id.
 * @param toHandler the handler by which Hono itself serves a door
 */
export function createDoorFinder(doors: readonly Door[], toHandler: (door: Door) => Handler): DoorFinder {
  const app = new OpenAPIHono();
  const doorsByHandler = new Map<unknown, { door: Door; names: readonly string[] }>();
  for (const door of doors.toSorted((a, b) => compareSpecificity(a.path, b.path))) {
    const names = [...door.path.matchAll(/\{(\w+)\}/g)].map((match) => match[1] ?? "");
    const handler = toHandler(door);
    doorsByHandler.set(handler, { door, names });
    app.on([door.method], positionalPath(door.path), handler);
  }
  const methods = [...new Set(doors.map((door) => door.method))];

  function find(method: string, path: string): Located | undefined {
    if (!path.startsWith("/")) return undefined;
    const [matches, stash] = app.router.match(method === "HEAD" ? "GET" : method, path);
    const match = matches[0];
    if (match === undefined) return undefined;
    const known = doorsByHandler.get(match[0][0]);
    if (known === undefined) return undefined;
    if (known.names.length === 0) return { door: known.door, params: noParams };
    const params: Record<string, string> = {};
    for (const [index, name] of known.names.entries()) {
      const found = match[1][`p${index}`];
      params[name] = decode(typeof found === "number" ? (stash?.[found] ?? "") : (found ?? ""));
    }
    return { door: known.door, params };
  }

  return {
    app,
    find,
    missing(path) {
      const allowed = methods.filter((other) => find(other, path) !== undefined);
      if (allowed.length === 0) return new ProblemError("route_not_found");
      const allow = (allowed.includes("GET") ? ["HEAD", ...allowed] : allowed).toSorted().join(", ");
      return new ProblemError("method_not_allowed", { detail: `This route knows ${allow}.`, extra: { allow } });
    },
  };
}

const noParams: PathParams = Object.freeze({});

function positionalPath(path: string): string {
  let index = 0;
  return path.replace(/\{\w+\}/g, () => `:p${index++}`);
}

function compareSpecificity(a: string, b: string): number {
  const shape = (path: string): string => path.replace(/\{\w+\}/g, "\u{10ffff}");
  return shape(a) < shape(b) ? -1 : 1;
}

/** Text that is not valid percent encoding stays as it is and fails its schema. */
function decode(text: string): string {
  if (!text.includes("%")) return text;
  try {
    return decodeURIComponent(text);
  } catch {
    return text;
  }
}
