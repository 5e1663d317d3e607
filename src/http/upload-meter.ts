import { createHash } from "node:crypto";
import { Transform } from "node:stream";

/** Hashes what passes and refuses what is too much. */
export function createMeter(refusal: () => Error, limit: number) {
  const sha256 = createHash("sha256");
  let bytes = 0;
  const stream = new Transform({
    transform(chunk: Buffer, _encoding, done) {
      bytes += chunk.length;
      if (bytes > limit) return done(refusal());
      sha256.update(chunk);
      done(null, chunk);
    },
  });
  return {
    stream,
    /** Base64url SHA-256 of everything that passed. */
    digest: (): string => sha256.digest("base64url"),
  };
}
