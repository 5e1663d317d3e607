import { createHash, createPrivateKey, createPublicKey, sign, verify, type KeyObject } from "node:crypto";
import { z } from "zod";
import { deriveKey } from "../../kernel/secrets.ts";
import { canonicalJson } from "../../kernel/canonical-json.ts";

/** A signed statement that the chain of an installation had this hash at this position. */
export const CheckpointLine = z.object({
  v: z.literal(1),
  origin: z.string(),
  seq: z.int().positive(),
  hash: z.string(),
  at: z.string(),
  key: z.string(),
  /** A person said that a backup was put back: lines before this one that lie beyond its position count no longer, up to `from`. */
  restored: z.object({ from: z.int().positive(), reason: z.string() }).optional(),
  sig: z.string(),
});
export type CheckpointLine = z.infer<typeof CheckpointLine>;

/** The public half of a signing key; `publicKey` are its 32 bytes as base64url. */
export interface PublicKey {
  id: string;
  publicKey: string;
}

export interface CheckpointSigner {
  id: string;
  publicKey: string;
  sign(said: Omit<CheckpointLine, "sig" | "key" | "v">): CheckpointLine;
}

/** What RFC 8410 puts in front of the 32 bytes of a private key. */
const pkcs8Head = Buffer.from("302e020100300506032b657004220420", "hex");

/** @param seed 32 bytes, which are the private key */
export function createSigner(seed: Buffer): CheckpointSigner {
  const key = createPrivateKey({ key: Buffer.concat([pkcs8Head, seed]), format: "der", type: "pkcs8" });
  const publicKey = createPublicKey(key).export({ format: "jwk" }).x ?? "";
  const id = keyIdOf(publicKey);
  return {
    id,
    publicKey,
    sign(said: Omit<CheckpointLine, "sig" | "key" | "v">): CheckpointLine {
      const line = { v: 1 as const, ...said, key: id };
      return { ...line, sig: sign(null, bytesOf(line), key).toString("base64url") };
    },
  };
}

/** The signer of the installation that has this `SECRET_KEY`. */
export function installationSigner(secretKey: Buffer): CheckpointSigner {
  return createSigner(deriveKey(secretKey, "audit-checkpoints"));
}

/** @param publicKey 32 bytes as base64url. @throws Error in plain words when it is none */
export function readPublicKey(publicKey: string): PublicKey {
  if (Buffer.from(publicKey, "base64url").length !== 32) throw new Error("A public key is 32 bytes in base64url: 43 characters.");
  return { id: keyIdOf(publicKey), publicKey };
}

/** @returns whether the line of one of these keys is as it was signed; undefined for a line of another key */
export function createLineCheck(keys: readonly PublicKey[]): (line: CheckpointLine) => boolean | undefined {
  const known = new Map<string, KeyObject>(
    keys.map(({ id, publicKey }) => [id, createPublicKey({ key: { kty: "OKP", crv: "Ed25519", x: publicKey }, format: "jwk" })]),
  );
  return ({ sig, ...line }) => {
    const key = known.get(line.key);
    return key === undefined ? undefined : verify(null, bytesOf(line), key, Buffer.from(sig, "base64url"));
  };
}

function keyIdOf(publicKey: string): string {
  return createHash("sha256").update(Buffer.from(publicKey, "base64url")).digest("base64url").slice(0, 16);
}

function bytesOf(line: Omit<CheckpointLine, "sig">): Buffer {
  return Buffer.from(canonicalJson(line));
}
