import { say, inJson } from "../../kit/say.ts";
import type { Deps } from "../deps.ts";
import type { Webhook, WebhookDelivery } from "../../generated/sqlite/client.ts";
import { uuid7 } from "../../kernel/ids.ts";
import { OutgoingFailed, type Outgoing } from "../../outgoing.ts";
import { isDelivered, type Outcome } from "./schedule.ts";
import type { DeliveryView } from "./webhooks.schema.ts";
import { Webhook as Signer } from "standardwebhooks";
import { randomBytes } from "node:crypto";
import { sealedIn, type Keyring } from "../../kernel/secrets.ts";
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
function createSigning(keyring: Keyring, { id, secret, formerSecret, formerUntil }: Secrets) {
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

export interface AttemptDeps extends Deps<"clock" | "keyring"> {
  outgoing: Pick<Outgoing, "post">;
}

/** How an attempt ended, and the row that tells of it. */
export interface Attempted {
  outcome: Outcome;
  row: WebhookDelivery;
}

export type Attempt = ReturnType<typeof createAttempts>;

const answerBytes = 64 * 1024;

/** Makes what sends messages to the address of a web-hook, one attempt each. */
export function createAttempts({ clock, keyring, outgoing }: AttemptDeps) {
  return (webhook: Webhook) => {
    let signing: ReturnType<typeof createSigning> | undefined;

    async function post(message: Message, at: Date, signal?: AbortSignal): Promise<Outcome & { problem: string | null }> {
      try {
        signing ??= createSigning(keyring, webhook);
      } catch {
        return { status: null, problem: say("webhooks.the-secret-cannot-be-opened-any-more") };
      }
      try {
        const sent = { body: message.body, headers: signing(message, at), maxBytes: answerBytes, ...(signal !== undefined && { signal }) };
        const outcome = await outgoing.post(webhook.url, sent);
        return {
          ...outcome,
          problem: isDelivered(outcome) ? null : say("webhooks.the-address-answered-with-status", { status: outcome.status }),
        };
      } catch (error) {
        if (error instanceof OutgoingFailed) return { status: null, problem: error.message };
        throw error;
      }
    }

    /** @param count which attempt at this message it is */
    return async (kind: DeliveryView["kind"], message: Message, count: number, signal?: AbortSignal): Promise<Attempted> => {
      const at = clock.now();
      const began = performance.now();
      const { problem, ...outcome } = await post(message, at, signal);
      const { id: webhookId } = webhook;
      const { id: eventId, type } = message;
      const ms = Math.round(performance.now() - began);
      return {
        outcome,
        row: { id: uuid7(at.getTime()), webhookId, kind, eventId, type, at, attempt: count, status: outcome.status, ms, problem },
      };
    };
  };
}
