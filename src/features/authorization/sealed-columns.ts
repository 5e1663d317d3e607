import type { ReadClient, TransactionClient } from "../../database/database.ts";
import { sealedIn } from "../../kernel/secrets.ts";

/** One sealed text, where it stands and what it belongs to. */
export interface SealedText {
  /** The row: the parts of its primary key. */
  key: readonly [string, string];
  sealed: string;
  context: string;
}

export interface SealedColumn {
  name: string;
  /** Texts that do not begin with `current`, in the order of their keys, after the one given. */
  find(db: ReadClient, query: { current: string; after: SealedText["key"] | null; limit: number }): Promise<SealedText[]>;
  /** Put another text in the place of one that still stands there. Answers how many rows that were. */
  replace(db: TransactionClient, text: SealedText, fresh: string): Promise<number>;
}

type Query = Parameters<SealedColumn["find"]>[1];

/** What is asked of every table with one key and one sealed column. */
const next = <Key extends string, Column extends string>(keyName: Key, column: Column, { current, after, limit }: Query) => ({
  where: {
    AND: [
      { [column]: { not: null } },
      { NOT: { [column]: { startsWith: current } } },
      ...(after === null ? [] : [{ [keyName]: { gt: after[0] } }]),
    ],
  },
  orderBy: { [keyName]: "asc" as const },
  take: limit,
});

const textOf = (id: string, sealed: string | null, contextOf: (id: string) => string): SealedText => ({
  key: [id, ""],
  sealed: sealed ?? "",
  context: contextOf(id),
});

/** Every column of the database that is sealed. */
export const sealedColumns: readonly SealedColumn[] = [
  {
    name: "authorizations.access_token",
    find: async (db, query) =>
      (await db.authorization.findMany(next("userId", "accessToken", query))).map(({ userId, accessToken }) =>
        textOf(userId, accessToken, sealedIn.accessToken),
      ),
    replace: async (db, { key: [userId], sealed }, accessToken) =>
      (await db.authorization.updateMany({ where: { userId, accessToken: sealed }, data: { accessToken } })).count,
  },
  {
    name: "authorizations.refresh_token",
    find: async (db, query) =>
      (await db.authorization.findMany(next("userId", "refreshToken", query))).map(({ userId, refreshToken }) =>
        textOf(userId, refreshToken, sealedIn.refreshToken),
      ),
    replace: async (db, { key: [userId], sealed }, refreshToken) =>
      (await db.authorization.updateMany({ where: { userId, refreshToken: sealed }, data: { refreshToken } })).count,
  },
  {
    name: "authorization_sessions.verifier",
    find: async (db, query) =>
      (await db.authorizationSession.findMany(next("id", "verifier", query))).map(({ id, verifier }) =>
        textOf(id, verifier, sealedIn.sessionVerifier),
      ),
    replace: async (db, { key: [id], sealed }, verifier) =>
      (await db.authorizationSession.updateMany({ where: { id, verifier: sealed }, data: { verifier } })).count,
  },
  {
    name: "privacy_sessions.verifier",
    find: async (db, query) =>
      (await db.privacySession.findMany(next("id", "verifier", query))).map(({ id, verifier }) =>
        textOf(id, verifier, sealedIn.privacyVerifier),
      ),
    replace: async (db, { key: [id], sealed }, verifier) =>
      (await db.privacySession.updateMany({ where: { id, verifier: sealed }, data: { verifier } })).count,
  },
  {
    name: "token_revocations.token",
    find: async (db, { current, after, limit }) =>
      (
        await db.tokenRevocation.findMany({
          where: { NOT: { token: { startsWith: current } }, ...(after !== null && { id: { gt: after[0] } }) },
          orderBy: { id: "asc" },
          take: limit,
        })
      ).map(({ id, token }) => textOf(id, token, sealedIn.tokenRevocation)),
    replace: async (db, { key: [id], sealed }, token) =>
      (await db.tokenRevocation.updateMany({ where: { id, token: sealed }, data: { token } })).count,
  },
  {
    name: "user_servers.details",
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
        context: sealedIn.userServer(userId),
      })),
    replace: async (db, { key: [userId, serverHash], sealed }, details) =>
      (await db.userServer.updateMany({ where: { userId, serverHash, details: sealed }, data: { details } })).count,
  },
];
