import { expect } from "vitest";
import { catalog } from "../../src/kernel/permissions.ts";
import type { User } from "../../sandbox/index.ts";
import { createSigning, type Community, type Credential } from "./community.ts";
import type { Player, Step } from "./play.ts";
import { policyOf, type Ask, type Climber, type Dice, type Said } from "./steps.ts";
import { acceptIn } from "../features/confirmations-ground.ts";

export const dangerous: ReadonlySet<string> = new Set(catalog.filter(({ danger }) => danger).map(({ key }) => key));
const because = "Asked for by the person by mail.";
export const managing = [
  "permissions.read",
  "permissions.users.manage",
  "permissions.roles.manage",
  "staffroles.manage",
  "clients.manage",
  "users.redact",
];

/** What somebody can do who is alone, with every key that they could make. */
export interface Loner extends Climber {
  user: User;
  sign: ReturnType<typeof createSigning>;
}

const stepOf = (did: string, status: number, code: string): Step => ({ did, status, code });

/** Asks for what needs two. */
function wanted(
  dice: Dice,
  loner: Loner,
  { people, world, discord }: Community,
): { path: string; method: string; template: string; body?: object } {
  const user = dice.chance(0.3) ? loner.id : dice.pick([...people.values()]);
  const key = dice.pick(loner.keyIds);
  const pair = loner.sign.jwk;
  const redaction = () => ({
    method: "POST",
    template: "/users/{discord_user_id}/redaction",
    path: `/users/${world.member().id}/redaction`,
    body: { reason: because },
  });
  return dice.pick([
    redaction,
    redaction,
    redaction,
    () => ({
      method: "PATCH",
      template: "/permissions/users/{discord_user_id}",
      path: `/permissions/users/${user}`,
      body: { overrides: [{ key: dice.pick([...dangerous]), effect: "allow", reason: because }] },
    }),
    () => ({
      method: "PATCH",
      template: "/permissions/roles/{role_key}",
      path: `/permissions/roles/${dice.pick(["viewer", "moderator", "senior"])}`,
      body: { allow: [dice.pick([...dangerous].filter((one) => one !== "system.act"))] },
    }),
    () => ({ method: "PATCH", template: "/staffroles/{key}", path: "/staffroles/viewer", body: { level: "admin" } }),
    () => ({
      method: "PUT",
      template: "/staffroles/{key}",
      path: "/staffroles/mine",
      body: { name: "Mine", rank: 20, level: "admin", discord: [{ guild_id: world.guild.id, role_id: discord.spare.id }] },
    }),
    () => ({
      method: "POST",
      template: "/keys",
      path: "/keys",
      body: { name: "mine", scopes: dice.pick([["*"], ["clients.manage", "users.redact", "permissions.read"]]), delegation: "trusted" },
    }),
    () => ({
      method: "POST",
      template: "/keys",
      path: "/keys",
      body: { name: "mine", scopes: ["*"], delegation: "signed", public_key: pair },
    }),
    () => ({ method: "POST", template: "/keys/{id}/rotate", path: `/keys/${key}/rotate`, body: dice.pick([{}, { grace_seconds: 0 }]) }),
    () => ({
      method: "PATCH",
      template: "/keys/{id}",
      path: `/keys/${key}`,
      body: dice.pick([{ public_key: pair }, { delegation: "trusted" }, { scopes: ["*"] }]),
    }),
  ])();
}

/** Plays the steps of somebody who is alone. */
export function createLonerSteps(community: Community, player: Player) {
  const { world, people } = community;

  async function send(asked: Omit<Ask, "type">, loner: Loner): Promise<Step> {
    const { route, path, body, credential, actor } = asked;
    const answer = await player.send({ ...asked, type: undefined });
    const { data } = answer.body;
    if (answer.status === 202) loner.confirmations.push(data.id);
    if (answer.status < 300 && typeof data?.key === "string" && data.key.startsWith("prv_live_"))
      loner.credentials.push(learned(data.key, body, loner));
    const did = `${route.method} ${path} ${JSON.stringify(body)} with ${credential.name} for ${actor === loner.id ? "themself" : (actor ?? "nobody")}`;
    return stepOf(did, answer.status, answer.body.code ?? "");
  }

  function learned(text: string, body: unknown, loner: Loner): Credential {
    const keyId = text.slice(9, 21);
    loner.keyIds.push(keyId);
    const isSigned = (body as { delegation?: string } | undefined)?.delegation === "signed";
    return { name: "learned", id: keyId, text, scopes: ["*"], names: "anybody", ...(isSigned && { sign: loner.sign.signFor(keyId) }) };
  }

  const actorFor = (dice: Dice, { names }: Credential, { id }: Loner): string | undefined => {
    if (names === "nobody") return undefined;
    // Only few of the others may do grave things.
    const others = dice.chance(0.7) ? ["owner", "colleague", "another"].flatMap((name) => people.get(name) ?? []) : [...people.values()];
    return names === "holder" || dice.chance(0.5) ? id : dice.pick(others);
  };

  return {
    async ask(dice: Dice, loner: Loner): Promise<Step> {
      const credential = dice.pick(loner.credentials);
      const { method, template, path, body } = wanted(dice, loner, community);
      return send({ route: policyOf({ method, path: template }), path, body, credential, actor: actorFor(dice, credential, loner) }, loner);
    },
    async say(dice: Dice, loner: Loner): Promise<Step> {
      const credential = dice.pick(loner.credentials);
      const word = dice.chance(0.9) ? "confirm" : "decline";
      const path = `/confirmations/${dice.pick(loner.confirmations.slice(-4))}/${word}`;
      const route = policyOf({ method: "POST", path: `/confirmations/{id}/${word}` });
      return send({ route, path, body: undefined, credential, actor: actorFor(dice, credential, loner) }, loner);
    },
    async sayInDiscord(dice: Dice, loner: Loner): Promise<Step> {
      const said: Said = { words: "confirm accept", options: { code: dice.pick(loner.confirmations.slice(-4)) } };
      const reply = await acceptIn(world, loner.user, String(said.options?.["code"]));
      const code = /`?(\w+_\w+)`?\W*$/.exec(reply)?.[1] ?? "";
      return stepOf(`/confirm accept ${String(said.options?.["code"])}`, code === "" ? 200 : 409, code);
    },
  };
}

/** A change that waits for a second person, asked for by a colleague who is somebody else. */
export async function askedByColleague(community: Community, colleague: User): Promise<string> {
  const { world } = community;
  const held = await world.post(`/users/${world.member().id}/redaction`, { reason: because }, { actor: colleague, signed: true });
  expect(held.status, JSON.stringify(held.body)).toBe(202);
  if (held.body.data.needs.includes("acting_user")) await acceptIn(world, colleague, held.body.data.code);
  return held.body.data.id;
}

/**
 * Somebody with the keys that they have made before, with the word of a colleague where that was needed. A trusted key of the operator may ask
 * in any name, as docs/confirmations.md says: it is there to be rotated, and its secret is not theirs.
 */
export async function createLoner(community: Community, dice: Dice, colleague: User): Promise<Loner> {
  const { world, audience } = community;
  const isOwner = dice.chance(0.5);
  const user = await community.newcomer(isOwner ? "owner" : "solo");
  await community.restore(isOwner ? [] : managing);
  const sign = createSigning(audience);
  const site = await community.makeKey(["*"], "anybody", "the operator's, trusted");
  const loner: Loner = { user, id: user.id, held: [], credentials: [], keyIds: [], confirmations: [], sign };
  const scopes = isOwner ? ["*"] : managing;
  const pairOf = createSigning(audience);
  for (const more of [{ delegation: "trusted" }, { delegation: "signed", public_key: sign.jwk }]) {
    const made = await world.post("/keys", { name: "theirs", scopes, ...more }, { actor: user, signed: true });
    expect(made.status, JSON.stringify(made.body)).toBeLessThan(300);
    const { key: text, code } = made.body.data;
    if (made.status === 202) for (const who of [user, colleague]) await acceptIn(world, who, code);
    const keyId = text.slice(9, 21);
    const isSigned = more.delegation === "signed";
    loner.credentials.push({
      name: `theirs, ${more.delegation}`,
      id: keyId,
      text,
      scopes,
      names: "anybody",
      ...(isSigned && { sign: sign.signFor(keyId) }),
    });
    loner.keyIds.push(keyId);
  }
  // A key of somebody else, whose secret and private key they do not have.
  const other = await world.post(
    "/keys",
    { name: "other", scopes: ["users.redact", "permissions.read"], delegation: "signed", public_key: pairOf.jwk },
    { actor: colleague, signed: true },
  );
  loner.keyIds.push(String(other.body.data.key).slice(9, 21), site.id);
  return loner;
}
