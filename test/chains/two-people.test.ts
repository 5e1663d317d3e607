// @module-tag sqlite
import { expect, test } from "vitest";
import { catalog } from "../../src/kernel/permissions.ts";
import { createDice } from "../support/dice.ts";
import { seedOf, sizeOf } from "../support/size.ts";
import type { User } from "../../src/sandbox/index.ts";
import { createCommunity, createSigning, operator, type Community, type Credential } from "./community.ts";
import { createPlayer, gained, heldBy, keysOf, within, type KeyState, type Player, type Step } from "./play.ts";
import { policyOf, type Ask, type Climber, type Dice, type Said } from "./steps.ts";

/** How many chains of up to four calls are made with each of the settings. */
const perSetting = sizeOf({ quick: 60, all: 400, long: 4000 });
const perPerson = 20;
const seed = seedOf(20_261_126);
const both = { SECOND_PERSON_FOR_DANGER: "true", CONFIRM_IN_DISCORD: "permissions,keys,erasure" };
/** Each with what the chains have to run into, so that they are known to try it. */
const settings: [name: string, env: Record<string, string>, refusals: string[]][] = [
  ["a second person and a word in Discord", both, ["invalid_transition"]],
  ["a second person", { SECOND_PERSON_FOR_DANGER: "true" }, ["invalid_transition", "conflict_of_interest"]],
  ["neither, but for redactions", {}, ["invalid_transition"]],
];
const dangerous: ReadonlySet<string> = new Set(catalog.filter(({ danger }) => danger).map(({ key }) => key));
const because = "Asked for by the person by mail.";
const managing = [
  "permissions.read",
  "permissions.users.manage",
  "permissions.roles.manage",
  "staffroles.manage",
  "clients.manage",
  "users.redact",
];

/** What somebody can do who is alone, with every key they could come by. */
interface Loner extends Climber {
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
function createLonerSteps(community: Community, player: Player) {
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
      const reply = await world.slash(loner.user, said.words, said.options);
      const code = /`?(\w+_\w+)`?\W*$/.exec(reply)?.[1] ?? "";
      return stepOf(`/confirm accept ${String(said.options?.["code"])}`, code === "" ? 200 : 409, code);
    },
  };
}

interface Snapshot {
  held: Map<string, Set<string>>;
  keys: Map<string, KeyState>;
  applied: Set<string>;
  erased: number;
}

async function look(community: Community, loner: Loner): Promise<Snapshot> {
  const { read } = community.world.app.database;
  const rows = await read.confirmation.findMany({ where: { status: "applied" } });
  return {
    held: new Map([...community.people.values(), loner.id].map((id) => [id, heldBy(community, id)])),
    keys: await keysOf(community),
    applied: new Set(rows.map(({ id }) => id)),
    erased: await read.erasure.count(),
  };
}

/** What nobody may bring about alone. @param genuine changes that a colleague has asked for themself */
async function breaches({ world }: Community, loner: Loner, before: Snapshot, after: Snapshot, env: object, genuine: ReadonlySet<string>) {
  const fresh = [...after.applied].filter((id) => !before.applied.has(id));
  const rows = await world.app.database.read.confirmation.findMany({ where: { id: { in: fresh } } });
  const found: string[] = [];
  for (const { id, action, actorId, answers } of rows) {
    const isForTwo = (answers as { as: string }[]).some(({ as }) => as === "second_person");
    const isOthers = actorId !== loner.id && "CONFIRM_IN_DISCORD" in env;
    if ((isForTwo || isOthers) && !genuine.has(id)) found.push(`${action} was carried out, asked for ${actorId}`);
  }
  if (fresh.some((id) => genuine.has(id))) return found;
  if (after.erased > before.erased) found.push("somebody was erased");
  if (!("SECOND_PERSON_FOR_DANGER" in env)) return found;
  for (const [id, now] of after.held) {
    const more = gained(before.held.get(id) ?? new Set(), now).filter((key) => dangerous.has(key));
    if (more.length > 0) found.push(`${id} gained ${more.join(", ")}`);
  }
  for (const [id, key] of after.keys) {
    const old = before.keys.get(id);
    const more = within(key.scopes).filter((one) => dangerous.has(one) && !within(old?.scopes ?? []).includes(one));
    const speaks = key.delegation !== "none" && (key.delegation !== old?.delegation || key.publicKey !== old.publicKey);
    if (more.length > 0 || speaks) found.push(`the key ${key.keyId} was given ${speaks ? "a voice" : more.join(", ")}`);
  }
  return found;
}

/** A change that waits for a second person, asked for by a colleague who is somebody else. */
async function askedByColleague(community: Community, colleague: User): Promise<string> {
  const { world } = community;
  const held = await world.post(`/users/${world.member().id}/redaction`, { reason: because }, { actor: colleague, signed: true });
  expect(held.status, JSON.stringify(held.body)).toBe(202);
  if (held.body.data.needs.includes("acting_user")) await world.slash(colleague, "confirm accept", { code: held.body.data.code });
  return held.body.data.id;
}

/** Somebody with the keys that they have made before, with the word of a colleague where that was needed, and those of the operator. */
async function createLoner(community: Community, dice: Dice, colleague: User): Promise<Loner> {
  const { world, audience } = community;
  const isOwner = dice.chance(0.5);
  const user = await community.newcomer(isOwner ? "owner" : "solo");
  await community.restore(isOwner ? [] : managing);
  const sign = createSigning(audience);
  const site = await community.makeKey(["*"], "anybody", "the operator's, trusted");
  const loner: Loner = { user, id: user.id, held: [], credentials: [site], keyIds: [], confirmations: [], sign };
  const scopes = isOwner ? ["*"] : managing;
  const pairOf = createSigning(audience);
  for (const more of [{ delegation: "trusted" }, { delegation: "signed", public_key: sign.jwk }]) {
    const made = await world.post("/keys", { name: "theirs", scopes, ...more }, { actor: user, signed: true });
    expect(made.status, JSON.stringify(made.body)).toBeLessThan(300);
    const { key: text, code } = made.body.data;
    if (made.status === 202) for (const who of [user, colleague]) await world.slash(who, "confirm accept", { code });
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

test.each(settings)(
  `nobody acts as two people by ${perSetting.toString()} chains of calls where grave changes need %s`,
  async (_name, env, refusals) => {
    const ends: (() => Promise<void>)[] = [];
    const dice = createDice(seed);
    const seen = new Map<string, number>();
    let byTwo = 0;
    try {
      const community = await createCommunity(env, (end) => ends.push(end));
      const steps = createLonerSteps(community, createPlayer(community));
      const colleague = await community.newcomer("owner");
      const alone = await community.newcomer("owner");
      community.people.set("colleague", colleague.id);
      community.people.set("another", alone.id);
      for (let done = 0; done < perSetting; done += perPerson) {
        const person = await createLoner(community, dice, colleague);
        let before = await look(community, person);
        for (let number = 0; number < Math.min(perPerson, perSetting - done); number += 1) {
          const genuine = dice.chance(0.3) ? [await askedByColleague(community, dice.chance(0.5) ? colleague : alone)] : [];
          const loner: Loner = { ...person, credentials: [...person.credentials], keyIds: [...person.keyIds], confirmations: [...genuine] };
          const chain: Step[] = [];
          for (let left = dice.pick([2, 3, 4, 4]); left > 0; left -= 1) {
            const kind =
              loner.confirmations.length === 0 || dice.chance(0.35) ? steps.ask : dice.chance(0.5) ? steps.say : steps.sayInDiscord;
            chain.push(await kind(dice, loner));
          }
          const after = await look(community, loner);
          const problems = await breaches(community, loner, before, after, env, new Set(genuine));
          const told = chain.map(({ did, status, code }) => `${did} → ${status.toString()} ${code}`);
          if (problems.length > 0)
            throw new Error([`chain ${(done + number).toString()} (SEED=${seed.toString()}): ${problems.join("; ")}`, ...told].join("\n"));
          if (genuine.some((id) => after.applied.has(id))) byTwo += 1;
          for (const { code } of chain) seen.set(code, (seen.get(code) ?? 0) + 1);
          // What somebody has asked for counts against them: twenty at most.
          await community.world.app.database.write(operator(), ({ db }) =>
            db.confirmation.updateMany({ where: { status: "pending" }, data: { status: "expired" } }),
          );
          await community.restore(person.held.length === 0 && heldBy(community, person.id).has("blacklist.purge") ? [] : managing);
          before = await look(community, loner);
        }
      }
    } finally {
      for (const end of ends) await end();
    }
    expect(byTwo).toBeGreaterThan(perSetting / 60);
    for (const refusal of [...refusals, "confirmation_required"])
      expect([refusal, (seen.get(refusal) ?? 0) >= perSetting / 40]).toEqual([refusal, true]);
  },
  perSetting * 10_000,
);
