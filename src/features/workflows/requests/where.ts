import { say, serverId } from "../../../kit/say.ts";
import type { Tx } from "../../../database/database.ts";
import type { GuildState } from "../../../discord/guild-state.ts";
import type { Call } from "../../../kernel/call.ts";
import { ProblemError, validationProblem, type FieldError } from "../../../kernel/errors.ts";
import { jsonObject } from "../../../kernel/parsing.ts";
import type { Kind } from "../kinds/kind.ts";

/** A server of the community; the name is null until the bot has seen it. */
export interface ServedServer {
  id: string;
  name: string | null;
}

/** The servers that the service acts in, in the order of `GUILD_IDS`. */
export type ServedServers = () => readonly ServedServer[];

export function createServedServers(guildIds: readonly string[], guildState: Pick<GuildState, "guilds">): ServedServers {
  return () => {
    const names = new Map(guildState.guilds().map(({ id, name }) => [id, name]));
    return guildIds.map((id) => ({ id, name: names.get(id) ?? null }));
  };
}

interface Asked {
  kind: Kind;
  payload: Record<string, unknown>;
  served: ServedServers;
  /** Where a field stands in what was sent, as its client spells it. */
  pointerTo(path: readonly PropertyKey[]): string;
  /** What would have been accepted, with servers named. */
  example?(body: object): object;
}

const maxListed = 25;

/**
 * The payload of a request that says where it applies. A slash command means its own server and an installation with one server means that;
 * anything else that acts in Discord names its servers, or says `everywhere`.
 * @throws ProblemError validation_failed with `servers`, and an `example` where none were named
 */
export function placed(tx: Pick<Tx, "call">, asked: Asked): Record<string, unknown> {
  const { kind, payload, served, pointerTo } = asked;
  const { place } = kind;
  if (place === undefined) return payload;
  const path = place.servers.split(".");
  const named = serversIn(kind, payload);
  const ours = served();
  if (named.length > 0) {
    const limit = place.unlimited?.(payload);
    if (limit !== undefined) throw validationProblem([{ pointer: pointerTo(path), in: "body", code: "not_offered", detail: limit }]);
    const known = new Set(ours.map(({ id }) => id));
    const isOther = (id: string): boolean => place.isOursAlone === true && !known.has(id);
    const errors = named.flatMap((id, index) => (isOther(id) ? [unknownServer(pointerTo([...path, index]), id)] : []));
    if (errors.length > 0) throw refused(errors, ours);
    return payload;
  }
  if (place.acts?.(payload) !== true || valueAt(payload, place.everywhere.split(".")) === true) return payload;
  const meant = ownServer(tx.call, ours) ?? (ours.length === 1 ? ours[0]?.id : undefined);
  if (meant !== undefined) return withValue(payload, path, [meant]);
  const names = ours
    .slice(0, maxListed)
    .map(({ id, name }) => (name === null ? id : `${name} (${id})`))
    .join(", ");
  const detail = say("workflows.name-the-servers-it-applies-in-as", { names });
  const body = place.example?.(payload, ours[0]?.id ?? "") ?? {};
  throw refused([{ pointer: pointerTo(["guild_ids"]), in: "body", code: "required", detail }], ours, asked.example?.(body) ?? body);
}

/** The servers that a payload names. */
export function serversIn({ place }: Pick<Kind, "place">, payload: Record<string, unknown>): string[] {
  const value = place === undefined ? undefined : valueAt(payload, place.servers.split("."));
  return Array.isArray(value) ? value.filter((id) => typeof id === "string") : [];
}

/** The server in which a slash command, a menu or a form was used. */
function ownServer({ via, guildId }: Call, ours: readonly ServedServer[]): string | undefined {
  return via === "slash" && ours.some(({ id }) => id === guildId) ? guildId : undefined;
}

function unknownServer(pointer: string, id: string): FieldError {
  return { pointer, in: "body", code: "unknown_server", detail: say("workflows.the-bot-does-not-serve-the-server", { id: serverId(id) }) };
}

/** Which servers there are is said beside what is wrong, so that the next try can name them. */
function refused(errors: readonly FieldError[], ours: readonly ServedServer[], example?: object): ProblemError {
  const { code, detail = "", errors: listed = [] } = validationProblem(errors);
  return new ProblemError(code, { detail, errors: listed, extra: { servers: ours, ...(example !== undefined && { example }) } });
}

function valueAt(payload: Record<string, unknown>, [field = "", part]: readonly string[]): unknown {
  const value = payload[field];
  if (part === undefined) return value;
  return typeof value === "object" && value !== null ? (value as Record<string, unknown>)[part] : undefined;
}

function withValue(payload: Record<string, unknown>, [field = "", part]: readonly string[], value: unknown): Record<string, unknown> {
  return { ...payload, [field]: part === undefined ? value : { ...jsonObject(payload[field]), [part]: value } };
}
