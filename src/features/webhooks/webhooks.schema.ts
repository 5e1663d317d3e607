import { say } from "../../kit/say.ts";
import { z } from "zod";
import { idPattern, listQuery, text, Timestamp, WebAddress } from "../../kernel/fields.ts";

const Name = text(1, 80).meta({ description: "What you call it", example: "review client" });
const Url = WebAddress.meta({
  description: "Where events are sent, by POST. It begins with `https://`; its port is 443, or 1024 or above",
  example: "https://client.example/provost",
});
const Types = z
  .array(z.string().regex(/^[a-z_]{1,40}(\.[a-z_]{1,40}|\.\*)$/, say("events.name-types-of-events-or-prefix-for")))
  .max(100)
  .meta({
    description: "Which events: types, or `prefix.*`. Empty: everything that whoever it acts for may see",
    example: ["blacklist.*", "workflow.decided"],
  });

export const CreateWebhookInput = z.strictObject({ name: Name, url: Url, types: Types.default([]) }).meta({ id: "CreateWebhookInput" });
export type CreateWebhookInput = z.input<typeof CreateWebhookInput>;

export const UpdateWebhookInput = z
  .strictObject({
    name: Name.optional(),
    url: Url.optional(),
    types: Types.optional(),
    state: z.enum(["active", "paused"]).optional().meta({ description: "`active` also enables one that was disabled" }),
  })
  .meta({ id: "UpdateWebhookInput", description: "What is left out stays as it is" });
export type UpdateWebhookInput = z.input<typeof UpdateWebhookInput>;

export const ListWebhooksQuery = z.strictObject(listQuery).meta({ id: "ListWebhooksQuery" });
export type ListWebhooksQuery = z.input<typeof ListWebhooksQuery>;
export const ListDeliveriesQuery = z.strictObject(listQuery).meta({ id: "ListWebhookDeliveriesQuery" });
export type ListDeliveriesQuery = z.input<typeof ListDeliveriesQuery>;

const idOf = (what: string, message: string) =>
  z
    .string()
    .regex(idPattern, message)
    .transform((id) => id.toLowerCase())
    .meta({ description: `Id of the ${what}`, example: "0199a1b2-c3d4-7e5f-8a9b-0c1d2e3f4a5b" });
export const WebhookId = idOf("web-hook", say("webhooks.name-the-web-hook-by-its-id"));
export const DeliveryId = idOf("delivery", say("webhooks.name-the-delivery-by-its-id"));

export const WebhookView = z
  .object({
    id: z.string(),
    name: z.string(),
    url: z.string().meta({
      description:
        "Its host and the first part of its path. The rest may be a secret: it is shown nowhere, not even to whoever wrote it. Sending this back changes nothing",
      example: "https://client.example/hooks/…",
    }),
    types: z.array(z.string()),
    state: z.enum(["active", "failing", "paused", "disabled"]).meta({
      description: "`failing`: the last attempt failed and is repeated; `disabled`: nothing is sent until somebody makes it `active`",
    }),
    problem: z.string().nullable().meta({ description: "Why it is disabled, or why the last attempt failed" }),
    api_key_id: z.string().nullable().meta({ description: "The key whose sight it has; null: only that of the person" }),
    user_id: z.string().nullable().meta({ description: "The person whose sight it has; null: only that of the key" }),
    position: z.int().meta({ description: "`seq` of the last event that was delivered or was not meant for it" }),
    failures: z.int().meta({ description: "Attempts in a row that failed" }),
    failing_since: Timestamp.nullable(),
    next_attempt_at: Timestamp.nullable(),
    former_secret_until: Timestamp.nullable().meta({ description: "Until then the secret before signs, too" }),
    created_at: Timestamp,
    updated_at: Timestamp,
    revision: z.int(),
  })
  .meta({ id: "Webhook", description: "An address that is told of events" });
export type WebhookView = z.infer<typeof WebhookView>;

/** A web-hook whose secret was just made. It is in no other answer. */
export const WebhookWithSecretView = WebhookView.extend({
  secret: z.string().meta({ description: "What signatures are verified with, shown only now", example: "whsec_…" }),
}).meta({ id: "WebhookWithSecret", description: "A web-hook with its secret" });
export type WebhookWithSecretView = z.infer<typeof WebhookWithSecretView>;

export const DeliveryView = z
  .object({
    id: z.string(),
    kind: z.enum(["event", "test", "redelivery"]),
    event_id: z.string().meta({ description: "`webhook-id` of the message: the same for every attempt" }),
    type: z.string(),
    at: Timestamp,
    attempt: z.int().meta({ description: "1 for the first" }),
    delivered: z.boolean(),
    status: z.int().nullable().meta({ description: "What the receiver answered; null: nothing" }),
    ms: z.int(),
    problem: z.string().nullable(),
  })
  .meta({ id: "WebhookDelivery", description: "One attempt to deliver a message" });
export type DeliveryView = z.infer<typeof DeliveryView>;
