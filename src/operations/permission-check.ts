import { can, requirePermission, requireWrite, type Call } from "../kernel/call.ts";
import { type Denial, isDenial, requiredBy } from "../kernel/denied.ts";
import type { PermissionKey, RoutePermission } from "../kernel/permissions.ts";
import { isSnowflake } from "../kernel/fields.ts";
import { redact } from "../kernel/secrets.ts";
import type { PathParams, RouteSpec } from "./route.ts";

/**
 * A check of the caller's permission, made once per route. An acting user who was named badly is nobody, and refused with the content. A
 * path parameter that makes no permission of the catalog fails its own schema right afterwards, for those who hold another of its kind. Throws ProblemError as the kernel's `requireWrite`.
 */
export function createPermissionCheck(
  spec: RouteSpec,
  known: ReadonlySet<string>,
): (call: Call, params: PathParams, isActorMalformed: boolean) => void {
  const { access } = spec;
  if ("public" in access) return () => undefined;
  const isWrite = spec.write ?? spec.method !== "get";
  const permissionFor = permissionOf(access);
  const pattern = new RegExp(`^${access.permission.replaceAll(".", "\\.").replace(/\{\w+\}/g, "[^.]+")}$`);
  const family = [...known].filter((one): one is PermissionKey => pattern.test(one));
  const othersFor = (access.either ?? []).map((permission) => permissionOf({ permission }));
  return (call, params, isActorMalformed) => {
    const own = access.own === undefined ? undefined : params[access.own];
    const isItself = access.itself !== undefined && call.actor === null && call.client?.id === params[access.itself];
    const require = isWrite && !isActorMalformed && !isItself ? requireWrite : requirePermission;
    const permission = permissionFor(params);
    const others = call.actor === null ? [] : othersFor.map((other) => other(params));
    const asked = [permission, ...others].filter((one) => known.has(one));
    const held = asked.find((one) => can(call, one));
    // Anyone who holds none of them is let in by the key alone: whether it is their own matter is for the service method to find out.
    const inKey =
      held === undefined && access.personal === true && call.actor !== null ? asked.find((one) => allows(call, one)) : undefined;
    if (inKey !== undefined) require(call, inKey, { own: call.actor?.id });
    else if (known.has(permission)) require(call, held ?? permission, { own });
    else if (!family.some((one) => can(call, one))) require(call, permission, { own });
    if (access.also !== undefined) require(call, access.also, { own });
  };
}

/** The call as one about the guild that its path names, if it names one. */
export function aboutPath(call: Call, { guild_id: guildId }: PathParams): Call {
  return guildId === undefined ? call : { ...call, aboutGuildId: guildId };
}

const allows = ({ client }: Call, permission: string): boolean => client?.allows(permission) ?? true;

/** The boot check refuses routes whose permission is not in the catalog; a path may still name a kind that does not exist. */
export function permissionOf({ permission }: { permission: RoutePermission }): (params: PathParams) => PermissionKey {
  const isWhole = (key: RoutePermission): key is PermissionKey => !key.includes("{");
  if (isWhole(permission)) return () => permission;
  const filled = (params: PathParams): string =>
    permission.replace(/\{(\w+)\}/g, (_match, name: string) => (params[name] ?? "").toLowerCase().replaceAll("_", "-"));
  return (params) => filled(params) as PermissionKey;
}

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
      ...(subject !== undefined && isSnowflake(subject) && { subjectUserId: subject }),
      isAboutRecord,
    };
  };
}

/** A path may hold anything, even a key. */
function shortened(id: string): string {
  return redact(id).slice(0, 100);
}
