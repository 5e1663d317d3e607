import { isDenial, requiredBy } from "../kernel/denied.ts";
import { permissionOf } from "./admission.ts";
import type { DoorGround, PathParams } from "./door.ts";
import type { Exchange } from "./exchange.ts";
import type { RouteSpec } from "./route.ts";

/** Tells who was refused at a door for lack of rights, and what the path named; nothing of the content. */
export type Denials = (exchange: Exchange, params: PathParams, error: unknown, isAboutRecord: boolean) => void;

/** @returns what a route tells about its refusals, made once per route */
export function createDenials(
  { access, path, operationId }: RouteSpec,
  { noteDenied, knownPermissions }: Pick<DoorGround, "noteDenied" | "knownPermissions">,
): Denials {
  const permissionFor = "permission" in access ? permissionOf(access) : () => operationId;
  const kind = path.split("/")[1] ?? "";
  return (exchange, params, error, isAboutRecord) => {
    const { caller } = exchange;
    if (noteDenied === undefined || caller === undefined || !isDenial(error)) return;
    const named = Object.entries(params).find(([name]) => name !== "type");
    const subject = params["discord_user_id"];
    const action = [requiredBy(error), permissionFor(params)].find((name) => name !== undefined && knownPermissions.has(name));
    noteDenied({
      caller,
      action: action ?? operationId,
      code: error.code,
      ...(named !== undefined && { target: { kind, id: shortened(named[1]) } }),
      ...(subject !== undefined && /^\d{17,20}$/.test(subject) && { subjectUserId: subject }),
      isAboutRecord,
    });
  };
}

/** A path may hold anything. */
function shortened(id: string): string {
  return id.slice(0, 100);
}
