import { hash } from "node:crypto";
import { z } from "zod";
import type { Credentials } from "../../operations/caller.ts";
import { ProblemError } from "../../kernel/errors.ts";
import { Snowflake } from "../../kernel/fields.ts";
import type { VerifiedKey } from "./store.ts";

/** Seconds by which the clocks of client and service may differ. */
export const skew = 5;
const maxLife = 60;
const reads = new Set(["GET", "HEAD"]);

/** What an assertion says. */
const types = {
  iss: { schema: z.string(), detail: "has to be a text" },
  sub: { schema: Snowflake, detail: "has to be the id of a Discord user" },
  aud: { schema: z.union([z.string(), z.array(z.string())]), detail: "has to be a text or a list of texts" },
  iat: { schema: z.number(), detail: "has to be a number of seconds" },
  exp: { schema: z.number(), detail: "has to be a number of seconds" },
  jti: { schema: z.string().min(8).max(200), detail: "has to be a text of 8 to 200 characters" },
  op: { schema: z.string(), detail: "has to be a text" },
  qry: { schema: z.string().optional(), detail: "has to be a text" },
  bod: { schema: z.string().optional(), detail: "has to be a text" },
} as const;
export type Claims = { [Name in keyof typeof types]: z.output<(typeof types)[Name]["schema"]> };

/** What a claim is compared with. */
export interface Ground {
  key: VerifiedKey;
  credentials: Credentials;
  audience: string;
  /** Seconds since the epoch. */
  now: number;
  startedAt: number;
}

/** Which claim a rule is about, whether it is kept, and what completes "The claim … " where it is not: never what was sent. */
type Rule = readonly [claim: keyof Claims, isRight: (claims: Claims, ground: Ground) => boolean, detail: string];

const rules: readonly Rule[] = [
  ["iss", ({ iss }, { key }) => iss === key.caller.keyId || iss === key.caller.id, "does not name the key it was sent with"],
  [
    "aud",
    ({ aud }, { audience }) => (typeof aud === "string" ? aud === audience : aud.includes(audience)),
    "does not name this installation: service.instance_id of GET /health",
  ],
  ["op", ({ op }, { credentials: { method, path } }) => op === `${method} ${path}`, "is not the method and path of this request"],
  [
    "qry",
    ({ qry }, { credentials: { method, search } }) => qry !== undefined || search === "" || reads.has(method),
    "is missing: a write with a query needs it",
  ],
  [
    "qry",
    ({ qry }, { credentials: { search } }) => qry === undefined || qry === hash("sha256", search, "base64url"),
    "is not the SHA-256 of the query",
  ],
  ["sub", ({ sub }, { credentials: { actingUser = sub } }) => sub === actingUser, "is not the user in X-Acting-User"],
  ["exp", ({ iat, exp }) => exp > iat && exp - iat <= maxLife, `has to lie at most ${maxLife.toString()} seconds after iat`],
  ["exp", ({ exp }, { now }) => exp > now - skew, "has passed"],
  ["iat", ({ iat }, { now }) => iat <= now + skew, "lies in the future"],
  // What was used before a restart is not remembered, so that nothing from before it can be let in again.
  ["iat", ({ iat }, { startedAt }) => iat >= startedAt, "says that it was issued before this service started; make a fresh one"],
];

/**
 * Take the claims of an assertion whose signature is right, and check every one that needs no body.
 * @throws ProblemError assertion_invalid naming the claim, never what was sent
 */
export function checkClaims(claims: Readonly<Record<string, unknown>>, ground: Ground): Claims {
  for (const [name, { schema, detail }] of Object.entries(types)) if (!schema.safeParse(claims[name]).success) throw wrong(name, detail);
  const typed = claims as unknown as Claims;
  for (const [claim, isRight, detail] of rules) if (!isRight(typed, ground)) throw wrong(claim, detail);
  return typed;
}

/** The refusal that names a claim. @param detail completes "The claim … " */
export function wrong(claim: string, detail: string): ProblemError {
  return invalid(`The claim ${claim} ${detail}.`);
}

/** The refusal of an assertion. */
export function invalid(detail: string, cause?: unknown): ProblemError {
  return new ProblemError("assertion_invalid", { detail, ...(cause !== undefined && { cause }) });
}
