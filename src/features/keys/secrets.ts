import type { Call } from "../../kernel/call.ts";
import { ProblemError } from "../../kernel/errors.ts";
import { isHeld, type Held } from "../../kernel/held.ts";
import { keyedHash } from "../../kernel/secrets.ts";
import type { CreatedKeyView, KeyView } from "./keys.schema.ts";
import { createKeyText, formatKey } from "./text.ts";

export type KeySecrets = ReturnType<typeof createKeySecrets>;

/**
 * Makes the secrets of keys. A secret never passes through a transaction, whose result may be kept for a repeated request: only
 * its hash does, and the text joins the answer outside.
 * @param pepper the key of the hashes
 */
export function createKeySecrets(pepper: Buffer) {
  return {
    /** A key that nobody has seen yet. */
    fresh() {
      const text = createKeyText();

      /** @throws ProblemError idempotency_key_reused for a repeated request: the first answer was the only one with the secret */
      function show(call: Call, view: KeyView): CreatedKeyView {
        requireFirst(call);
        return { ...view, key: formatKey(text) };
      }

      return {
        /** What is kept of it. */
        columns: { key_id: text.keyId, secret_hash: keyedHash(pepper, text.secret) },
        show,
        /** Of a change that is held, the key is shown now and works once the change is confirmed. */
        showIn(call: Call, answer: KeyView | Held): CreatedKeyView | Held {
          if (!isHeld(answer)) return show(call, answer);
          requireFirst(call);
          return { confirmation_required: { ...answer.confirmation_required, key: formatKey(text) } };
        },
      };
    },
  };
}

function requireFirst(call: Call): void {
  if (!call.replayed) return;
  throw new ProblemError("idempotency_key_reused", { detail: "The key was shown in the first answer and is not kept." });
}
