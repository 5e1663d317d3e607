import { judgeOf, type Judge } from "../contract/judge.ts";
import { routeTable } from "../../src/features.ts";
import { decisionPermissions, everyPermission, type Command, type Community } from "./community.ts";
import { nextAsk, nextCommand, permissionsFor, policyOf, type Ask, type Climber, type Dice, type Said } from "./steps.ts";
import { isInScopes, type PolicyRoute } from "../contract/policy.ts";
import { acceptIn } from "../features/confirmations-ground.ts";

/** What came of one call. */
export interface Step {
  did: string;
  status: number;
  code: string;
}

const operations = new Map(routeTable().map(({ spec }) => [spec.operationId, spec]));

/** The route an operation of a slash command stands for. */
function routeOf(operation: string): PolicyRoute | undefined {
  const spec = operations.get(operation);
  return spec === undefined ? undefined : policyOf({ method: spec.method.toUpperCase(), path: spec.path });
}

/** Whether the page lets these permissions through to a route, for somebody or about their own data. */
function mayPass(
  route: PolicyRoute,
  held: readonly string[],
  { type, isOwn, body }: { type?: string | undefined; isOwn: boolean; body?: unknown },
): boolean {
  if (route.permission === null || isOwn) return true;
  const [first, ...either] = permissionsFor({ ...route, also: null }, type);
  if (route.also !== null && !held.includes(route.also)) return false;
  const decision = (body as { decision?: string } | undefined)?.decision;
  if (route.path.endsWith("/decision") && decision !== undefined) {
    const needed = decisionPermissions[decision]?.replace("{type}", type ?? "") ?? null;
    return needed === null || held.includes(needed);
  }
  return [first, ...either].some((key) => key !== undefined && held.includes(key));
}

export type Player = ReturnType<typeof createPlayer>;

/** Plays the steps of climbers over HTTP and in Discord. */
export function createPlayer(community: Community) {
  const { world, client, records, commands } = community;
  const judge: Judge = judgeOf(world.app.http.document());

  async function send({ route, path, body, credential, actor }: Ask) {
    const text = body === undefined ? undefined : JSON.stringify(body);
    const proof = actor === undefined ? undefined : credential.sign?.(actor, route.method, path, text);
    const headers = {
      authorization: `Bearer ${credential.text}`,
      ...(actor !== undefined && { "x-acting-user": actor }),
      ...(proof !== undefined && { "x-acting-assertion": proof }),
      ...(text !== undefined && { "content-type": "application/json", "content-length": Buffer.byteLength(text).toString() }),
    };
    const answer = await client.send(world.url + path, { method: route.method, headers, body: text });
    const isJson = answer.headers["content-type"]?.includes("json") === true && answer.text !== "";
    return {
      status: answer.status,
      headers: new Headers(answer.headers as Record<string, string>),
      body: isJson ? JSON.parse(answer.text) : answer.text,
    };
  }

  function learn(climber: Climber, { route, path, body: sent }: Ask, status: number, body: any): void {
    if (status >= 300 || typeof body !== "object") return;
    records.learn({ status, template: route.path, path }, body);
    const { data } = body;
    if (status === 202 && typeof data?.id === "string") climber.confirmations.push(data.id);
    if (typeof data?.key !== "string" || !data.key.startsWith("prv_live_")) return;
    // The answer of a change that waits says less about the key.
    const scopes: string[] = data.scopes ?? (sent as { scopes?: string[] } | undefined)?.scopes ?? [];
    const id = data.key_id === undefined ? "" : data.id;
    climber.credentials.push({ name: "learned", id, text: data.key, scopes, names: data.delegation === "none" ? "nobody" : "anybody" });
    climber.keyIds.push(data.key_id ?? data.key.slice(9, 21));
  }

  async function ask(dice: Dice, climber: Climber): Promise<{ step: Step; problems: string[] }> {
    const asked = nextAsk(dice, climber, community);
    const { route, path, body, credential, actor, type } = asked;
    const answer = await send(asked);
    const { status } = answer;
    learn(climber, asked, status, answer.body);
    const about = /\{(\w*user_id)\}/.exec(route.path)?.[1];
    const isOwn = route.own !== null && about === route.own && actor !== undefined && path.split("/")[2] === actor;
    const held = climber.held.filter((key) => isInScopes(credential.scopes, key));
    const did = `${route.method} ${path} ${JSON.stringify(body)} with ${credential.name} (${credential.scopes.join(" ")}) for ${actor === climber.id ? "themself" : (actor ?? "nobody")}`;
    const isPersonal = route.isPersonal && actor !== undefined;
    const isAllowed = mayPass(route, held, { type, isOwn: isOwn || isPersonal, body });
    return {
      step: { did, status, code: answer.body.code ?? "" },
      problems: [
        ...judge.check({ method: route.method, path }, answer),
        ...(status < 300 && !isAllowed ? [`answered ${status.toString()} without the permission`] : []),
      ],
    };
  }

  async function command(dice: Dice, climber: Climber): Promise<{ step: Step; problems: string[] }> {
    const said: Said = nextCommand(dice, climber, community);
    const from = commands.length;
    const person = community.userOf(climber.id);
    const reply =
      said.words === "confirm accept"
        ? await acceptIn(world, person, String(said.options?.["code"]))
        : await world.slash(person, said.words, said.options);
    const done = commands.slice(from).filter(({ isDone }) => isDone);
    const key = /prv_live_\w+/.exec(reply)?.[0];
    if (key !== undefined) {
      climber.credentials.push({
        name: "learned",
        id: "",
        text: key,
        scopes: String(said.options?.["scopes"] ?? "").split(" "),
        names: "anybody",
      });
      climber.keyIds.push(key.slice(9, 21));
    }
    const code = /`([A-Z2-9]{6})`/.exec(reply)?.[1];
    if (code !== undefined) climber.confirmations.push(code);
    const wrong = done.filter((one) => !isOpenInDiscord(one, climber));
    const wrote = done.some(({ operation }) => operations.get(operation)?.method !== "get");
    return {
      step: { did: `/${said.words} ${shown(said)}`, status: wrote ? 200 : 403, code: "" },
      problems: wrong.map(({ operation }) => `${operation} was carried out without the permission`),
    };
  }

  function isOpenInDiscord({ operation, params }: Command, { held, id }: Climber): boolean {
    const route = routeOf(operation);
    if (route === undefined) return true;
    const isOwn = (route.own !== null && params[route.own] === id) || route.isPersonal;
    return mayPass(route, held, { type: params["type"], isOwn });
  }

  return { ask, command, send };
}

/** The options of a command, people and roles by their ids. */
const shown = ({ options }: Said): string => JSON.stringify(options, (_name, value: unknown) => (isNamed(value) ? value.id : value));
const isNamed = (value: unknown): value is { id: string } => typeof value === "object" && value !== null && "id" in value;

/** Who holds what, everywhere and in the guild. */
export function heldBy({ world }: Community, userId: string): Set<string> {
  const access = world.app.access.of(userId);
  const places = [undefined, world.guild.id];
  return new Set(places.flatMap((place) => everyPermission.filter((key) => access.isStaff && access.decide(key, place).allowed)));
}

/** What somebody holds after that they did not hold before. */
export const gained = (before: ReadonlySet<string>, after: ReadonlySet<string>): string[] => [...after].filter((key) => !before.has(key));

export interface KeyState {
  keyId: string;
  scopes: readonly string[];
  delegation: string;
  publicKey: string;
  isActive: boolean;
  expiresAt: number;
}

/** Every key as it stands. */
export async function keysOf({ world }: Community): Promise<Map<string, KeyState>> {
  const rows = await world.app.database.read.apiKey.findMany();
  return new Map(
    rows.map((row) => [
      row.id,
      {
        keyId: row.keyId,
        scopes: row.scopes as string[],
        delegation: row.delegation,
        publicKey: JSON.stringify(row.publicKey),
        isActive: row.revokedAt === null,
        expiresAt: row.expiresAt.getTime(),
      },
    ]),
  );
}

/** The permissions among these scopes, by the page. */
export const within = (scopes: readonly string[]): string[] => everyPermission.filter((key) => isInScopes(scopes, key));
