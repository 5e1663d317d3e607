import { Webhook } from "standardwebhooks";

/**
 * Read a web-hook that is signed as Standard Webhooks says, and not older than five minutes.
 * @param secret `whsec_…`; while it is rotated, the old and the new one
 * @param headers of the request: `webhook-id`, `webhook-timestamp`, `webhook-signature`
 * @param body byte by byte as received
 * @returns what its body says
 * @throws WebhookVerificationError
 */
export function verifyWebhook(
  secret: string | readonly string[],
  headers: Headers | Readonly<Record<string, string | string[] | undefined>>,
  body: string | Uint8Array,
): unknown {
  const text = typeof body === "string" ? body : new TextDecoder().decode(body);
  const pairs = headers instanceof Headers ? [...headers] : Object.entries(headers).map(([name, value]) => [name, String(value ?? "")]);
  const named = Object.fromEntries(pairs) as Record<string, string>;
  let refusal: unknown = new Error("Name a secret to verify the web-hook with.");
  for (const one of [secret].flat()) {
    try {
      return new Webhook(one).verify(text, named);
    } catch (error) {
      refusal = error;
    }
  }
  throw refusal;
}
