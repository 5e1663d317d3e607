import { CompactSign, importJWK, importPKCS8 } from "jose";

type CryptoKey = Awaited<ReturnType<typeof crypto.subtle.importKey>>;
/** As `crypto.subtle.exportKey("jwk", key)` writes it. */
type Jwk = { kty?: string; crv?: string; x?: string; d?: string };

/** An Ed25519 private key: as WebCrypto has it, a JWK, or the text of a PEM file (PKCS #8). */
export type PrivateKey = CryptoKey | Jwk | string;

/** One request that is to be made for one person. */
export interface Asked {
  method: string;
  /** As the service sees it, without the query: `/blacklist`. */
  path: string;
  /** What follows `?`, as sent. */
  query?: string;
  /** Byte by byte as sent. */
  body?: string | Uint8Array;
}

export interface AssertionOptions {
  /** The API key whose public key belongs to the private one, or its key id. */
  key: string;
  privateKey: PrivateKey;
  /** The Discord id of the acting user. */
  actingUser: string;
  /** The installation: `service.instance_id` of `GET /health`. */
  audience: string;
}

/** Seconds for which an assertion is good; the service allows 60. */
const lifetime = 30;

/** @returns `X-Acting-Assertion` for one request: every request needs one of its own, and so does every repetition of one */
export async function signAssertion({ key, privateKey, actingUser, audience }: AssertionOptions, asked: Asked): Promise<string> {
  const now = Date.now() / 1000;
  const { method, path, query = "", body = "" } = asked;
  const claims = {
    iss: key.split("_")[2] ?? key,
    sub: actingUser,
    aud: audience,
    iat: now,
    exp: now + lifetime,
    jti: crypto.randomUUID(),
    op: `${method} ${path}`,
    ...(query !== "" && { qry: await hashOf(query) }),
    ...(body.length > 0 && { bod: await hashOf(body) }),
  };
  const payload = new TextEncoder().encode(JSON.stringify(claims));
  return new CompactSign(payload).setProtectedHeader({ alg: "EdDSA" }).sign(await imported(privateKey));
}

async function imported(key: PrivateKey): Promise<CryptoKey | Uint8Array> {
  if (typeof key === "string") return importPKCS8(key, "EdDSA");
  return isJwk(key) ? importJWK({ ...key, kty: "OKP" }, "EdDSA") : key;
}

const isJwk = (key: CryptoKey | Jwk): key is Jwk => "kty" in key;

async function hashOf(text: string | Uint8Array): Promise<string> {
  const bytes = typeof text === "string" ? new TextEncoder().encode(text) : new Uint8Array(text);
  const hash = new Uint8Array(await crypto.subtle.digest("SHA-256", bytes));
  return btoa(String.fromCharCode(...hash))
    .replaceAll("+", "-")
    .replaceAll("/", "_")
    .replace(/=+$/, "");
}
