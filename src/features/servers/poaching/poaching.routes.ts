import { z } from "zod";
import { route, type Route } from "../../../operations/route.ts";
import { Snowflake } from "../../../kernel/fields.ts";
import { registryPermissions } from "../servers.policy.ts";
import { ClearanceView, IncidentView, ListClearancesQuery, ListIncidentsQuery } from "./poaching.schema.ts";
import type { RegistryService } from "../servers.service.ts";

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

/** The HTTP door to recruiting between servers. */
export function poachingRoutes(registry: RegistryService): Route[] {
  return [
    route(
      {
        method: "get",
        path: "/servers/{id}/incidents",
        operationId: "listServerIncidents",
        tags: ["servers"],
        summary: "List the incidents of poaching by a server, newest first",
        description: "Approved reports that it recruited from others, under any id of the server, voided ones included.",
        access,
        request: {
          params: z.object({ id: Snowflake.meta({ description: "Id of the server, or an alias of it" }) }),
          query: ListIncidentsQuery,
        },
        success: { status: 200, shape: "list", schema: IncidentView, description: "A page of incidents", example: incidentExample },
        refusals: ["record_not_found", "invalid_cursor", "unknown_parameter"],
      },
      ({ call, params: { id }, query }) => registry.listIncidents(call, id, query),
    ),
    route(
      {
        method: "get",
        path: "/users/{discord_user_id}/clearances",
        operationId: "listUserClearances",
        tags: ["servers"],
        summary: "List the clearances of a person to be recruited, newest first",
        description: "In spite of an agreement, from one server by another; those that are used, revoked or over included.",
        access,
        request: { params: z.object({ discord_user_id: Snowflake }), query: ListClearancesQuery },
        success: { status: 200, shape: "list", schema: ClearanceView, description: "A page of clearances", example: clearanceExample },
        refusals: ["invalid_cursor", "unknown_parameter"],
      },
      ({ call, params: { discord_user_id: userId }, query }) => registry.listClearances(call, userId, query),
    ),
  ];
}
