import { createCipheriv, createDecipheriv, createHash, createHmac, hkdfSync, randomBytes } from "node:crypto";

/**
 * The form of a sealed text: `<form>.<key id>.<iv>.<tag>.<text>`. `v2` says that what is kept of a server belongs to its row; in `v1` it
 * belonged to the person. Every other text is `v1`.
 */
export type SealForm = "v1" | "v2";

/** Encrypts small texts at rest; the first key encrypts, every key decrypts. */
export interface Keyring {
  /** How every text of a form begins that was sealed with the first key; other texts can be sealed again. */
  current(form: SealForm): string;
  /** @param context what the text belongs to (user, column, row); decrypting under another context fails */
  encrypt(plain: string, context: string, form?: SealForm): string;
  /** @throws Error when the text was changed, belongs to another context, or its key is gone */
  decrypt(sealed: string, context: string): string;
}

/** @param keys 32-byte keys by id, the encrypting one first */
export function createKeyring(keys: ReadonlyMap<string, Buffer>): Keyring {
  const first = keys.entries().next().value;
  if (first === undefined) throw new Error("the key ring is empty");
  const [currentId, currentKey] = first;
  return {
    current: (form) => `${form}.${currentId}.`,
    encrypt(plain, context, form = "v1") {
      const iv = randomBytes(12);
      const cipher = createCipheriv("aes-256-gcm", currentKey, iv).setAAD(Buffer.from(context));
      const text = Buffer.concat([cipher.update(plain, "utf8"), cipher.final()]);
      return [form, currentId, iv.toString("base64url"), cipher.getAuthTag().toString("base64url"), text.toString("base64url")].join(".");
    },
    decrypt(sealed, context) {
      const [version, keyId = "", iv = "", tag = "", text = ""] = sealed.split(".");
      const key = keys.get(keyId);
      if (!isForm(version) || key === undefined) throw new Error("the text was sealed with a key this installation does not have");
      const decipher = createDecipheriv("aes-256-gcm", key, Buffer.from(iv, "base64url"), { authTagLength: 16 });
      decipher.setAAD(Buffer.from(context)).setAuthTag(Buffer.from(tag, "base64url"));
      return Buffer.concat([decipher.update(Buffer.from(text, "base64url")), decipher.final()]).toString("utf8");
    },
  };
}

const isForm = (version: string | undefined): version is SealForm => version === "v1" || version === "v2";

/** What keys are derived for. */
export type KeyPurpose = "api-keys" | "cursors" | "servers" | "pages" | "people" | "audit-checkpoints" | "fingerprints" | "cluster";

/** One 32-byte key per purpose, derived from the installation's secret, so that no two uses share a key. */
export function deriveKey(secret: Buffer, purpose: KeyPurpose): Buffer {
  return Buffer.from(hkdfSync("sha256", secret, Buffer.alloc(0), `provost/${purpose}`, 32));
}

/** HMAC-SHA-256 as base64url: the keyed hash of ids and secrets that must not be readable in the database. */
export function keyedHash(key: Buffer, text: string): string {
  return createHmac("sha256", key).update(text).digest("base64url");
}

/** A fresh 256-bit token as base64url. */
export function randomToken(): string {
  return randomBytes(32).toString("base64url");
}

/** SHA-256 of a random token, for storage; a token of 256 random bits needs no slow hash. */
export function hashToken(token: string): string {
  return createHash("sha256").update(token).digest("base64url");
}

/**
 * What every sealed text of the database belongs to: its column and its row. Anyone who seals, opens or seals again names it from
 * here, so that a text moved to another row or column opens nowhere.
 */
export const sealedIn = {
  accessToken: (userId: string): string => `authorization:${userId}:access_token`,
  refreshToken: (userId: string): string => `authorization:${userId}:refresh_token`,
  sessionVerifier: (sessionId: string): string => `authorization_session:${sessionId}:verifier`,
  tokenRevocation: (id: string): string => `token_revocation:${id}:token`,
  userServer: (userId: string, serverHash: string): string => `user_server:${userId}:${serverHash}:details`,
  /** Of texts of the form `v1`. */
  formerUserServer: (userId: string): string => `server:${userId}`,
  listKey: (listId: string): string => `followed_list:${listId}:key`,
  webhookSecret: (webhookId: string): string => `webhook:${webhookId}:secret`,
  formerWebhookSecret: (webhookId: string): string => `webhook:${webhookId}:former_secret`,
  privacyVerifier: (sessionId: string): string => `privacy_session:${sessionId}:verifier`,
} as const;

/** Secrets by their form: our keys, also as an address encodes them, bot tokens, sealed texts, and tokens in addresses of consent. */
const secrets =
  /whsec_[\w+/=]+|prv(?:_|%5[Ff])live(?:_|%5[Ff])[\w%]+|sandbox\.[\w.-]+|[MNO][\w-]{23,27}\.[\w-]{6}\.[\w-]{27,}|v[12]\.[\w-]{1,16}\.[\w-]{16}\.[\w-]{22}\.[\w-]+|\/authorize\/[\w-]{20,}/g;

/** Replace every secret in what came from outside and is shown or kept: a caller may put one where none belongs. JSON stays JSON. */
export function redact(text: string): string {
  return text.replace(secrets, "[redacted]");
}
