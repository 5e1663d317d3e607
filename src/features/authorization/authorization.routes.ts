import { routesFor, withContentEtag, type Route } from "../../operations/route.ts";
import { authorizationPermissions } from "./authorization.policy.ts";
import {
  AuthorizationView,
  CreateSessionInput,
  RefreshInput,
  RefreshView,
  RevokeInput,
  SessionCreatedView,
  UserIdParams,
} from "./authorization.schema.ts";
import type { AuthorizationService } from "./authorization.service.ts";

const { del, get, post } = routesFor("authorization");

const id = "0199d2f4-5a6b-7c8d-9e0f-1a2b3c4d5e6f";
const at = "2026-11-20T10:00:00.000Z";

const granted: AuthorizationView = {
  discord_user_id: "80351110224678912",
  status: "active",
  scopes: ["identify", "guilds"],
  granted_at: at,
  expires_at: "2026-12-20T10:00:00.000Z",
  last_refreshed_at: at,
  next_refresh_at: at,
  consent_version: "2",
  purposes: ["verification"],
  servers_seen_count: 42,
  last_session: { id, status: "authorized", failure: null, ended_at: at },
  revision: 1,
};

/** HTTP routes for what people have granted. The pages people see are in authorization.pages.ts. */
export function authorizationRoutes(authorization: AuthorizationService): Route[] {
  return [createSession(authorization), getAuthorization(authorization), revokeAuthorization(authorization), refreshUser(authorization)];
}

function createSession(authorization: AuthorizationService): Route {
  return post("/authorize/sessions", "createAuthorizationSession", {
    summary: "Ask a user for access",
    description:
      "Opens a session and answers the address to send to the user. The address works once and only for the user it was made for.",
    access: { permission: authorizationPermissions.create },
    limit: "authorize",
    limitSubject: ({ body }) => body.discord_user_id,
    request: { body: CreateSessionInput, example: { discord_user_id: "80351110224678912", purpose: "verification" } },
    success: {
      status: 201,
      shape: "flat",
      schema: SessionCreatedView,
      description: "The session and its address",
      example: { success: true, id, url: "https://provost.example/authorize/4vJ9sXkT2mQpLr8w", status: "pending", expires_at: at },
    },
    refusals: ["too_many_open_sessions", "invalid_transition"],
    handle: ({ call, body }) => authorization.create(call, body),
  });
}

function getAuthorization(authorization: AuthorizationService): Route {
  return get("/users/{discord_user_id}/authorization", "getAuthorization", {
    summary: "Read a user's authorization status",
    description: "Answers for every user id: a user nobody asked has the status `none`.",
    access: { permission: authorizationPermissions.read, own: "discord_user_id" },
    request: { params: UserIdParams },
    success: {
      status: 200,
      shape: "single",
      schema: AuthorizationView,
      description: "The status",
      example: granted,
    },
    handle: async ({ call, params }) => {
      const view = await authorization.get(call, params.discord_user_id);
      return withContentEtag(view);
    },
  });
}

function revokeAuthorization(authorization: AuthorizationService): Route {
  return del("/users/{discord_user_id}/authorization", "revokeAuthorization", {
    summary: "End a user's grant",
    description:
      "The tokens and the servers are deleted at once, the matches that came of them are closed, and open sessions are cancelled. Discord is told at once or as soon as it can be reached. What was decided stays.",
    access: { permission: authorizationPermissions.revoke, own: "discord_user_id" },
    request: { params: UserIdParams, body: RevokeInput, bodyOptional: true, example: { reason: "They asked us to." } },
    success: {
      status: 200,
      shape: "single",
      schema: AuthorizationView,
      description: "The status as it is now",
      example: { ...granted, status: "revoked", next_refresh_at: null, servers_seen_count: 0, revision: 2 },
    },
    refusals: ["invalid_transition", "precondition_failed"],
    handle: async ({ call, params, body, ifMatch }) => {
      const view = await authorization.revoke(call, params.discord_user_id, body, ifMatch);
      return withContentEtag(view);
    },
  });
}

function refreshUser(authorization: AuthorizationService): Route {
  return post("/users/{discord_user_id}/refresh", "refreshUser", {
    summary: "Read a user's servers again",
    description: "Asks Discord once, however many ask at the same time. Between two refreshes of a user lies a cool-down.",
    access: { permission: authorizationPermissions.refresh },
    limit: "authorize",
    limitSubject: ({ params }) => params.discord_user_id,
    request: { params: UserIdParams, body: RefreshInput, bodyOptional: true, example: { reason: "Applied for the moderation team" } },
    success: {
      status: 200,
      shape: "single",
      schema: RefreshView,
      description: "What was found",
      example: {
        status: "active",
        refreshed_at: at,
        servers: { added: 2, removed: 0, total: 42 },
        matches: { opened: 1, closed: 0 },
        next_refresh_at: "2026-11-20T10:10:00.000Z",
      },
    },
    refusals: ["authorization_required", "refresh_cooldown", "discord_error", "discord_unavailable"],
    handle: ({ call, params, body }) => authorization.refresh(call, params.discord_user_id, body),
  });
}
