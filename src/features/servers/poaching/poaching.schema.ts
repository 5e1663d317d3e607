import { z } from "zod";
import { listQuery, Snowflake, Timestamp } from "../../../kernel/fields.ts";

export const ListIncidentsQuery = z.strictObject({ ...listQuery }).meta({ id: "ListPoachIncidentsQuery" });
export type ListIncidentsQuery = z.input<typeof ListIncidentsQuery>;
export const ListClearancesQuery = z.strictObject({ ...listQuery }).meta({ id: "ListPoachClearancesQuery" });
export type ListClearancesQuery = z.input<typeof ListClearancesQuery>;

const ended = z.object({ at: Timestamp, reason: z.string().nullable() }).nullable();
const origin = z.string().meta({ description: "The request that was approved", example: "PCH-REQ-000001" });

export const IncidentView = z
  .object({
    id: z.string(),
    status: z.enum(["active", "voided"]),
    server_id: Snowflake.meta({ description: "The server that recruited" }),
    victim_server_id: Snowflake.meta({ description: "The server whose people were recruited" }),
    offenders: z.int().nonnegative().meta({ description: "How many people did it; the request names them" }),
    method: z.string().meta({ description: "dm, invite, offer, ad, role_offer or other" }),
    occurred_at: Timestamp,
    origin_reference: origin,
    created_at: Timestamp,
    ended,
  })
  .meta({ id: "PoachIncident", description: "One case of recruiting from another server, counted against the server that did it" });
export type IncidentView = z.infer<typeof IncidentView>;

export const clearanceStatuses = ["active", "used", "revoked", "expired"] as const;
export const ClearanceView = z
  .object({
    id: z.string(),
    status: z.enum(clearanceStatuses),
    user_id: Snowflake,
    from_server_id: Snowflake,
    to_server_id: Snowflake,
    valid_until: Timestamp.nullable(),
    used_reference: z.string().nullable().meta({ description: "The recruitment that made use of it" }),
    origin_reference: origin,
    created_at: Timestamp,
    ended,
  })
  .meta({ id: "PoachClearance", description: "Somebody may be recruited from one server by another in spite of an agreement" });
export type ClearanceView = z.infer<typeof ClearanceView>;
