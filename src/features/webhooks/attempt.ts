import { say } from "../../kit/say.ts";
import type { Deps } from "../deps.ts";
import type { Webhook, WebhookDelivery } from "../../generated/sqlite/client.ts";
import { uuid7 } from "../../kernel/ids.ts";
import { OutgoingFailed, type Outgoing } from "../../outgoing.ts";
import { createSigning, type Message } from "./message.ts";
import { isDelivered, type Outcome } from "./schedule.ts";
import type { DeliveryView } from "./webhooks.schema.ts";

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
