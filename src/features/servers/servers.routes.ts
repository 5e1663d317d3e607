import { walkDescription, WalkNotes } from "../../kernel/keyset.ts";
import { z } from "zod";
import { routesFor, withContentEtag, type Route } from "../../operations/route.ts";
import { Snowflake } from "../../kernel/fields.ts";
import { registryPermissions } from "./servers.policy.ts";
import {
  AgreementView,
  CreateServerInput,
  ListAgreementsQuery,
  ListRegistryQuery,
  ServerView,
  UpdateServerInput,
} from "./servers.schema.ts";
import type { RegistryService } from "./servers.service.ts";
import { ClearanceView, IncidentView, ListClearancesQuery, ListIncidentsQuery } from "./poaching/poaching.schema.ts";

const { get, patch, post } = routesFor("servers");
const path = "/servers/{id}";
const params = z.object({ id: Snowflake.meta({ description: "Id of the server, or an alias of it" }) });

const example = {
  id: "613425648685547541",
  name: "Quarry",
  icon: null,
  status: "partner" as const,
  aliases: [],
  owner_user_id: "80351110224678912",
  contacts: [{ user_id: "80351110224678912", role: "owner" }],
  tags: ["racing"],
  note: null,
  invite: { code: "quarry", status: "valid" as const, checked_at: "2026-11-20T10:00:00.000Z" },
  blacklist_id: null,
  agreements: ["0199d2f4-5a6b-7c8d-9e0f-1a2b3c4d5e6f"],
  created_at: "2026-11-20T10:00:00.000Z",
  updated_at: "2026-11-20T10:00:00.000Z",
  revision: 2,
};

const agreementExample = {
  id: "0199d2f4-5a6b-7c8d-9e0f-1a2b3c4d5e6f",
  status: "active" as const,
  server_ids: ["613425648685547541", "613425648685547542"],
  covers: "staff" as const,
  cooling_off_days: 30,
  terms: "No offers to each other's moderators.",
  starts_at: "2026-11-20T10:00:00.000Z",
  ends_at: null,
  origin_reference: "PCH-REQ-000001",
  created_at: "2026-11-20T10:00:00.000Z",
  ended: null,
  revision: 1,
};
const single = { status: 200, shape: "single", schema: ServerView, example } as const;
const { read, manage } = registryPermissions;

/** HTTP routes for the register of servers. */
export function serversRoutes(registry: RegistryService): Route[] {
  return [...collectionRoutes(registry), ...serverRoutes(registry), ...poachingRoutes(registry)];
}

function collectionRoutes(registry: RegistryService): Route[] {
  return [
    get("/servers", "listServers", {
      summary: "List registered servers, newest first",
      description: walkDescription,
      access: { permission: read },
      request: { query: ListRegistryQuery },
      success: { status: 200, shape: "list", schema: ServerView, notes: WalkNotes, description: "A page of servers", example },
      refusals: ["invalid_cursor", "unknown_parameter"],
      handle: ({ call, query }) => registry.list(call, query),
    }),
    post("/servers", "registerServer", {
      summary: "Register a server",
      description: "An id is registered once, be it as a server or as an alias of one. Members who are stored already are compared again.",
      access: { permission: manage },
      request: {
        body: CreateServerInput,
        example: {
          id: "613425648685547541",
          name: "Quarry",
          status: "partner",
          contacts: [{ user_id: "80351110224678912", role: "owner" }],
        },
      },
      success: { status: 201, shape: "single", schema: ServerView, description: "The registered server", example },
      refusals: ["duplicate_active_record"],
      handle: async ({ call, body }) => withContentEtag(await registry.create(call, body)),
    }),
  ];
}

function serverRoutes(registry: RegistryService): Route[] {
  return [
    get(path, "getServer", {
      summary: "Read one registered server",
      description: "An alias answers the server it belongs to.",
      access: { permission: read },
      request: { params },
      success: { ...single, description: "The server" },
      refusals: ["record_not_found"],
      handle: async ({ call, params: { id } }) => withContentEtag(await registry.get(call, id)),
    }),
    patch(path, "updateServer", {
      summary: "Change a registered server",
      description:
        "Fields that are not sent stay; `aliases`, `contacts` and `tags` are replaced as a whole. Nothing is deleted: a server that is gone is `defunct`, one that became part of another is `merged`.",
      access: { permission: manage },
      request: { params, body: UpdateServerInput, example: { status: "watched", tags: ["raids"] } },
      success: { ...single, description: "The changed server" },
      refusals: ["record_not_found", "precondition_failed", "duplicate_active_record"],
      handle: async ({ call, params: { id }, body, ifMatch }) => withContentEtag(await registry.update(call, id, body, ifMatch)),
    }),
    get(`${path}/agreements`, "listServerAgreements", {
      summary: "List the agreements of a server, newest first",
      description: "Agreements not to recruit from one another, under any id of the server, ended ones included.",
      access: { permission: read },
      request: { params, query: ListAgreementsQuery },
      success: { status: 200, shape: "list", schema: AgreementView, description: "A page of agreements", example: agreementExample },
      refusals: ["record_not_found", "invalid_cursor", "unknown_parameter"],
      handle: ({ call, params: { id }, query }) => registry.listAgreements(call, id, query),
    }),
  ];
}

const access = { permission: registryPermissions.read } as const;
const origin = { origin_reference: "PCH-REQ-000001", created_at: "2026-11-20T10:00:00.000Z", ended: null };

const incidentExample = {
  id: "0199d2f4-5a6b-7c8d-9e0f-1a2b3c4d5e6f",
  status: "active" as const,
  server_id: "613425648685547541",
  victim_server_id: "613425648685547542",
  offenders: 2,
  method: "dm",
  occurred_at: "2026-11-19T10:00:00.000Z",
  ...origin,
};

const clearanceExample = {
  id: "0199d2f4-5a6b-7c8d-9e0f-1a2b3c4d5e6f",
  status: "active" as const,
  user_id: "80351110224678912",
  from_server_id: "613425648685547541",
  to_server_id: "613425648685547542",
  valid_until: "2026-12-20T10:00:00.000Z",
  used_reference: null,
  ...origin,
};

/** HTTP routes for recruiting between servers. */
export function poachingRoutes(registry: RegistryService): Route[] {
  return [
    get("/servers/{id}/incidents", "listServerIncidents", {
      summary: "List the incidents of poaching by a server, newest first",
      description: "Approved reports that it recruited from others, under any id of the server, voided ones included.",
      access,
      request: {
        params: z.object({ id: Snowflake.meta({ description: "Id of the server, or an alias of it" }) }),
        query: ListIncidentsQuery,
      },
      success: { status: 200, shape: "list", schema: IncidentView, description: "A page of incidents", example: incidentExample },
      refusals: ["record_not_found", "invalid_cursor", "unknown_parameter"],
      handle: ({ call, params: { id }, query }) => registry.listIncidents(call, id, query),
    }),
    get("/users/{discord_user_id}/clearances", "listUserClearances", {
      summary: "List the clearances of a person to be recruited, newest first",
      description: "In spite of an agreement, from one server by another; those that are used, revoked or over included.",
      access,
      request: { params: z.object({ discord_user_id: Snowflake }), query: ListClearancesQuery },
      success: { status: 200, shape: "list", schema: ClearanceView, description: "A page of clearances", example: clearanceExample },
      refusals: ["invalid_cursor", "unknown_parameter"],
      handle: ({ call, params: { discord_user_id: userId }, query }) => registry.listClearances(call, userId, query),
    }),
  ];
}
