import { z } from "zod";
import { routesFor, type Route } from "../../operations/route.ts";
import { webhooksPolicy } from "./webhooks.policy.ts";
import {
  CreateWebhookInput,
  DeliveryId,
  DeliveryView,
  ListDeliveriesQuery,
  ListWebhooksQuery,
  UpdateWebhookInput,
  WebhookId,
  WebhookView,
  WebhookWithSecretView,
} from "./webhooks.schema.ts";
import type { WebhooksService } from "./webhooks.service.ts";

const { get, post, patch, del } = routesFor("webhooks");
const access = { permission: webhooksPolicy.manage } as const;
const params = z.object({ id: WebhookId });
const deliveryParams = z.object({ id: WebhookId, delivery: DeliveryId });
const example = {
  id: "0199a1b2-c3d4-7e5f-8a9b-0c1d2e3f4a5b",
  name: "review client",
  url: "https://client.example/provost",
  types: ["blacklist.*", "workflow.decided"],
  state: "active",
  problem: null,
  api_key_id: "0199e6a0-7c4e-7a35-9f0c-3a0a4d6f2b11",
  user_id: "80351110224678912",
  position: 1042,
  failures: 0,
  failing_since: null,
  next_attempt_at: null,
  former_secret_until: null,
  created_at: "2026-11-20T10:00:00.000Z",
  updated_at: "2026-11-20T10:00:00.000Z",
  revision: 1,
} as const satisfies z.input<typeof WebhookView>;
const deliveryExample = {
  id: "0199a7d2-6c1f-7c3a-9f64-3f1d7a1b2c4e",
  kind: "event",
  event_id: "0199a7d2-6c1e-7c3a-9f64-3f1d7a1b2c4d",
  type: "workflow.decided",
  at: "2026-11-20T10:00:00.000Z",
  attempt: 1,
  delivered: true,
  status: 204,
  ms: 38,
  problem: null,
} as const satisfies z.input<typeof DeliveryView>;
const single = { status: 200, shape: "single", schema: WebhookView, example } as const;
const withSecret = { shape: "single", schema: WebhookWithSecretView, example: { ...example, secret: "whsec_…" } } as const;
const delivery = { status: 200, shape: "single", schema: DeliveryView, example: deliveryExample } as const;

/** HTTP routes for web-hooks. */
export function webhooksRoutes(webhooks: WebhooksService): Route[] {
  return [...recordRoutes(webhooks), ...deliveryRoutes(webhooks)];
}

function recordRoutes(webhooks: WebhooksService): Route[] {
  return [
    get("/webhooks", "listWebhooks", {
      summary: "List web-hooks, oldest first",
      access,
      request: { query: ListWebhooksQuery },
      success: { ...single, shape: "list", description: "A page of web-hooks" },
      refusals: ["invalid_cursor", "unknown_parameter"],
      handle: ({ call, query }) => webhooks.list(call, query),
    }),
    post("/webhooks", "createWebhook", {
      summary: "Have an address told of events",
      description:
        "From now on, in the order of commits, at least once, signed by Standard Webhooks. It is told what the key and the acting user of this request may see at each moment, as with `GET /events`.",
      access,
      request: {
        body: CreateWebhookInput,
        example: { name: "review client", url: "https://client.example/provost", types: ["blacklist.*", "workflow.decided"] },
      },
      success: { ...withSecret, status: 201, description: "The web-hook with its secret, which is in no other answer" },
      refusals: ["invalid_transition"],
      handle: ({ call, body }) => webhooks.create(call, body),
    }),
    get("/webhooks/{id}", "getWebhook", {
      summary: "See a web-hook",
      access,
      request: { params },
      success: { ...single, description: "The web-hook" },
      refusals: ["record_not_found"],
      handle: ({ call, params: { id } }) => webhooks.get(call, id),
    }),
    patch("/webhooks/{id}", "updateWebhook", {
      summary: "Change, pause or enable a web-hook",
      description:
        "Who changes its address or types, or enables it, is whom it acts for from then on. Enabled again it goes on where it stopped; where events are no longer kept, a message `webhook.gap` says so first.",
      access,
      request: { params, body: UpdateWebhookInput, example: { state: "paused" } },
      success: { ...single, description: "The web-hook as it is now" },
      refusals: ["record_not_found", "precondition_failed"],
      handle: ({ call, params: { id }, body, ifMatch }) => webhooks.update(call, id, body, ifMatch),
    }),
    del("/webhooks/{id}", "deleteWebhook", {
      summary: "Delete a web-hook",
      description: "With the log of its deliveries.",
      access,
      request: { params },
      success: { ...single, description: "The web-hook as it was" },
      refusals: ["record_not_found", "precondition_failed"],
      handle: ({ call, params: { id }, ifMatch }) => webhooks.delete(call, id, ifMatch),
    }),
    post("/webhooks/{id}/rotate", "rotateWebhookSecret", {
      summary: "Give a web-hook a new secret",
      description: "For 24 hours messages carry two signatures, by the new secret and by the one before.",
      access,
      request: { params },
      success: { ...withSecret, status: 200, description: "The web-hook with its new secret, which is in no other answer" },
      refusals: ["record_not_found", "precondition_failed"],
      handle: ({ call, params: { id }, ifMatch }) => webhooks.rotate(call, id, ifMatch),
    }),
  ];
}

function deliveryRoutes(webhooks: WebhooksService): Route[] {
  return [
    post("/webhooks/{id}/test", "testWebhook", {
      summary: "Send a test message now",
      description: "A `webhook.test`, signed like any other, whatever the state of the web-hook. How it went stands in the answer.",
      access,
      request: { params },
      success: { ...delivery, example: { ...deliveryExample, kind: "test", type: "webhook.test" }, description: "How it went" },
      refusals: ["record_not_found"],
      handle: ({ call, params: { id } }) => webhooks.test(call, id),
    }),
    get("/webhooks/{id}/deliveries", "listWebhookDeliveries", {
      summary: "List attempts to deliver, the newest first",
      description: "Of the last 30 days, 10,000 at most.",
      access,
      request: { params, query: ListDeliveriesQuery },
      success: { ...delivery, shape: "list", description: "A page of attempts" },
      refusals: ["record_not_found", "invalid_cursor", "unknown_parameter"],
      handle: ({ call, params: { id }, query }) => webhooks.deliveries(call, id, query),
    }),
    post("/webhooks/{id}/deliveries/{delivery}/redeliver", "redeliverWebhookEvent", {
      summary: "Send the event of a delivery again",
      description: "Now and out of its order, under the same `webhook-id`. Events are kept for seven days.",
      access,
      request: { params: deliveryParams },
      success: { ...delivery, example: { ...deliveryExample, kind: "redelivery" }, description: "How it went" },
      refusals: ["record_not_found", "invalid_transition"],
      handle: ({ call, params: { id, delivery } }) => webhooks.redeliver(call, id, delivery),
    }),
  ];
}
