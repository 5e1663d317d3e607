// @module-tag sqlite
// @module-tag slow
import { randomBytes } from "node:crypto";
import { expect, test } from "vitest";
import { createDiscordOAuth } from "../../src/discord/oauth.ts";
import { createSignIn } from "../../src/features/privacy/sign-in/sign-in.service.ts";
import { systemCall } from "../../src/kernel/call.ts";
import { createKeyring } from "../../src/kernel/secrets.ts";
import { createTestDatabase } from "../support/database.ts";
import { createWorld } from "../support/world.ts";

const call = systemCall("job", "sign-in");

/** Signing in alone, without a service around it, under a given address. */
async function createGate({ publicUrl = "https://mod.example.org", capacity = 3 } = {}) {
  const test = await createTestDatabase();
  const { database } = test;
  let now = Date.now();
  const clock = { now: () => new Date((now += 1)) };
  const oauth = createDiscordOAuth({ apiBase: "http://127.0.0.1:1/api", clientId: "1", clientSecret: "secret", clock });
  const keyring = createKeyring(new Map([["k", randomBytes(32)]]));
  const signIn = createSignIn({ database, oauth, keyring, clock, publicUrl: () => publicUrl, capacity });
  return { database, signIn, forward: (seconds: number) => void (now += seconds * 1000), drop: test.drop };
}

const cookiesOf = (texts: readonly string[]): Record<string, string> =>
  Object.fromEntries(texts.map((text) => (text.split(";")[0] ?? "").split("=") as [string, string]));

test("over https the cookie is bound to the host, and nothing of it is stored in clear", async () => {
  const { database, signIn, drop } = await createGate();
  const { cookies, redirectTo } = await signIn.start(call, {});
  expect(cookies[0]).toMatch(/^__Host-provost-privacy=[\w-]{43}; /);
  expect(cookies[0]?.split("; ").slice(1).toSorted()).toEqual(["HttpOnly", "Max-Age=900", "Path=/", "SameSite=Lax", "Secure"]);
  const state = new URL(redirectTo).searchParams.get("state") ?? "";
  expect(state).toMatch(/^p\.[\w-]{43}$/);
  const stored = JSON.stringify(await database.read.privacySession.findMany());
  for (const secret of [state, Object.values(cookiesOf(cookies))[0] ?? "", state.slice(2)]) expect(stored).not.toContain(secret);
  await drop();
});

test("a flood of unfinished sign-ins pushes out the oldest unfinished ones and nobody who is signed in", async () => {
  const { database, signIn, drop } = await createGate({ capacity: 3 });
  const first = await signIn.start(call, {});
  await database.write(call, ({ db }) => db.privacySession.updateMany({ data: { userId: "80351110224678912" } }));
  const second = await signIn.start(call, {});
  for (let count = 0; count < 5; count += 1) await signIn.start(call, {});
  expect(await database.read.privacySession.count()).toBe(3);
  expect(await signIn.who(cookiesOf(first.cookies))).toBe("80351110224678912");
  const state = new URL(second.redirectTo).searchParams.get("state") ?? "";
  const end = await signIn.finish(call, { state, url: new URL("https://mod.example.org/"), cookies: cookiesOf(second.cookies) });
  expect(end).toEqual({ path: "/privacy/result/failed", cookies: [] });
  await drop();
});

test("where everybody is signed in, the oldest sign-in makes room", async () => {
  const { database, signIn, drop } = await createGate({ capacity: 2 });
  const first = await signIn.start(call, {});
  await signIn.start(call, {});
  await database.write(call, ({ db }) => db.privacySession.updateMany({ data: { userId: "80351110224678912" } }));
  await signIn.start(call, {});
  expect(await database.read.privacySession.count()).toBe(2);
  expect(await signIn.who(cookiesOf(first.cookies))).toBeUndefined();
  await drop();
});

test("what is over is forgotten by the job, and counts for nobody before that", async () => {
  const { database, signIn, forward, drop } = await createGate();
  const { cookies } = await signIn.start(call, {});
  await database.write(call, ({ db }) => db.privacySession.updateMany({ data: { userId: "80351110224678912" } }));
  expect(await signIn.who(cookiesOf(cookies))).toBe("80351110224678912");
  forward(899);
  expect(await signIn.sweep(call)).toBe(0);
  forward(2);
  expect(await signIn.who(cookiesOf(cookies))).toBeUndefined();
  expect(await signIn.sweep(call)).toBe(1);
  expect(await database.read.privacySession.count()).toBe(0);
  await drop();
});

test("a form that another site sends changes nothing, whoever is signed in", async () => {
  const world = await createWorld();
  const ann = world.sandbox.createUser("Ann");
  const senior = await world.staff("senior");
  const session = await world.post("/authorize/sessions", { discord_user_id: ann.id }, { actor: senior });
  await world.sandbox.as(ann).authorize(session.body.url, { approve: true });
  const walk = await world.sandbox.as(ann).authorize(`${world.url}/privacy`, { approve: true });
  expect(walk.body).toContain(`You are signed in as <code>${ann.id}</code>`);
  const cookie = Object.entries(walk.cookies)
    .map(([name, value]) => `${name}=${value}`)
    .join("; ");
  const actions = ["start", "revoke", "delete", "sign-out"];
  const foreign: Record<string, string>[] = [
    { "sec-fetch-site": "cross-site", origin: "https://evil.example" },
    { "sec-fetch-site": "same-site", origin: "null" },
    { origin: "https://evil.example" },
    {},
  ];
  const before = await world.app.database.read.auditEntry.count();
  for (const action of actions)
    for (const headers of foreign) {
      const answer = await fetch(`${world.url}/privacy/${action}`, {
        method: "POST",
        redirect: "manual",
        body: new URLSearchParams({ sure: "yes" }),
        headers: { ...headers, cookie },
      });
      expect([action, answer.status, answer.headers.get("set-cookie")]).toEqual([action, 403, null]);
    }
  const { read } = world.app.database;
  expect([await read.authorization.count(), await read.privacySession.count(), await read.auditEntry.count()]).toEqual([1, 1, before]);
  const own = await fetch(`${world.url}/privacy/data.json`, { headers: { cookie } });
  expect([own.status, own.headers.get("cache-control"), own.headers.get("content-disposition")]).toEqual([
    200,
    "no-store",
    `attachment; filename="provost-${ann.id}.json"`,
  ]);
  expect(await own.json()).toMatchObject({ discord_user_id: ann.id });
});

test("without the right cookie nobody sees anything, and actions lead to a new sign-in", async () => {
  const world = await createWorld();
  for (const cookie of ["", "provost-privacy=", `provost-privacy=${"x".repeat(43)}`]) {
    const headers = { cookie, "sec-fetch-site": "same-origin", origin: "null" };
    const page = await fetch(`${world.url}/privacy`, { headers });
    expect([page.status, (await page.text()).includes("Sign in with Discord")]).toEqual([200, true]);
    const file = await fetch(`${world.url}/privacy/data.json`, { headers, redirect: "manual" });
    expect([file.status, file.headers.get("location")]).toEqual([303, "/privacy/result/sign-in-again"]);
    for (const action of ["revoke", "delete", "sign-out"]) {
      const answer = await fetch(`${world.url}/privacy/${action}`, { method: "POST", headers, redirect: "manual" });
      expect([action, answer.headers.get("location")]).toEqual([action, "/privacy/result/sign-in-again"]);
    }
  }
  expect((await fetch(`${world.url}/privacy/result/nonsense`)).status).toBe(404);
});
