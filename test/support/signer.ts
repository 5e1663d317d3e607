import { createHash, generateKeyPairSync, randomUUID, sign, type KeyObject } from "node:crypto";

export type Claims = Record<string, unknown>;

const encode = (value: unknown): string => Buffer.from(JSON.stringify(value)).toString("base64url");

export const hashOf = (body: string): string => createHash("sha256").update(body).digest("base64url");

/** A compact JWS made by hand: header and claims may be anything. */
export function jws(claims: unknown, privateKey: KeyObject, header: unknown = { alg: "EdDSA" }): string {
  const text = `${encode(header)}.${encode(claims)}`;
  return `${text}.${sign(null, Buffer.from(text), privateKey).toString("base64url")}`;
}

/** A client's key pair. */
export function createPair() {
  const { privateKey, publicKey } = generateKeyPairSync("ed25519");
  const { x = "" } = publicKey.export({ format: "jwk" });
  return { privateKey, publicKey, jwk: { kty: "OKP", crv: "Ed25519", x } as const };
}

export interface Asked {
  issuer: string;
  audience: string;
  userId: string;
  method: string;
  path: string;
  /** What follows `?`. */
  query?: string;
  body?: string;
  /** Seconds since the epoch; now unless told. */
  now?: number;
}

/** What an honest client says about one request. */
export function claimsFor({ issuer, audience, userId, method, path, query = "", body, now = Date.now() / 1000 }: Asked): Claims {
  return {
    iss: issuer,
    sub: userId,
    aud: audience,
    iat: now,
    exp: now + 30,
    jti: randomUUID(),
    op: `${method} ${path}`,
    ...(query !== "" && { qry: hashOf(query) }),
    ...(body !== undefined && { bod: hashOf(body) }),
  };
}
