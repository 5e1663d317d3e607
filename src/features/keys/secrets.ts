import { say } from "../../kit/say.ts";
import type { Call } from "../../kernel/call.ts";
import { ProblemError } from "../../kernel/errors.ts";
import { isHeld, type Held } from "../../kernel/held.ts";
import { keyedHash } from "../../kernel/secrets.ts";
import type { CreatedKeyView, KeyView } from "./keys.schema.ts";
import { randomBytes } from "node:crypto";
import { crc32 } from "node:zlib";

export interface KeySecrets {
  /** A key that nobody has seen yet. */
  fresh(): {
    columns: {
      key_id: string;
      secret_hash: string;
    };
    show: (call: Call, view: KeyView) => CreatedKeyView;
    showIn(call: Call, answer: KeyView | Held): CreatedKeyView | Held;
  };
}

/**
 * Makes the secrets of keys. A secret never passes through a transaction, whose result may be kept for a repeated request: only
 * its hash does, and the text joins the answer outside.
 * @param pepper the key of the hashes
 */
export function createKeySecrets(pepper: Buffer): KeySecrets {
  return {
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
  throw new ProblemError("idempotency_key_reused", { detail: say("keys.the-key-was-shown-in-the-first") });
}

/** An API key taken apart. */
export interface KeyText {
  /** Public: it names the key in lists and logs. */
  keyId: string;
  /** 256 random bits. */
  secret: string;
}

const digits = "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz";
const prefix = "prv_live_";
const form = /^prv_live_([0-9A-Za-z]{12})_([0-9A-Za-z]{43})([0-9A-Za-z]{6})$/;

/** A number in base 62, left-padded with `0`. */
function base62(value: bigint, length: number): string {
  let text = "";
  for (let rest = value; rest > 0n; rest /= 62n) text = `${digits[Number(rest % 62n)] ?? ""}${text}`;
  return text.padStart(length, "0");
}

function randomBase62(bits: number, length: number): string {
  return base62(BigInt(`0x${randomBytes(bits / 8).toString("hex")}`), length);
}

/** A fresh key id and secret. */
export function createKeyText(): KeyText {
  return { keyId: randomBase62(96, 12).slice(-12), secret: randomBase62(256, 43) };
}

/** The key as its client presents it: `prv_live_<key id>_<secret><CRC-32 of everything before it>`. */
export function formatKey({ keyId, secret }: KeyText): string {
  const body = `${prefix}${keyId}_${secret}`;
  return `${body}${base62(BigInt(crc32(body)), 6)}`;
}

/** Take a presented key apart; undefined when it is mistyped, which its check digits tell without a look-up. */
export function parseKey(presented: string): KeyText | undefined {
  const [, keyId, secret, check] = form.exec(presented) ?? [];
  if (keyId === undefined || secret === undefined) return undefined;
  return base62(BigInt(crc32(`${prefix}${keyId}_${secret}`)), 6) === check ? { keyId, secret } : undefined;
}
