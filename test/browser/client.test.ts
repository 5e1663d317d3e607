// @module-tag sqlite
// @module-tag slow
import { readFile } from "node:fs/promises";
import { expect, onTestFinished, test } from "vitest";
import { systemCall } from "../../src/kernel/call.ts";
import { requireDone } from "../../src/kernel/held.ts";
import { uuid7 } from "../../src/kernel/ids.ts";
import { installClient } from "../client/installed.ts";
import { createPair } from "../support/signer.ts";
import { createWorld } from "../support/world.ts";
import { lacksChromium, useChromium } from "./chromium.ts";
import { createSite } from "./site.ts";

const { visitor } = useChromium();

/** Runs in the page; text, because the tests' own types know no page. */
const program = `async ({ baseUrl, key, signedKey, privateKey, actingUser, subject }) => {
  const { createProvostClient, ifMatch, ProvostError, verifyWebhook } = await import("./client.js");
  const client = createProvostClient({ baseUrl, key, actingUser });
  const made = await client.POST("/blacklist", { body: { kind: "user", subject_id: subject, category: "raid" } });
  const path = { id: made.data.data.number };
  const changed = await client.PATCH("/blacklist/{id}", { params: { path, header: ifMatch(made.data.data) }, body: { severity: "high" } });
  const permissions = [];
  for await (const { key } of client.paginate("/permissions/catalog", { params: { query: { limit: 50 } } })) permissions.push(key);
  const refusal = await client.POST("/blacklist", { body: { kind: "user", subject_id: "42", category: "raid" } }).catch((error) => error);
  const events = [];
  for await (const { type } of client.events({ types: ["blacklist.*"], after: 0 })) if (events.push(type) === 2) break;
  const signing = createProvostClient({ baseUrl, key: signedKey, actingUser, privateKey });
  const signed = await signing.PATCH("/blacklist/{id}", { params: { path }, body: { severity: "low" } });
  let hook;
  try { verifyWebhook("whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw", new Headers(), "{}"); } catch (error) { hook = error.message; }
  return {
    made: [made.response.status, made.data.data.number, changed.data.data.severity, signed.data.data.severity],
    permissions: permissions.length,
    refused: [refusal instanceof ProvostError, refusal.code, refusal.errors.map(({ pointer }) => pointer)],
    events,
    hook,
  };
}`;

test.skipIf(lacksChromium)(
  "the built client works in a browser, on a page of another origin: writes, pages, refusals, events and assertions",
  async () => {
    await using installed = await installClient();
    const origin = await createSite(onTestFinished, { "/client.js": await readFile(installed.module, "utf8") });
    const world = await createWorld({ env: { CORS_ORIGINS: origin } });
    const admin = await world.staff("admin");
    const pair = createPair();
    const input = { name: "page", scopes: ["*"], delegation: "signed" as const, public_key: pair.jwk };
    const { key: signedKey } = requireDone(await world.app.keys.create(systemCall("cli", uuid7()), input));
    const { page, problems } = await visitor();
    await page.goto(origin);
    const privateKey = pair.privateKey.export({ format: "jwk" });
    const given = { baseUrl: world.url, key: world.key, signedKey, privateKey, actingUser: admin.id, subject: world.member().id };
    expect(await page.evaluate(`(${program})(${JSON.stringify(given)})`)).toEqual({
      made: [201, "BL-000001", "high", "low"],
      permissions: (await world.get("/permissions/catalog?limit=200")).body.data.length,
      refused: [true, "validation_failed", ["/subject_id"]],
      events: ["blacklist.created", "blacklist.updated"],
      hook: "Missing required headers",
    });
    // The browser says of a refusal that a resource failed to load.
    expect(problems.filter((problem) => !problem.includes("422"))).toEqual([]);
  },
);
