// @module-tag sqlite
import { expect, test } from "vitest";
import type { User } from "../../sandbox/index.ts";
import { getAsUser, postForm, startBackend } from "./oauth-backend.ts";
import { startSandbox } from "./support.ts";

async function start(scope?: string) {
  const sandbox = await startSandbox();
  const ann = sandbox.createUser("ann", { global_name: "Ann" });
  return { sandbox, ann, backend: await startBackend(sandbox, scope) };
}

/** Walks to the callback of an address nobody listens at, for tests that want the bare code. */
async function obtainCode(user: User, authorizeUrl: URL): Promise<string> {
  const form = new URLSearchParams(authorizeUrl.search);
  form.set("user_id", user.id);
  form.set("decision", "authorize");
  const response = await fetch(authorizeUrl, { method: "POST", body: form, redirect: "manual" });
  const location = new URL(response.headers.get("location") ?? "");
  return location.searchParams.get("code") ?? "";
}

test("a standard OAuth library discovers the server, and a user walks through consent to a working token", async () => {
  const { sandbox, ann, backend } = await start();
  const home = sandbox.createGuild({ name: "Home" });
  const outside = sandbox.createGuild({ name: "Outside", owner: ann, withBot: false });
  const mod = home.createRole("Mod", { permissions: ["KickMembers"] });
  home.addMember(ann, { roles: [mod] });

  const walk = await sandbox.as(ann).authorize(backend.consentUrl, { approve: true, press: "Continue" });

  expect(walk).toMatchObject({ status: 200, body: "signed in", cookies: { flow: "1", strict: "1" } });
  expect(walk.hops.map(({ method, status }) => `${method} ${status}`)).toEqual(["GET 200", "POST 303", "GET 200", "POST 302", "GET 200"]);
  const redirected = new URL(walk.redirectedTo);
  expect(redirected.searchParams.get("iss")).toBe(new URL(sandbox.apiBase).origin);
  expect(redirected.searchParams.get("state")).toBe(backend.state);
  const started = backend.requests.find(({ path }) => path === "/start");
  expect(started).toMatchObject({ site: "same-origin", origin: new URL(backend.consentUrl).origin });
  expect(backend.requests.at(-1)?.cookie).toBe("flow=1");
  const [token] = backend.results;
  expect(token).toMatchObject({ token_type: "bearer", scope: "identify guilds guilds.members.read", expires_in: 604_800 });

  const me = await getAsUser(sandbox, "/users/@me", token?.access_token);
  expect(me.body).toMatchObject({ id: ann.id, username: "ann", global_name: "Ann" });
  const guilds = await getAsUser(sandbox, "/users/@me/guilds", token?.access_token);
  expect(guilds.body).toMatchObject([
    { id: home.id, owner: false },
    { id: outside.id, owner: true },
  ]);
  const member = await getAsUser(sandbox, `/users/@me/guilds/${home.id}/member`, token?.access_token);
  expect(member.body).toMatchObject({ roles: [mod.id], user: { id: ann.id } });
  const authorization = await getAsUser(sandbox, "/oauth2/@me", token?.access_token);
  expect(authorization.body).toMatchObject({ scopes: ["identify", "guilds", "guilds.members.read"], user: { id: ann.id } });
  expect(sandbox.unhandled).toEqual([]);
});

test("a user who cancels at Discord comes back with access_denied and no code", async () => {
  const { sandbox, ann, backend } = await start();
  const walk = await sandbox.as(ann).authorize(backend.consentUrl, { approve: false });
  expect(walk.body).toBe("failed: access_denied");
  expect(new URL(walk.redirectedTo).searchParams.get("code")).toBeNull();
});

test("a user who declines at the application never reaches Discord", async () => {
  const { sandbox, ann, backend } = await start();
  const walk = await sandbox.as(ann).authorize(backend.consentUrl, { approve: false, at: "backend" });
  expect(walk.body).toBe("declined");
  expect(walk.hops.every(({ url }) => !url.startsWith(sandbox.apiBase))).toBe(true);
});

test.each([
  ["an address with a slash more", (url: URL) => url.searchParams.set("redirect_uri", `${url.searchParams.get("redirect_uri") ?? ""}/`)],
  ["an unknown application", (url: URL) => url.searchParams.set("client_id", "1")],
])("%s is refused on the page itself, without a redirect", async (_name, spoil) => {
  const { backend } = await start();
  spoil(backend.authorizeUrl);
  const response = await fetch(backend.authorizeUrl, { redirect: "manual" });
  expect(response.status).toBe(400);
  expect(response.headers.get("location")).toBeNull();
});

test.each([
  ["scope", "identify everything", "invalid_scope"],
  ["response_type", "token", "unsupported_response_type"],
  ["code_challenge_method", "plain", "invalid_request"],
])("a wrong %s comes back to the application as an error", async (name, value, error) => {
  const { backend } = await start();
  backend.authorizeUrl.searchParams.set(name, value);
  const response = await fetch(backend.authorizeUrl, { redirect: "manual" });
  const location = new URL(response.headers.get("location") ?? "");
  expect(location.searchParams.get("error")).toBe(error);
  expect(location.searchParams.get("state")).toBe(backend.state);
});

test.each([
  ["no verifier", {}, "invalid_request", 'Missing "code_verifier" in request.'],
  ["a verifier that is too short", { code_verifier: "short" }, "invalid_request", 'Invalid "code_verifier" in request.'],
  ["another verifier", { code_verifier: "x".repeat(43) }, "invalid_grant", 'Invalid "code_verifier" in request.'],
])("the exchange with %s fails and uses the code up", async (_name, given: Record<string, string>, error, text) => {
  const { sandbox, ann, backend } = await start();
  const code = await obtainCode(ann, backend.authorizeUrl);
  const form = { grant_type: "authorization_code", code, redirect_uri: backend.redirectUri };
  expect(await postForm(sandbox, "/oauth2/token", { ...form, ...given })).toEqual({
    status: 400,
    body: { error, error_description: text },
  });
  const again = await postForm(sandbox, "/oauth2/token", { ...form, code_verifier: backend.verifier });
  expect(again).toMatchObject({ status: 400, body: { error: "invalid_grant" } });
});

test("a code works once", async () => {
  const { sandbox, ann, backend } = await start();
  const code = await obtainCode(ann, backend.authorizeUrl);
  const form = { grant_type: "authorization_code", code, redirect_uri: backend.redirectUri, code_verifier: backend.verifier };
  expect((await postForm(sandbox, "/oauth2/token", form)).status).toBe(200);
  expect(await postForm(sandbox, "/oauth2/token", form)).toMatchObject({ status: 400, body: { error: "invalid_grant" } });
});

test("a wrong client secret and a JSON body are refused", async () => {
  const { sandbox } = await start();
  const form = { grant_type: "client_credentials", scope: "identify" };
  expect(await postForm(sandbox, "/oauth2/token", { ...form, client_secret: "wrong" })).toMatchObject({
    status: 401,
    body: { error: "invalid_client" },
  });
  const basic = `Basic ${Buffer.from(`${sandbox.env().DISCORD_CLIENT_ID}:${sandbox.env().DISCORD_CLIENT_SECRET}`).toString("base64")}`;
  expect((await postForm(sandbox, "/oauth2/token", form, { Authorization: basic })).status).toBe(200);
  const json = await fetch(`${sandbox.apiBase}/oauth2/token`, {
    method: "POST",
    headers: { "Content-Type": "application/json", Authorization: basic },
    body: JSON.stringify(form),
  });
  expect(json.status).toBe(400);
});

test("a refresh token works once and ends the tokens before it", async () => {
  const { sandbox, ann, backend } = await start();
  await sandbox.as(ann).authorize(backend.consentUrl, { approve: true });
  const [first] = backend.results;
  const form = { grant_type: "refresh_token", refresh_token: first?.refresh_token ?? "" };
  sandbox.expireAccessTokens(ann);
  expect((await getAsUser(sandbox, "/users/@me", first?.access_token)).status).toBe(401);
  const second = await postForm(sandbox, "/oauth2/token", form);
  expect(second.status).toBe(200);
  expect(second.body["refresh_token"]).not.toBe(first?.refresh_token);
  expect((await getAsUser(sandbox, "/users/@me", second.body["access_token"])).status).toBe(200);
  expect(await postForm(sandbox, "/oauth2/token", form)).toMatchObject({ status: 400, body: { error: "invalid_grant" } });
});

test("revoking one token ends everything the user allowed, and an unknown token is no error", async () => {
  const { sandbox, ann, backend } = await start();
  await sandbox.as(ann).authorize(backend.consentUrl, { approve: true });
  const [token] = backend.results;
  const refresh = token?.refresh_token ?? "";
  expect((await postForm(sandbox, "/oauth2/token/revoke", { token: "unheard-of" })).status).toBe(200);
  expect((await postForm(sandbox, "/oauth2/token/revoke", { token: refresh, token_type_hint: "refresh_token" })).status).toBe(200);
  expect(sandbox.revokedTokens).toEqual([refresh]);
  expect((await getAsUser(sandbox, "/users/@me", token?.access_token)).status).toBe(401);
  expect((await postForm(sandbox, "/oauth2/token", { grant_type: "refresh_token", refresh_token: refresh })).status).toBe(400);
});

test("scopes gate what a token may read, and the bot's routes stay closed to it", async () => {
  const { sandbox, ann, backend } = await start("identify");
  const guild = sandbox.createGuild({ name: "Home", owner: ann });
  await sandbox.as(ann).authorize(backend.consentUrl, { approve: true });
  const token = backend.results[0]?.access_token;
  expect((await getAsUser(sandbox, "/users/@me", token)).status).toBe(200);
  expect((await getAsUser(sandbox, "/users/@me/guilds", token)).status).toBe(401);
  expect((await getAsUser(sandbox, `/users/@me/guilds/${guild.id}/member`, token)).status).toBe(401);
  expect(await getAsUser(sandbox, `/guilds/${guild.id}`, token)).toMatchObject({ status: 403, body: { code: 20002 } });
});

test("inviting the bot puts it into a server the user manages, and into no other", async () => {
  const { sandbox, ann, backend } = await start("identify bot");
  const own = sandbox.createGuild({ name: "Own", owner: ann, withBot: false });
  const foreign = sandbox.createGuild({ name: "Foreign", withBot: false });
  const refused = await sandbox.as(ann).authorize(backend.consentUrl, { approve: true, guild: foreign });
  expect(refused.status).toBe(400);
  await sandbox.as(ann).authorize(backend.consentUrl, { approve: true, guild: own });
  expect(own.member(sandbox.bot)).toBeDefined();
  expect(foreign.member(sandbox.bot)).toBeUndefined();
});

test("the list of guilds is paged at two hundred in order of id", async () => {
  const { sandbox, ann, backend } = await start();
  for (let number = 0; number < 201; number++) sandbox.createGuild({ name: `Guild ${number}`, owner: ann, withBot: false });
  await sandbox.as(ann).authorize(backend.consentUrl, { approve: true });
  const token = backend.results[0]?.access_token;
  const first = (await getAsUser(sandbox, "/users/@me/guilds", token)).body as { id: string }[];
  expect(first).toHaveLength(200);
  const rest = (await getAsUser(sandbox, `/users/@me/guilds?after=${first.at(-1)?.id ?? ""}`, token)).body;
  expect(rest).toHaveLength(1);
  expect((await getAsUser(sandbox, "/users/@me/guilds?limit=201", token)).status).toBe(400);
});
