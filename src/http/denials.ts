import { type Denial, isDenial, requiredBy } from "../kernel/denied.ts";
import { permissionOf } from "./admission.ts";
import { redact } from "../kernel/redact.ts";
import type { PathParams } from "./door.ts";
import type { RouteSpec } from "./route.ts";

/** What a refusal was about, when it was for lack of rights: what the path named, and nothing of the content. */
export type Denials = (params: PathParams, error: unknown, isAboutRecord: boolean) => Denial | undefined;

/** @returns what is told about the refusals of a route, made once per route */
export function createDenials({ access, path, operationId }: RouteSpec, knownPermissions: ReadonlySet<string>): Denials {
  const permissionFor = "permission" in access ? permissionOf(access) : () => operationId;
  const kind = path.split("/")[1] ?? "";
  return (params, error, isAboutRecord) => {
    if (!isDenial(error)) return undefined;
    const named = Object.entries(params).find(([name]) => name !== "type");
    const subject = params["discord_user_id"];
    const action = [requiredBy(error), permissionFor(params)].find((name) => name !== undefined && knownPermissions.has(name));
    return {
      action: action ?? operationId,
      code: error.code,
      ...(named !== undefined && { target: { kind, id: shortened(named[1]) } }),
      ...(subject !== undefined && /^\d{17,20}$/.test(subject) && { subjectUserId: subject }),
      isAboutRecord,
    };
  };
}

/** A path may hold anything, even a key. */
function shortened(id: string): string {
  return redact(id).slice(0, 100);
}
