import { inJson } from "../../kit/say.ts";
import { Webhook as Signer } from "standardwebhooks";
import type { Webhook } from "../../generated/sqlite/client.ts";
import { randomBytes } from "node:crypto";
import { sealedIn, type Keyring } from "../../kernel/secrets.ts";
import { uuid7 } from "../../kernel/ids.ts";
import type { Told } from "../events/events.policy.ts";

/** What a receiver is sent: the same for every attempt. */
export interface Message {
  /** The `webhook-id`. */
  id: string;
  type: string;
  /** JSON. */
  body: string;
}

const messageOf = (id: string, type: string, timestamp: string, data: object): Message => ({
  id,
  type,
  body: inJson({ type, timestamp, data }),
});

/** An event, told as `GET /events` tells it. */
export const eventMessage = ({ view }: Pick<Told, "view">): Message => messageOf(view.id, view.type, view.at, view);

/** Events are missing: those after `after` and before `next` are no longer kept. */
export function gapMessage(webhookId: string, after: number, { seq, view: { at } }: Pick<Told, "seq" | "view">): Message {
  return messageOf(`gap-${webhookId}-${seq.toString()}`, "webhook.gap", at, { after, next: seq });
}

export function testMessage(webhookId: string, now: Date): Message {
  return messageOf(uuid7(now.getTime()), "webhook.test", now.toISOString(), { webhook_id: webhookId });
}

/** A fresh secret as receivers keep it. */
export const createSecret = (): string => `whsec_${randomBytes(32).toString("base64")}`;

type Secrets = Pick<Webhook, "id" | "secret" | "formerSecret" | "formerUntil">;

/**
 * What signs the messages of a web-hook: its secret, and for a while the one before.
 * @throws Error when a secret cannot be opened any more
 */
export function createSigning(keyring: Keyring, { id, secret, formerSecret, formerUntil }: Secrets) {
  const signer = new Signer(keyring.decrypt(secret, sealedIn.webhookSecret(id)));
  const former = formerSecret === null ? undefined : new Signer(keyring.decrypt(formerSecret, sealedIn.formerWebhookSecret(id)));
  return ({ id, body }: Message, now: Date): Record<string, string> => {
    const signers = former !== undefined && formerUntil !== null && now < formerUntil ? [signer, former] : [signer];
    return {
      "webhook-id": id,
      "webhook-timestamp": Math.floor(now.getTime() / 1000).toString(),
      "webhook-signature": signers.map((one) => one.sign(id, now, body)).join(" "),
    };
  };
}
