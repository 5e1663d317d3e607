import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import * as oauth from "oauth4webapi";
import { onTestFinished } from "vitest";
import type { Sandbox } from "../../sandbox/index.ts";

const insecure = { [oauth.allowInsecureRequests]: true };

/**
 * A small application written with a standard OAuth library: a consent page with Continue and Decline, and a callback that exchanges the code
 * and shows what came of it.
 */
export async function startBackend(sandbox: Sandbox, scope = "identify guilds guilds.members.read") {
  const { DISCORD_CLIENT_ID: clientId, DISCORD_CLIENT_SECRET: secret } = sandbox.env();
  const client: oauth.Client = { client_id: clientId };
  const auth = oauth.ClientSecretBasic(secret);
  const issuer = new URL(new URL(sandbox.apiBase).origin);
  const as = await oauth.processDiscoveryResponse(issuer, await oauth.discoveryRequest(issuer, { algorithm: "oauth2", ...insecure }));
  const verifier = oauth.generateRandomCodeVerifier();
  const state = oauth.generateRandomState();
  const requests: { method: string; path: string; origin: string | undefined; site: string | undefined; cookie: string | undefined }[] = [];
  const results: oauth.TokenEndpointResponse[] = [];

  const server = createServer((request, response) => {
    const url = new URL(request.url ?? "/", "http://localhost");
    requests.push({
      method: request.method ?? "",
      path: url.pathname,
      origin: request.headers.origin,
      site: request.headers["sec-fetch-site"],
      cookie: request.headers.cookie,
    });
    if (url.pathname === "/consent")
      return response.end(`<form method="post" action="/decline"><button>Decline</button></form>
        <form method="post" action="/start"><input type="hidden" name="seen" value="a&amp;b"><button type="submit"> Continue </button></form>`);
    if (url.pathname === "/decline") return response.end("declined");
    if (url.pathname === "/start") {
      response.writeHead(303, {
        Location: authorizeUrl.href,
        "Set-Cookie": ["flow=1; Path=/; HttpOnly; SameSite=Lax", "strict=1; Path=/; SameSite=Strict", "__Host-x=1; Path=/"],
      });
      return response.end();
    }
    return void finish(url).then((text) => response.end(text));
  });

  async function finish(url: URL): Promise<string> {
    try {
      const parameters = oauth.validateAuthResponse(as, client, url, state);
      const options = { ...insecure };
      const response = await oauth.authorizationCodeGrantRequest(as, client, auth, parameters, redirectUri, verifier, options);
      results.push(await oauth.processAuthorizationCodeResponse(as, client, response));
      return "signed in";
    } catch (error) {
      return `failed: ${error instanceof oauth.AuthorizationResponseError ? error.error : String(error)}`;
    }
  }

  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  onTestFinished(() => void server.close());
  const base = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  const redirectUri = `${base}/callback`;
  sandbox.allowRedirect(redirectUri);
  const authorizeUrl = new URL(as.authorization_endpoint ?? "");
  const query = {
    client_id: clientId,
    response_type: "code",
    redirect_uri: redirectUri,
    scope,
    state,
    code_challenge: await oauth.calculatePKCECodeChallenge(verifier),
    code_challenge_method: "S256",
  };
  for (const [name, value] of Object.entries(query)) authorizeUrl.searchParams.set(name, value);
  return { consentUrl: `${base}/consent`, authorizeUrl, redirectUri, verifier, state, requests, results };
}

/** A form post to the token endpoints with the application's own credentials unless others are given. */
export async function postForm(sandbox: Sandbox, path: string, form: Record<string, string>, headers: Record<string, string> = {}) {
  const { DISCORD_CLIENT_ID: client_id, DISCORD_CLIENT_SECRET: client_secret } = sandbox.env();
  const own = "Authorization" in headers ? {} : { client_id, client_secret };
  const response = await fetch(`${sandbox.apiBase}${path}`, { method: "POST", headers, body: new URLSearchParams({ ...own, ...form }) });
  return { status: response.status, body: (await response.json()) as Record<string, string> };
}

/** A GET with a user's access token. */
export async function getAsUser(sandbox: Sandbox, path: string, accessToken: string | undefined) {
  const response = await fetch(`${sandbox.apiBase}/v10${path}`, { headers: { Authorization: `Bearer ${accessToken ?? ""}` } });
  return { status: response.status, body: (await response.json()) as never };
}
