import type { Tx } from "../../../database/database.ts";
import { addSeconds } from "../../../kernel/clock.ts";
import { uuid7 } from "../../../kernel/ids.ts";
import { sealedIn } from "../../../kernel/sealed.ts";
import { hashToken, type Keyring } from "../../../kernel/secrets.ts";
import { signInSeconds, wayToDiscordSeconds } from "./cookie.ts";

/** What a browser takes to Discord and back, and what stays here for the exchange. */
interface SignIn {
  state: string;
  cookie: string;
  verifier: string;
}

/** Remember a sign-in that begins: hashes, and the verifier encrypted. */
export async function keepSignIn({ db, now }: Tx, { state, cookie, verifier }: SignIn, keyring: Keyring): Promise<void> {
  const id = uuid7(now.getTime());
  await db.privacySession.create({
    data: {
      id,
      stateHash: hashToken(state),
      cookieHash: hashToken(cookie),
      verifier: keyring.encrypt(verifier, sealedIn.privacyVerifier(id)),
      createdAt: now,
      expiresAt: addSeconds(now, wayToDiscordSeconds),
    },
  });
}

/** Use up a state. It counts once, in time, in the browser it was given to; a foreign browser does not use it up. */
export async function takeState(
  { db, now }: Tx,
  state: string,
  cookieHash: string | undefined,
  keyring: Keyring,
): Promise<{ id: string; verifier: string } | "failed" | "other-browser"> {
  const session = await db.privacySession.findUnique({ where: { stateHash: hashToken(state) } });
  if (session === null || session.expiresAt <= now || session.verifier === null) return "failed";
  if (session.cookieHash !== cookieHash) return "other-browser";
  const { id, verifier } = session;
  const { count } = await db.privacySession.updateMany({ where: { id, verifier }, data: { verifier: null, stateHash: null } });
  return count === 0 ? "failed" : { id, verifier: keyring.decrypt(verifier, sealedIn.privacyVerifier(id)) };
}

/** The row may have been swept away while Discord was asked; then nobody is signed in by it. */
export async function storePerson({ db, now }: Tx, id: string, userId: string, cookie: string): Promise<void> {
  const data = { userId, cookieHash: hashToken(cookie), expiresAt: addSeconds(now, signInSeconds) };
  await db.privacySession.updateMany({ where: { id }, data });
}

/** Forget the oldest sign-ins, unfinished ones first, until one more fits. */
export async function makeRoom({ db }: Tx, capacity: number): Promise<void> {
  const over = (await db.privacySession.count()) - capacity + 1;
  if (over <= 0) return;
  const oldestFirst = { createdAt: "asc" } as const;
  const unfinished = await db.privacySession.findMany({ where: { userId: null }, orderBy: oldestFirst, take: over, select: { id: true } });
  const chosen = unfinished.length > 0 ? unfinished : await db.privacySession.findMany({ orderBy: oldestFirst, take: over });
  await db.privacySession.deleteMany({ where: { id: { in: chosen.map(({ id }) => id) } } });
}
