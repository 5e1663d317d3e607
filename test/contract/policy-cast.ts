import { requireDone, isHeld } from "../../src/kernel/held.ts";
import { systemCall } from "../../src/kernel/call.ts";
import { uuid7 } from "../../src/kernel/ids.ts";
import type { Role, User } from "../../sandbox/index.ts";
import { ladder, type Answer, type AskOptions, type Level, type World } from "../support/world.ts";
import { claimsFor, createPair, jws } from "../support/signer.ts";
import { freshId } from "./document.ts";
import { policyPermissions, type Caller } from "./policy.ts";

/** Somebody a call may be made for; without an id nobody is named. */
export interface Person {
  name: string;
  id: string | null;
  actor: Caller["actor"];
}

/** A key as it is sent, and what is known about it. */
export interface Key {
  name: string;
  /** Makes the key when it is first asked for: most of a ring are never sent in the quick tier. */
  text: () => Promise<string> | null;
  key: Caller["key"];
  /** Makes the assertion that goes with a request. */
  prove?: (request: { method: string; path: string; body?: string; userId: string }) => string;
}

const outside = { isStaff: false, level: "none", isSuspended: false };

/** Everybody there can be: nobody, a stranger, a member, staff of every level, and one who is suspended. */
export async function createPeople(world: World): Promise<Person[]> {
  const powerless = world.guild.createRole("powerless");
  const staff = async (level: Level): Promise<Person> => ({
    name: level,
    id: (await world.staff(level)).id,
    actor: { isStaff: true, level, isSuspended: false },
  });
  const ranks: Person[] = [];
  for (const level of Object.keys(ladder).toReversed() as Level[]) ranks.push(await staff(level));
  const suspended = await staff("moderator");
  const helper = await createHelper(world, powerless);
  await accept(world.post(`/staff/${suspended.id ?? ""}/suspend`, { reason: "Until this is cleared up." }, await asSystem(world)));
  return [
    { name: "nobody named", id: null, actor: null },
    { name: "stranger", id: freshId(), actor: outside },
    { name: "member", id: world.member("member").id, actor: outside },
    { name: "staff without a level", id: helper.id, actor: { ...outside, isStaff: true } },
    ...ranks,
    { ...suspended, name: "suspended moderator", actor: { isStaff: true, level: "moderator", isSuspended: true } },
  ];
}

/** @param powerless a Discord role the service has heard of by now */
async function createHelper(world: World, powerless: Role): Promise<User> {
  const role = { name: "Powerless", rank: 1, level: "none", discord: [{ guild_id: world.guild.id, role_id: powerless.id }] };
  await accept(world.put("/staffroles/powerless", role, await asSystem(world)));
  const helper = world.member("helper");
  world.guild.setRoles(helper, [powerless]);
  await world.sandbox.waitFor(() => world.app.access.of(helper.id).isStaff);
  return helper;
}

const asSystem = async (world: World): Promise<AskOptions> => ({ key: await world.makeKey(["*", "system.act"]) });

/** The answer to something that is done to set a scene. @throws Error when it was refused */
export async function accept(asked: Promise<Answer>): Promise<Answer> {
  const answer = await asked;
  if (answer.status >= 300) throw new Error(`a scene was answered ${answer.status.toString()}: ${JSON.stringify(answer.body)}`);
  return answer;
}

const everyPermission = policyPermissions.map(({ key }) => key);

/** The kinds of scopes a key can have, seen from a permission. */
function scopesAround(permission: string | null): Record<string, readonly string[]> {
  const unrelated = permission === "system.health.read" ? "staff.read" : "system.health.read";
  const general = { everything: ["*"], "everything and system.act": ["*", "system.act"], "something else": [unrelated] };
  if (permission === null) return general;
  return {
    ...general,
    "exactly it": [permission],
    "it and system.act": [permission, "system.act"],
    "its group": [`${permission.split(".")[0] ?? ""}.*`],
    "all but it": everyPermission.filter((other) => other !== permission),
    "system.act alone": ["system.act"],
  };
}

/** @returns the keys of a permission; each is made once */
export async function createKeyRing(world: World): Promise<(permission: string | null) => Key[]> {
  const made = new Map<string, Promise<string>>();
  const keyOf = (kind: string, scopes: readonly string[], delegation: "none" | "trusted"): Key => {
    const id = `${delegation} ${scopes.join(" ")}`;
    const text = (): Promise<string> => {
      const known = made.get(id) ?? world.makeKey([...scopes], delegation);
      made.set(id, known);
      return known;
    };
    return { name: `${kind}, ${delegation}`, text, key: { scopes, delegation, isProved: false, refusal: null } };
  };
  const always = [...outsideKeys(await revokedKey(world)), ...(await signedKeys(world))];

  return (permission) => {
    const keys: Key[] = [...always];
    for (const [kind, scopes] of Object.entries(scopesAround(permission)))
      for (const delegation of ["none", "trusted"] as const) keys.push(keyOf(kind, scopes, delegation));
    return keys;
  };
}

/** What is sent by somebody who has no key, or none any more. */
function outsideKeys(revoked: string): Key[] {
  const ended = { scopes: ["*"], delegation: "trusted", isProved: false };
  return [
    { name: "no key", text: () => null, key: null },
    { name: "a revoked key", text: () => Promise.resolve(revoked), key: { ...ended, refusal: "401 credential_revoked" } },
    {
      name: "a text that is no key",
      text: () => Promise.resolve("prv_live_aaaaaaaaaaaa_b"),
      key: { ...ended, refusal: "401 invalid_credentials" },
    },
  ];
}

/** A key that names acting users by a signature, with it and without. */
async function signedKeys(world: World): Promise<Key[]> {
  const { privateKey, jwk } = createPair();
  const input = { name: "signed", scopes: ["*"], delegation: "signed" as const, public_key: jwk };
  const made = await world.app.keys.create(systemCall("cli", uuid7()), input);
  if (isHeld(made)) throw new Error("the command line waits for nobody");
  const audience = (await world.get("/health")).body.service.instance_id;
  const key = { scopes: ["*"], delegation: "signed", isProved: false, refusal: null };
  const prove: Key["prove"] = (request) => jws(claimsFor({ ...request, issuer: made.key_id, audience }), privateKey);
  return [
    { name: "everything, signed but not here", text: () => Promise.resolve(made.key), key },
    { name: "everything, signed", text: () => Promise.resolve(made.key), key: { ...key, isProved: true }, prove },
  ];
}

async function revokedKey({ app }: World): Promise<string> {
  const call = systemCall("cli", uuid7());
  const { id, key } = requireDone(await app.keys.create(call, { name: "revoked", scopes: ["*"], delegation: "trusted" }));
  await app.keys.revoke(call, id);
  return key;
}
