import { Webhook } from "standardwebhooks";
import type { EventGap, ServiceEvent } from "./events.ts";

/** What a web-hook says: an event, that events are no longer kept (`webhook.gap`), or a test (`webhook.test`). */
export interface WebhookMessage {
  type: string;
  timestamp: string;
  data: ServiceEvent | Omit<EventGap, "type"> | { webhook_id: string };
}

/**
 * Read a web-hook that is signed as Standard Webhooks says, and not older than five minutes.
 * @param secret `whsec_…`; while it is rotated, the old and the new one
 * @param headers of the request: `webhook-id`, `webhook-timestamp`, `webhook-signature`
 * @param body byte by byte as received
 * @throws WebhookVerificationError
 */
export function verifyWebhook(
  secret: string | readonly string[],
  headers: Headers | Readonly<Record<string, string | string[] | undefined>>,
  body: string | Uint8Array,
): WebhookMessage {
  const text = typeof body === "string" ? body : new TextDecoder().decode(body);
  const pairs = headers instanceof Headers ? [...headers] : Object.entries(headers).map(([name, value]) => [name, String(value ?? "")]);
  const named = Object.fromEntries(pairs) as Record<string, string>;
  let refusal: unknown = new Error("Name a secret to verify the web-hook with.");
  for (const one of [secret].flat()) {
    try {
      return new Webhook(one).verify(text, named) as WebhookMessage;
    } catch (error) {
      refusal = error;
    }
  }
  throw refusal;
}
