import type { Logger } from "pino";
import type { Claims } from "../../cluster/claims.ts";
import type { Deps } from "../deps.ts";
import type { DiscordOAuth } from "../../discord/oauth.ts";
import { requirePermission, type Call, requireWrite } from "../../kernel/call.ts";
import type { Tasks } from "../../kit/task.ts";
import type { MatchesService } from "../intelligence/matches/matches.service.ts";
import type { UserServersService } from "../intelligence/user-servers/user-servers.service.ts";
import type { Erasures } from "../privacy/erasures.ts";
import type { DataReads } from "../privacy/reads.ts";
import { authorizationPermissions } from "./authorization.policy.ts";
import { presentAuthorization, readState } from "./presenter.ts";
import type { AuthorizationView, ServerDetail } from "./authorization.schema.ts";
import { createFlowService, type FlowService } from "./flow/flow.service.ts";
import type { ConsentEnds } from "./grants/consent-end.ts";
import { createGrantsStore } from "./grants/store.ts";
import { createRefreshDue, createSweepService, type RefreshDueService, type SweepService } from "./sweep.service.ts";
import { createRefreshService, type RefreshService } from "./refresh/refresh.service.ts";
import { createRevocations } from "./revocations.ts";
import { createRevokeService, type RevokeService } from "./revoke.service.ts";
import { createSessionsService, type SessionsService } from "./sessions/sessions.service.ts";
import type { Tx, ReadClient, TransactionClient } from "../../database/database.ts";
import { type ServerBoxDeps, serverBox } from "../../kernel/server-box.ts";
import { sealedIn, type SealForm } from "../../kernel/secrets.ts";

/** One sealed text and where it stands. */
interface SealedText {
  /** The row: the parts of its primary key. */
  key: readonly [string, string];
  sealed: string;
}

interface SealedColumn {
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

/** How many texts of one column were sealed again, and how many could not be opened with any key there is. */
interface Reencrypted {
  column: string;
  resealed: number;
  unreadable: number;
}

interface Reencryption {
  /**
   * Seal everything again that was not sealed with the first key, batch by batch, so that the other keys can go. Ended in
   * between, it goes on where it was; a text that changes meanwhile is left to whoever changed it.
   * @param onProgress hears of every batch what was done in its column so far
   * @throws ProblemError permission_denied, storage_busy
   */
  reencrypt(call: Call, onProgress?: (progress: Reencrypted) => void): Promise<Reencrypted[]>;
  /**
   * Seal again what has a form that is not written any more; for the job that runs each minute. Once all was looked at, nothing is done
   * until the next start. @returns how many texts were sealed again
   */
  renewForms(call: Call): Promise<number>;
}

interface ReencryptionDeps extends Deps<"database" | "audit">, ServerBoxDeps {}

const permission = "system.act";
const batchSize = 200;

function createReencryption(deps: ReencryptionDeps): Reencryption {
  const { database, audit, keyring } = deps;
  let areFormsCurrent = false;

  /** The text sealed with the first key; null where no key opens it. */
  function reseal(column: SealedColumn, text: SealedText): string | null {
    try {
      return column.reseal(deps, text);
    } catch {
      return null;
    }
  }

  /** Answers how many were replaced; what somebody changed meanwhile stays as they left it. */
  function replaceAll(call: Call, column: SealedColumn, pairs: readonly Pair[]): Promise<number> {
    return database.write(call, async ({ db }) => {
      let replaced = 0;
      for (const { text, fresh } of pairs) replaced += await column.replace(db, text, fresh);
      return replaced;
    });
  }

  /** @param current how the texts begin that stay as they are */
  async function walk(
    call: Call,
    column: SealedColumn,
    current: string,
    onProgress: (progress: Reencrypted) => void = () => undefined,
  ): Promise<Reencrypted> {
    const done = { column: column.name, resealed: 0, unreadable: 0 };
    for (let after: SealedText["key"] | null = null; ;) {
      const texts = await column.find(database.read, { current, after, limit: batchSize });
      const pairs = texts.flatMap((text) => {
        const fresh = reseal(column, text);
        return fresh === null ? [] : [{ text, fresh }];
      });
      if (pairs.length > 0) done.resealed += await replaceAll(call, column, pairs);
      done.unreadable += texts.length - pairs.length;
      if (texts.length > 0) onProgress({ ...done });
      after = texts.at(-1)?.key ?? null;
      if (after === null || texts.length < batchSize) return done;
    }
  }

  return {
    async reencrypt(call, onProgress) {
      requireWrite(call, permission);
      const done: Reencrypted[] = [];
      for (const column of sealedColumns) done.push(await walk(call, column, keyring.current(column.form), onProgress));
      await noteIfAny(call, done);
      return done;
    },

    async renewForms(call) {
      requireWrite(call, permission);
      if (areFormsCurrent) return 0;
      const done: Reencrypted[] = [];
      for (const column of sealedColumns) if (column.form !== "v1") done.push(await walk(call, column, `${column.form}.`));
      await noteIfAny(call, done);
      areFormsCurrent = true;
      return done.reduce((sum, { resealed }) => sum + resealed, 0);
    },
  };

  async function noteIfAny(call: Call, done: readonly Reencrypted[]): Promise<void> {
    if (done.some(({ resealed }) => resealed > 0)) await database.write(call, (tx) => Promise.resolve(note(tx, done)));
  }

  function note(tx: Tx, done: readonly Reencrypted[]): void {
    audit.record(tx, {
      action: "secrets.reencrypt",
      target: { kind: "system", id: "encryption_keys" },
      after: Object.fromEntries(done.map(({ column, resealed }) => [column, resealed])),
      permission,
    });
  }
}

interface Pair {
  text: SealedText;
  fresh: string;
}

/** The service methods of the feature, for its transports and jobs. */
export interface AuthorizationService
  extends SessionsService, FlowService, RefreshService, RefreshDueService, RevokeService, SweepService, Reencryption {
  /** What a person has granted and is being asked; answers for everybody. @throws ProblemError permission_denied */
  get(call: Call, userId: string): Promise<AuthorizationView>;
  /** Discord is told by itself that grants are over, until it has heard it. */
  revocations: Pick<Tasks, "start" | "stop">;
}

export interface AuthorizationDeps extends Deps<"database" | "audit" | "keyring" | "events" | "clock"> {
  /** Keyed hash of a server id. */
  hashOf: (serverId: string) => string;
  oauth: DiscordOAuth;
  servers: Pick<UserServersService, "store">;
  matches: Pick<MatchesService, "recomputeUser">;
  erasures: Erasures;
  consentEnds: Pick<ConsentEnds, "end">;
  reads: DataReads;
  /** The most that a session may ask to be kept readable. */
  serverDetail: ServerDetail;
  /** Where the last page can lead back to, by name. */
  returnTo: ReadonlyMap<string, string>;
  /** Origin and path prefix of the pages, without a slash at the end; asked when an address is made. */
  publicUrl: () => string;
  /** Makes the tokens of the addresses. */
  pagesKey: Buffer;
  /** Seconds between two refreshes of one person. */
  cooldownSeconds: number;
  /** Where other processes refresh, too. */
  claims?: Claims | undefined;
  logger: Logger;
}

export function createAuthorizationService(deps: AuthorizationDeps): AuthorizationService {
  const { database, clock, cooldownSeconds } = deps;
  const parts = { ...deps, store: createGrantsStore(deps.keyring), revocations: createRevocations(deps) };
  const refreshing = createRefreshService(parts);
  const due = createRefreshDue({ database, clock, logger: deps.logger, ...refreshing });

  return {
    revocations: parts.revocations.tasks,
    ...createSessionsService(deps),
    ...createFlowService(parts),
    ...createRevokeService(parts),
    ...refreshing,
    ...due,
    ...createSweepService({ ...parts, ...due }),
    ...createReencryption(deps),

    async get(call, userId) {
      requirePermission(call, authorizationPermissions.read, { own: userId });
      const now = clock.now();
      const view = presentAuthorization(call, await readState(database.read, userId, now), cooldownSeconds, now);
      deps.reads.note(call, userId, "authorization");
      return view;
    },
  };
}
