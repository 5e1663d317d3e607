import type { NativeAction } from "../../generated/sqlite/client.ts";
import type { Deps } from "../deps.ts";
import { requirePermission, type Call } from "../../kernel/call.ts";
import { recordNotFound } from "../../kernel/errors.ts";
import type { ListQuery } from "../../kernel/fields.ts";
import { orderOf } from "../../kernel/keyset.ts";
import { listPage, type Page } from "../../kernel/page.ts";
import { isPersonal, nativeActionsPolicy, presentGuildAction, presentNativeAction } from "./native-actions.policy.ts";
import type { NativeWatch } from "./watch.ts";
import { ListGuildActionsQuery, ListNativeActionsQuery, type GuildActionView, type NativeActionView } from "./native-actions.schema.ts";

export interface NativeActionsService {
  /**
   * What others did to a person, newest first.
   * @throws ProblemError permission_denied, invalid_cursor
   */
  list(call: Call, userId: string, query: ListNativeActionsQuery): Promise<Page<NativeActionView>>;
  /**
   * What others did in a server, newest first; what was done to nobody in particular is among it.
   * @throws ProblemError permission_denied, invalid_cursor
   */
  listIn(call: Call, guildId: string, query: ListGuildActionsQuery): Promise<Page<GuildActionView>>;
  /** One of them. @throws ProblemError permission_denied, record_not_found */
  get(call: Call, id: string): Promise<NativeActionView>;
}

interface NativeActionsDeps extends Deps<"database" | "cursors"> {
  watch: Pick<NativeWatch, "unseen">;
}

const newestFirst = orderOf("at", "desc");

/** Reads what others did to people in Discord. */
export function createNativeActionsService({ database, cursors, watch }: NativeActionsDeps): NativeActionsService {
  /** @param wanted the rows of the list */
  async function pageOf<View>(
    wanted: { userId?: string; guildId?: string; kind?: string },
    query: ListQuery,
    list: { name: string; present: (row: NativeAction) => View },
  ): Promise<Page<View>> {
    const unseen = watch.unseen();
    const page = await listPage({
      cursors,
      list: list.name,
      filters: wanted,
      query,
      keyset: newestFirst,
      find: ({ after, take }) =>
        database.read.nativeAction.findMany({ where: { AND: [wanted, after] }, orderBy: newestFirst.orderBy, take }),
      count: () => database.read.nativeAction.count({ where: wanted }),
      present: list.present,
    });
    return unseen.length === 0 ? page : { ...page, notes: { unseen_guild_ids: unseen } };
  }

  return {
    async list(call: Call, userId: string, query: ListNativeActionsQuery): Promise<Page<NativeActionView>> {
      requirePermission(call, nativeActionsPolicy.read);
      const asked = ListNativeActionsQuery.parse(query);
      const { guild_id: guildId, action: kind } = asked;
      const wanted = { userId, ...(guildId !== undefined && { guildId }), ...(kind !== undefined && { kind }) };
      return await pageOf(wanted, asked, { name: "native_actions", present: (row) => presentNativeAction({ ...row, userId }) });
    },

    async listIn(call: Call, guildId: string, query: ListGuildActionsQuery): Promise<Page<GuildActionView>> {
      requirePermission(call, nativeActionsPolicy.read);
      const asked = ListGuildActionsQuery.parse(query);
      const wanted = { guildId, ...(asked.action !== undefined && { kind: asked.action }) };
      return await pageOf(wanted, asked, { name: "guild_native_actions", present: presentGuildAction });
    },

    async get(call: Call, id: string): Promise<NativeActionView> {
      requirePermission(call, nativeActionsPolicy.read);
      const row = await database.read.nativeAction.findUnique({ where: { id: id.toLowerCase() } });
      if (row === null || !isPersonal(row)) throw recordNotFound();
      return presentNativeAction(row);
    },
  };
}
