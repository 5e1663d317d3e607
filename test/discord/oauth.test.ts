// @module-tag sqlite
import { once } from "node:events";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { calculatePKCECodeChallenge } from "oauth4webapi";
import { expect, onTestFinished, test } from "vitest";
import { createDiscordOAuth, OAuthRefusal } from "../../src/discord/oauth.ts";
import { ProblemError } from "../../src/kernel/errors.ts";
import { createLog, startSandbox } from "./support.ts";

const codeVerifier = "v".repeat(64);
const scopes = ["identify", "guilds"];

/** The address Discord sends the browser back to. */
async function openCallback(): Promise<string> {
  const server = createServer((_request, response) => response.end("back")).listen(0, "127.0.0.1");
  await once(server, "listening");
  onTestFinished(() => void server.close());
  return `http://127.0.0.1:${(server.address() as AddressInfo).port.toString()}/authorize/callback`;
}

async function createFlow() {
  const redirectUri = await openCallback();
  const sandbox = await startSandbox({ redirectUris: [redirectUri] });
  const env = sandbox.env();
  const oauth = createDiscordOAuth({
    apiBase: env.DISCORD_API_BASE,
    clientId: env.DISCORD_CLIENT_ID,
    clientSecret: env.DISCORD_CLIENT_SECRET,
  });
  const ann = sandbox.createUser("ann", { global_name: "Ann" });
  const codeChallenge = await calculatePKCECodeChallenge(codeVerifier);
  const url = (state = "state-1") => oauth.authorizeUrl({ state, codeChallenge, scopes, redirectUri });

  /** Press a button of Discord's page as ann, up to the address the browser is sent back to. */
  const answer = async (approve: boolean): Promise<URL> => {
    const { redirectedTo } = await sandbox.as(ann).authorize(url(), { approve });
    return new URL(redirectedTo);
  };
  const exchange = (callbackUrl: URL, expectedState = "state-1") =>
    oauth.exchange({ callbackUrl, expectedState, codeVerifier, redirectUri });
  return { sandbox, oauth, ann, url, answer, exchange, redirectUri };
}

async function refusalOf(work: Promise<unknown>): Promise<string> {
  const error: unknown = await work.then(
    () => undefined,
    (thrown: unknown) => thrown,
  );
  if (error instanceof OAuthRefusal || error instanceof ProblemError) return error.code;
  throw new Error(`not a refusal: ${String(error)}`);
}

test("the whole flow: consent, tokens, who it is, their servers, revocation", async () => {
  const { sandbox, oauth, ann, answer, exchange } = await createFlow();
  const outside = sandbox.createGuild({ name: "Outside", withBot: false });
  outside.addMember(ann);
  const tokens = await exchange(await answer(true));
  expect(tokens.scopes.toSorted()).toEqual(["guilds", "identify"]);
  expect(tokens.expiresAt.getTime()).toBeGreaterThan(Date.now() + 60_000);
  expect(await oauth.me(tokens.accessToken)).toMatchObject({ id: ann.id, username: "ann", global_name: "Ann" });
  expect(await oauth.guilds(tokens.accessToken)).toMatchObject([{ id: outside.id, name: "Outside", owner: false }]);
  await oauth.revoke(tokens.accessToken);
  expect(await refusalOf(oauth.me(tokens.accessToken))).toBe("token_rejected");
  await oauth.revoke(tokens.accessToken);
});

test("the address of the authorization page asks for consent with S256", async () => {
  const { url, oauth, sandbox } = await createFlow();
  const query = new URL(url("abc")).searchParams;
  expect(url("abc")).toContain(`${sandbox.apiBase}/oauth2/authorize?`);
  expect(Object.fromEntries(query)).toMatchObject({
    response_type: "code",
    code_challenge_method: "S256",
    prompt: "consent",
    state: "abc",
  });
  expect(oauth.origin).toBe(new URL(sandbox.apiBase).origin);
});

test("an answer with a foreign or missing state, or a foreign issuer, is refused before its code is used", async () => {
  const { answer, exchange, sandbox } = await createFlow();
  const back = await answer(true);
  expect(back.searchParams.get("iss")).toBe(new URL(sandbox.apiBase).origin);
  expect(await refusalOf(exchange(back, "state-2"))).toBe("state_invalid");
  const missing = new URL(back);
  missing.searchParams.delete("state");
  expect(await refusalOf(exchange(missing))).toBe("state_invalid");
  const mixedUp = new URL(back);
  mixedUp.searchParams.set("iss", "https://evil.example");
  expect(await refusalOf(exchange(mixedUp))).toBe("state_invalid");
  expect((await exchange(back)).accessToken).not.toBe("");
});

test("a denial is told as such", async () => {
  const { answer, exchange } = await createFlow();
  expect(await refusalOf(exchange(await answer(false)))).toBe("access_denied");
});

test("a code works once, and only with its verifier", async () => {
  const { answer, exchange, oauth, redirectUri } = await createFlow();
  const back = await answer(true);
  await exchange(back);
  expect(await refusalOf(exchange(back))).toBe("invalid_grant");
  const other = await answer(true);
  const stolen = oauth.exchange({ callbackUrl: other, expectedState: "state-1", codeVerifier: "w".repeat(64), redirectUri });
  expect(await refusalOf(stolen)).toBe("invalid_grant");
});

test("refresh tokens rotate: the new one works, the old one does not", async () => {
  const { answer, exchange, oauth, ann } = await createFlow();
  const first = await exchange(await answer(true));
  const second = await oauth.refresh(first.refreshToken);
  expect(second.refreshToken).not.toBe(first.refreshToken);
  expect(await oauth.me(second.accessToken)).toMatchObject({ id: ann.id });
  expect(await refusalOf(oauth.refresh(first.refreshToken))).toBe("invalid_grant");
});

test("consent withdrawn at Discord ends tokens", async () => {
  const { answer, exchange, oauth, ann, sandbox } = await createFlow();
  const tokens = await exchange(await answer(true));
  sandbox.withdrawConsent(ann);
  expect(await refusalOf(oauth.me(tokens.accessToken))).toBe("token_rejected");
  expect(await refusalOf(oauth.refresh(tokens.refreshToken))).toBe("invalid_grant");
});

test("a wrong application secret is no fault of the person, and the operator is told how to mend it", async () => {
  const { sandbox, answer, redirectUri } = await createFlow();
  const env = sandbox.env();
  const { logger, log } = createLog();
  const oauth = createDiscordOAuth({ apiBase: env.DISCORD_API_BASE, clientId: env.DISCORD_CLIENT_ID, clientSecret: "hunter2", logger });
  const work = oauth.exchange({ callbackUrl: await answer(true), expectedState: "state-1", codeVerifier, redirectUri });
  expect(await refusalOf(work)).toBe("discord_error");
  expect(log.map((line) => (JSON.parse(line) as { msg: string }).msg)).toEqual([
    "Discord refuses DISCORD_CLIENT_SECRET: nobody can agree to be checked or see their own data. Copy the client secret from the OAuth2 page of the Discord developer portal into DISCORD_CLIENT_SECRET, then restart.",
  ]);
  expect(log.join()).not.toContain("hunter2");
});

test("5xx, rate limits and a dead network are told as unavailable, never as a refusal", async () => {
  const { sandbox, answer, exchange, oauth } = await createFlow();
  const back = await answer(true);
  sandbox.faults.oauth({ route: "token", status: 503, times: 1 });
  expect(await refusalOf(exchange(back))).toBe("discord_unavailable");
  sandbox.faults.oauth({ route: "token", status: 429, retryAfter: 17, times: 1 });
  await expect(exchange(back)).rejects.toMatchObject({ code: "discord_unavailable", retryAfter: 17 });
  const tokens = await exchange(back);
  const up = sandbox.faults.down(300);
  expect(await refusalOf(oauth.refresh(tokens.refreshToken))).toBe("discord_unavailable");
  expect(await refusalOf(oauth.me(tokens.accessToken))).toBe("discord_unavailable");
  expect(await refusalOf(oauth.revoke(tokens.accessToken))).toBe("discord_unavailable");
  await up;
});

test("an answer that is not Discord's is not understood, and no token is in any message", async () => {
  const { sandbox, answer, exchange, oauth } = await createFlow();
  const tokens = await exchange(await answer(true));
  sandbox.faults.rest({ route: "GET /users/@me", status: 200, body: { hello: "world" } });
  const error: unknown = await oauth.me(tokens.accessToken).catch((thrown: unknown) => thrown);
  expect(error).toMatchObject({ code: "discord_error" });
  expect(JSON.stringify(error, Object.getOwnPropertyNames(error))).not.toContain(tokens.accessToken);
});
