import { createHash } from "node:crypto";
import type { World } from "./model.ts";
import { accessLifetimeSeconds, type Grant, type Grants } from "./oauth-grants.ts";
import { ok, type Call, type Reply, type Route } from "./rest/route.ts";

type Form = Record<string, unknown>;

const refusal = (status: number, error: string, description: string): Reply => ({
  status,
  body: { error, error_description: description },
  headers: { "Cache-Control": "no-store" },
});

/** The token and revocation endpoints. Only form bodies; client secret by header or in the body. */
export function oauthRoutes(world: World, grants: Grants): Route[] {
  const guarded = (handle: (form: Form, call: Call) => Reply) => (call: Call) => {
    if (!(call.headers.get("content-type") ?? "").startsWith("application/x-www-form-urlencoded"))
      return refusal(400, "invalid_request", "The body must be application/x-www-form-urlencoded.");
    const form = (call.body ?? {}) as Form;
    if (!isClient(world, call, form)) return refusal(401, "invalid_client", "Invalid client credentials.");
    return handle(form, call);
  };
  return [
    {
      method: "POST",
      path: "/oauth2/token",
      auth: "none",
      handle: guarded((form) => tokenReply(world, grants, form)),
    },
    {
      method: "POST",
      path: "/oauth2/token/revoke",
      auth: "none",
      handle: guarded((form) => {
        const named = form["token"];
        if (typeof named !== "string") return refusal(400, "invalid_request", 'Missing "token" in request.');
        grants.revoke(named);
        return ok({});
      }),
    },
  ];
}

function isClient({ application }: World, call: Call, form: Form): boolean {
  const header = call.headers.get("authorization");
  if (header?.startsWith("Basic ")) {
    const [id, secret] = Buffer.from(header.slice(6), "base64").toString().split(":");
    return decodeURIComponent(id ?? "") === application.id && decodeURIComponent(secret ?? "") === application.clientSecret;
  }
  return form["client_id"] === application.id && form["client_secret"] === application.clientSecret;
}

function tokenReply(world: World, grants: Grants, form: Form): Reply {
  switch (form["grant_type"]) {
    case "authorization_code":
      return exchangeCode(grants, form);
    case "refresh_token": {
      const named = form["refresh_token"];
      const grant = typeof named === "string" ? grants.rotate(named) : undefined;
      return grant ? issued(grant) : refusal(400, "invalid_grant", 'Invalid "refresh_token" in request.');
    }
    case "client_credentials": {
      const scopes = (typeof form["scope"] === "string" ? form["scope"] : "identify").split(" ");
      return issued(grants.newGrant(world.application.bot, scopes, false));
    }
    default:
      return refusal(400, "unsupported_grant_type", "Unsupported grant type");
  }
}

/** PKCE: with a challenge the verifier must be there, have 43 to 128 characters (RFC 7636) and hash to it. */
function exchangeCode(grants: Grants, form: Form): Reply {
  const { code, redirect_uri: redirectUri, code_verifier: verifier } = form;
  if (typeof code !== "string") return refusal(400, "invalid_request", 'Missing "code" in request.');
  const request = grants.takeCode(code);
  if (!request) return refusal(400, "invalid_grant", 'Invalid "code" in request.');
  if (redirectUri !== request.redirectUri) return refusal(400, "invalid_grant", 'Invalid "redirect_uri" in request.');
  if (request.challenge !== null) {
    if (typeof verifier !== "string") return refusal(400, "invalid_request", 'Missing "code_verifier" in request.');
    if (!/^[\w.~-]{43,128}$/.test(verifier)) return refusal(400, "invalid_request", 'Invalid "code_verifier" in request.');
    if (createHash("sha256").update(verifier).digest("base64url") !== request.challenge)
      return refusal(400, "invalid_grant", 'Invalid "code_verifier" in request.');
  }
  return issued(grants.newGrant(request.user, request.scopes, true));
}

const issued = (grant: Grant): Reply => ({
  status: 200,
  headers: { "Cache-Control": "no-store" },
  body: {
    token_type: "Bearer",
    access_token: grant.accessToken,
    expires_in: accessLifetimeSeconds,
    ...(grant.refreshToken !== null && { refresh_token: grant.refreshToken }),
    scope: grant.scopes.join(" "),
  },
});

/** Authorization-server metadata (RFC 8414) with the fields Discord publishes. */
export const oauthMetadata = (origin: string) => ({
  issuer: origin,
  authorization_endpoint: `${origin}/api/oauth2/authorize`,
  token_endpoint: `${origin}/api/oauth2/token`,
  revocation_endpoint: `${origin}/api/oauth2/token/revoke`,
  response_types_supported: ["code"],
  response_modes_supported: ["query"],
  grant_types_supported: ["authorization_code", "refresh_token", "client_credentials"],
  code_challenge_methods_supported: ["S256"],
  token_endpoint_auth_methods_supported: ["client_secret_basic", "client_secret_post"],
  revocation_endpoint_auth_methods_supported: ["client_secret_basic", "client_secret_post"],
  authorization_response_iss_parameter_supported: true,
});
