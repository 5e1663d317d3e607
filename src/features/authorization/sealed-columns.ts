import type { ReadClient, TransactionClient } from "../../database/database.ts";
import { sealedIn, type SealForm } from "../../kernel/secrets.ts";
import { serverBox, type ServerBoxDeps } from "../../kernel/server-box.ts";

/** One sealed text and where it stands. */
export interface SealedText {
  /** The row: the parts of its primary key. */
  key: readonly [string, string];
  sealed: string;
}

export interface SealedColumn {
  name: string;
  /** The form its texts are written in. */
  form: SealForm;
  /** Seal a text again with the first key. @throws Error when no key opens it in its row */
  reseal(deps: ServerBoxDeps, text: SealedText): string;
  /** Texts that do not begin with `current`, in the order of their keys, after the one given. */
  find(db: ReadClient, query: { current: string; after: SealedText["key"] | null; limit: number }): Promise<SealedText[]>;
  /** Put another text in the place of one that still stands there. Answers how many rows that were. */
  replace(db: TransactionClient, text: SealedText, fresh: string): Promise<number>;
}

type Query = Parameters<SealedColumn["find"]>[1];

/** What is asked of every table with one key and one sealed column. */
const next = <Key extends string, Column extends string>(keyName: Key, column: Column, { current, after, limit }: Query) => ({
  where: { AND: [{ NOT: { [column]: { startsWith: current } } }, ...(after === null ? [] : [{ [keyName]: { gt: after[0] } }])] },
  orderBy: { [keyName]: "asc" as const },
  take: limit,
});

/** The same of a column that may be empty. */
const nextFilled = <Key extends string, Column extends string>(keyName: Key, column: Column, query: Query) => {
  const asked = next(keyName, column, query);
  return { ...asked, where: { AND: [{ [column]: { not: null } }, ...asked.where.AND] } };
};

const textOf = (id: string, sealed: string | null): SealedText => ({ key: [id, ""], sealed: sealed ?? "" });

/** A column whose rows have one key, which is what its texts belong to. */
const keyedBy = (contextOf: (id: string) => string): Pick<SealedColumn, "form" | "reseal"> => ({
  form: "v1",
  reseal: ({ keyring }, { key: [id], sealed }) => keyring.encrypt(keyring.decrypt(sealed, contextOf(id)), contextOf(id)),
});

/** Every column of the database that is sealed. */
export const sealedColumns: readonly SealedColumn[] = [
  {
    name: "authorizations.access_token",
    ...keyedBy(sealedIn.accessToken),
    find: async (db, query) =>
      (await db.authorization.findMany(nextFilled("userId", "accessToken", query))).map(({ userId, accessToken }) =>
        textOf(userId, accessToken),
      ),
    replace: async (db, { key: [userId], sealed }, accessToken) =>
      (await db.authorization.updateMany({ where: { userId, accessToken: sealed }, data: { accessToken } })).count,
  },
  {
    name: "authorizations.refresh_token",
    ...keyedBy(sealedIn.refreshToken),
    find: async (db, query) =>
      (await db.authorization.findMany(nextFilled("userId", "refreshToken", query))).map(({ userId, refreshToken }) =>
        textOf(userId, refreshToken),
      ),
    replace: async (db, { key: [userId], sealed }, refreshToken) =>
      (await db.authorization.updateMany({ where: { userId, refreshToken: sealed }, data: { refreshToken } })).count,
  },
  {
    name: "authorization_sessions.verifier",
    ...keyedBy(sealedIn.sessionVerifier),
    find: async (db, query) =>
      (await db.authorizationSession.findMany(nextFilled("id", "verifier", query))).map(({ id, verifier }) => textOf(id, verifier)),
    replace: async (db, { key: [id], sealed }, verifier) =>
      (await db.authorizationSession.updateMany({ where: { id, verifier: sealed }, data: { verifier } })).count,
  },
  {
    name: "followed_lists.key",
    ...keyedBy(sealedIn.listKey),
    find: async (db, query) => (await db.followedList.findMany(nextFilled("id", "key", query))).map(({ id, key }) => textOf(id, key)),
    replace: async (db, { key: [id], sealed }, key) =>
      (await db.followedList.updateMany({ where: { id, key: sealed }, data: { key } })).count,
  },
  {
    name: "privacy_sessions.verifier",
    ...keyedBy(sealedIn.privacyVerifier),
    find: async (db, query) =>
      (await db.privacySession.findMany(nextFilled("id", "verifier", query))).map(({ id, verifier }) => textOf(id, verifier)),
    replace: async (db, { key: [id], sealed }, verifier) =>
      (await db.privacySession.updateMany({ where: { id, verifier: sealed }, data: { verifier } })).count,
  },
  {
    name: "token_revocations.token",
    ...keyedBy(sealedIn.tokenRevocation),
    find: async (db, query) => (await db.tokenRevocation.findMany(next("id", "token", query))).map(({ id, token }) => textOf(id, token)),
    replace: async (db, { key: [id], sealed }, token) =>
      (await db.tokenRevocation.updateMany({ where: { id, token: sealed }, data: { token } })).count,
  },
  {
    name: "webhooks.former_secret",
    ...keyedBy(sealedIn.formerWebhookSecret),
    find: async (db, query) =>
      (await db.webhook.findMany(nextFilled("id", "formerSecret", query))).map(({ id, formerSecret }) => textOf(id, formerSecret)),
    replace: async (db, { key: [id], sealed }, formerSecret) =>
      (await db.webhook.updateMany({ where: { id, formerSecret: sealed }, data: { formerSecret } })).count,
  },
  {
    name: "webhooks.secret",
    ...keyedBy(sealedIn.webhookSecret),
    find: async (db, query) => (await db.webhook.findMany(next("id", "secret", query))).map(({ id, secret }) => textOf(id, secret)),
    replace: async (db, { key: [id], sealed }, secret) =>
      (await db.webhook.updateMany({ where: { id, secret: sealed }, data: { secret } })).count,
  },
  {
    name: "user_servers.details",
    form: "v2",
    reseal(deps, { key: [userId, serverHash], sealed }) {
      const row = { userId, serverHash };
      return serverBox.seal(deps, row, serverBox.open(deps, row, sealed));
    },
    find: async (db, { current, after, limit }) =>
      (
        await db.userServer.findMany({
          where: {
            AND: [
              { details: { not: null } },
              { NOT: { details: { startsWith: current } } },
              ...(after === null ? [] : [{ OR: [{ userId: { gt: after[0] } }, { userId: after[0], serverHash: { gt: after[1] } }] }]),
            ],
          },
          orderBy: [{ userId: "asc" }, { serverHash: "asc" }],
          take: limit,
        })
      ).map(({ userId, serverHash, details }) => ({
        key: [userId, serverHash],
        sealed: details ?? "",
      })),
    replace: async (db, { key: [userId, serverHash], sealed }, details) =>
      (await db.userServer.updateMany({ where: { userId, serverHash, details: sealed }, data: { details } })).count,
  },
];
