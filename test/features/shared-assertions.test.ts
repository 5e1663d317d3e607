// @module-tag postgres
import { expect, test } from "vitest";
import { systemCall } from "../../src/kernel/call.ts";
import { requireDone } from "../../src/kernel/held.ts";
import { claimsFor, createPair as createKeyPair, jws } from "../support/signer.ts";
import { createPair, isPostgres, raced } from "./shared-ground.ts";

test.runIf(isPostgres())("an assertion counts once, whichever of two processes it comes to", async () => {
  const { world, apps, ask } = await createPair();
  const pair = createKeyPair();
  const input = { name: "signing", scopes: ["*"], delegation: "signed" as const, public_key: pair.jwk };
  const { key, key_id: issuer } = requireDone(await world.app.keys.create(systemCall("cli", "made"), input));
  const actor = await world.staff("admin");
  const audience = world.app.instanceId;
  const path = `/staff/${actor.id}/access`;
  for (let turn = 0; turn < 50; turn += 1) {
    const assertion = jws(claimsFor({ issuer, audience, userId: actor.id, method: "GET", path }), pair.privateKey);
    const headers = { authorization: `Bearer ${key}`, "x-acting-assertion": assertion };
    const [one, other] = apps.map((app) => () => ask(app, "GET", path, headers)) as [() => Promise<Response>, () => Promise<Response>];
    const answers = await raced(turn, one, other);
    expect(
      answers.map(({ status }) => status).toSorted((a, b) => a - b),
      await answers[1]?.text(),
    ).toEqual([200, 401]);
    expect((await one()).status).toBe(401);
    expect((await other()).status).toBe(401);
  }
  expect(await world.app.database.read.claim.count()).toBe(50);
});
