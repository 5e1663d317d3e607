import { routesFor, type Route } from "../../operations/route.ts";
import { intelligencePermissions } from "./intelligence.policy.ts";
import {
  ListMatchesQuery,
  ListServersQuery,
  MatchIdParams,
  MatchView,
  ResolveMatchInput,
  UserIdParams,
  UserServersNotes,
  UserServerView,
} from "./intelligence.schema.ts";
import type { MatchesService } from "./matches/matches.service.ts";
import type { UserServersService } from "./user-servers/user-servers.service.ts";

const { get, post } = routesFor("intelligence");

const serverExample = {
  server: { id: "613425648685547541", name_snapshot: "Discord Developers", icon: null, status: "known" as const },
  relation: {
    is_owner: false,
    can_manage: false,
    is_member: true,
    joined_seen_first_at: "2026-11-20T10:00:00.000Z",
    last_seen_at: "2026-11-20T10:00:00.000Z",
  },
  tags: [],
  agreements: [],
  blacklist_id: null,
};

const matchExample = {
  id: "0199d2f4-5a6b-7c8d-9e0f-1a2b3c4d5e6f",
  user: { id: "80351110224678912", username_snapshot: "nelly", display_name: "Nelly", in_community: true },
  kind: "server_blacklist" as const,
  record_ref: "BL-000012",
  server: { id: "613425648685547541", name_snapshot: "Raid Base" },
  severity: "high" as const,
  confidence: 100,
  status: "open" as const,
  why: [{ rule: "member_of_blacklisted_server", detail: "Member of a server that has an active blacklist record." }],
  suggested_action: "verify",
  first_seen_at: "2026-11-20T10:00:00.000Z",
  last_seen_at: "2026-11-20T10:00:00.000Z",
  closed_at: null,
  grace_until: null,
  resolution: null,
  revision: 1,
};

/** HTTP routes for what is known about a person's servers. */
export function intelligenceRoutes({ servers, matches }: { servers: UserServersService; matches: MatchesService }): Route[] {
  return [
    get("/users/{discord_user_id}/servers", "listUserServers", {
      summary: "List the servers a user has approved to be seen",
      description:
        "The user's servers as of the last refresh, former ones included until they are forgotten. Where only hashes are kept (`SERVER_DETAIL=listed`), a server is readable while it is registered or blacklisted; the others are counted. Without a grant that covers them: 409 `authorization_required`.",
      access: { permission: intelligencePermissions.servers, own: "discord_user_id" },
      request: { params: UserIdParams, query: ListServersQuery },
      success: {
        status: 200,
        shape: "list",
        schema: UserServerView,
        notes: UserServersNotes,
        description: "A page of servers",
        example: serverExample,
      },
      refusals: ["authorization_required", "invalid_cursor"],
      handle: ({ call, params, query }) => servers.list(call, params.discord_user_id, query),
    }),
    get("/users/{discord_user_id}/matches", "listUserMatches", {
      summary: "List a user's intelligence matches, newest first",
      description:
        "What the user, the user's servers and linked accounts meet: blacklist records, watched servers, agreements, earlier denials. Without a grant: 409 `authorization_required`.",
      access: { permission: intelligencePermissions.matches },
      request: { params: UserIdParams, query: ListMatchesQuery },
      success: { status: 200, shape: "list", schema: MatchView, description: "A page of matches", example: matchExample },
      refusals: ["authorization_required", "invalid_cursor"],
      handle: ({ call, params, query }) => matches.list(call, params.discord_user_id, query),
    }),
    resolutionRoute(matches),
  ];
}

function resolutionRoute(matches: MatchesService): Route {
  return post("/users/{discord_user_id}/matches/{match_id}/resolution", "resolveUserMatch", {
    summary: "Decide about a match",
    description:
      "Acknowledge, confirm, dismiss or exempt a match, or take that back. A dismissal is remembered: the match opens again only when its record becomes more severe. Nobody decides about themselves or an account of theirs. `revision` in the body, or `If-Match`, says which state the decision is about.",
    access: { permission: intelligencePermissions.resolve },
    request: {
      params: MatchIdParams,
      body: ResolveMatchInput,
      example: { outcome: "acknowledge", reason: "Known; we are talking to the person." },
    },
    success: { status: 200, shape: "single", schema: MatchView, description: "The match", example: matchExample },
    refusals: [
      "authorization_required",
      "record_not_found",
      "precondition_failed",
      "invalid_transition",
      "conflict_of_interest",
      "hierarchy_violation",
    ],
    handle: ({ call, params, body, ifMatch }) => matches.resolve(call, params.discord_user_id, params.match_id, body, ifMatch),
  });
}
