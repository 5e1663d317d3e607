import { beforeAll, describe, expect, test } from "vitest";
import type { User } from "../../sandbox/index.ts";
import { shareWorld, staffAtConsole } from "../contract/world.ts";
import { claimsFor, createPair, jws } from "../support/signer.ts";
import type { Answer } from "../support/world.ts";
import { acceptIn } from "./confirmations-ground.ts";

const shared = shareWorld();
let [owner, second, third]: User[] = [];
beforeAll(async () => {
  const { world } = shared;
  [owner, second, third] = [
    await staffAtConsole(world, "owner"),
    await staffAtConsole(world, "owner"),
    await staffAtConsole(world, "owner"),
  ];
});

const redaction = { reason: "Asked for by the person by mail." };
const ask = (actor: User, key = shared.world.key): Promise<Answer> =>
  shared.world.post(`/users/${shared.world.member().id}/redaction`, redaction, { actor, key });
const yes = (held: Answer, asked: Parameters<typeof shared.world.post>[2]): Promise<Answer> =>
  shared.world.post(`/confirmations/${String(held.body.data.id)}/confirm`, undefined, asked);
const statusOf = async ({ body }: Answer): Promise<string> =>
  (await shared.world.get(`/confirmations/${String(body.data.id)}`, { actor: owner! })).body.data.status;

/** A key that a member of staff makes, and a way to speak through it for anybody. */
async function keyOf(maker: User, delegation: "trusted" | "signed", key = shared.world.key) {
  const pair = createPair();
  const input = { name: "site", scopes: ["*"], delegation, ...(delegation === "signed" && { public_key: pair.jwk }) };
  const made = await shared.world.post("/keys", input, { actor: maker, key });
  expect(made.status, JSON.stringify(made.body)).toBe(201);
  const { key: text, key_id: issuer, id } = made.body.data;
  const audience = (await shared.world.get("/health", { key: null })).body.service.instance_id;
  const speak = (userId: string, method: string, path: string) => {
    const claims = claimsFor({ issuer, audience, userId, method, path });
    return { key: text as string, ...(delegation === "signed" && { headers: { "x-acting-assertion": jws(claims, pair.privateKey) } }) };
  };
  return { id: id as string, text: text as string, speak };
}

describe("the yes of a second person", () => {
  test("is never the word of an API key, and theirs in Discord", async () => {
    const held = await ask(owner!);
    expect((await yes(held, { actor: second! })).body).toMatchObject({ status: 409, code: "invalid_transition" });
    expect(await statusOf(held)).toBe("pending");
    await acceptIn(shared.world, second!, held.body.data.code);
    expect(await statusOf(held)).toBe("applied");
  });

  test("counts by an assertion that is signed with a key none of the askers has made", async () => {
    const [held, other] = [await ask(owner!), await ask(owner!)];
    expect((await yes(held, { actor: second!, signed: true })).body.data).toMatchObject({ status: "applied" });
    const site = await keyOf(third!, "signed");
    const path = `/confirmations/${String(other.body.data.id)}/confirm`;
    expect((await yes(other, site.speak(second!.id, "POST", path))).body.data).toMatchObject({ status: "applied" });
  });

  test("is not said through a key that the one who asked has made, nor through one made with that key", async () => {
    const held = await ask(owner!);
    const path = `/confirmations/${String(held.body.data.id)}/confirm`;
    const own = await keyOf(owner!, "signed");
    expect((await yes(held, own.speak(second!.id, "POST", path))).body).toMatchObject({ code: "conflict_of_interest" });
    const trusted = await keyOf(owner!, "trusted");
    const further = await keyOf(second!, "signed", trusted.text);
    expect((await yes(held, further.speak(second!.id, "POST", path))).body).toMatchObject({ code: "conflict_of_interest" });
    expect(await statusOf(held)).toBe("pending");
  });

  test("is not that of who made the key by which another one is said to have asked", async () => {
    const site = await keyOf(owner!, "trusted");
    const held = await ask(second!, site.text);
    const said = await acceptIn(shared.world, owner!, held.body.data.code);
    expect([said, await statusOf(held)]).toEqual([expect.stringContaining("You made the API key"), "pending"]);
    await acceptIn(shared.world, third!, held.body.data.code);
    expect(await statusOf(held)).toBe("applied");
  });

  test("is not said through a key whose secret the one who asked was given, or whose public key they chose", async () => {
    const held = await ask(owner!);
    const path = `/confirmations/${String(held.body.data.id)}/confirm`;
    const site = await keyOf(third!, "signed");
    const pair = createPair();
    const changed = await shared.world.patch(`/keys/${site.id}`, { public_key: pair.jwk }, { actor: owner! });
    expect(changed.status).toBe(200);
    const audience = (await shared.world.get("/health", { key: null })).body.service.instance_id;
    const claims = claimsFor({ issuer: changed.body.data.key_id, audience, userId: second!.id, method: "POST", path });
    const headers = { "x-acting-assertion": jws(claims, pair.privateKey) };
    expect((await yes(held, { key: site.text, headers })).body).toMatchObject({ code: "conflict_of_interest" });
    expect(await statusOf(held)).toBe("pending");
  });
});
