import type { Webhook, WebhookDelivery } from "../../generated/sqlite/client.ts";
import { shownAddress } from "../../kernel/addresses.ts";
import { isoOrNull } from "../../kernel/fields.ts";
import type { DeliveryView, WebhookView } from "./webhooks.schema.ts";

/** Who may see and manage web-hooks. */
export const webhooksPolicy = { manage: "system.webhooks.manage", sweep: "system.act" } as const;

/** Web-hooks there can be, and those that one key or one person has made. */
export const most = { all: 200, each: 20 } as const;

/** The view has no secret. */
export function presentWebhook(row: Webhook): WebhookView {
  return {
    id: row.id,
    name: row.name,
    url: shownAddress(row.url),
    types: row.types as string[],
    state: row.state === "active" && row.failures > 0 ? "failing" : (row.state as WebhookView["state"]),
    problem: row.problem,
    api_key_id: row.keyId,
    user_id: row.userId,
    position: row.position,
    failures: row.failures,
    failing_since: isoOrNull(row.failingSince),
    next_attempt_at: isoOrNull(row.nextAttemptAt),
    former_secret_until: isoOrNull(row.formerUntil),
    created_at: row.createdAt.toISOString(),
    updated_at: row.updatedAt.toISOString(),
    revision: row.revision,
  };
}

/** An attempt, without anything of what the receiver answered but its status. */
export function presentDelivery(row: WebhookDelivery): DeliveryView {
  return {
    id: row.id,
    kind: row.kind as DeliveryView["kind"],
    event_id: row.eventId,
    type: row.type,
    at: row.at.toISOString(),
    attempt: row.attempt,
    delivered: row.problem === null,
    status: row.status,
    ms: row.ms,
    problem: row.problem,
  };
}
