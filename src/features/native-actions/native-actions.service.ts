import type { Deps } from "../deps.ts";
import { requirePermission, type Call } from "../../kernel/call.ts";
import { recordNotFound } from "../../kernel/errors.ts";
import { orderOf } from "../../kernel/keyset.ts";
import { listPage, type Page } from "../../kernel/page.ts";
import { nativeActionsPolicy, presentNativeAction } from "./native-actions.policy.ts";
import type { NativeWatch } from "./watch.ts";
import { ListNativeActionsQuery, type NativeActionView } from "./native-actions.schema.ts";

export type NativeActionsService = ReturnType<typeof createNativeActionsService>;

interface NativeActionsDeps extends Deps<"database" | "cursors"> {
  watch: Pick<NativeWatch, "unseen">;
}

const newestFirst = orderOf("at", "desc");

/** Reads what others did to people in Discord. */
export function createNativeActionsService({ database, cursors, watch }: NativeActionsDeps) {
  return {
    /**
     * What others did to a person, newest first.
     * @throws ProblemError permission_denied, invalid_cursor
     */
    async list(call: Call, userId: string, query: ListNativeActionsQuery): Promise<Page<NativeActionView>> {
      requirePermission(call, nativeActionsPolicy.read);
      const asked = ListNativeActionsQuery.parse(query);
      const { guild_id: guildId, action: kind } = asked;
      const wanted = { userId, ...(guildId !== undefined && { guildId }), ...(kind !== undefined && { kind }) };
      const unseen = watch.unseen();
      const page = await listPage({
        cursors,
        list: "native_actions",
        filters: wanted,
        query: asked,
        keyset: newestFirst,
        find: ({ after, take }) =>
          database.read.nativeAction.findMany({ where: { AND: [wanted, after] }, orderBy: newestFirst.orderBy, take }),
        count: () => database.read.nativeAction.count({ where: wanted }),
        present: presentNativeAction,
      });
      return unseen.length === 0 ? page : { ...page, notes: { unseen_guild_ids: unseen } };
    },

    /** One of them. @throws ProblemError permission_denied, record_not_found */
    async get(call: Call, id: string): Promise<NativeActionView> {
      requirePermission(call, nativeActionsPolicy.read);
      const row = await database.read.nativeAction.findUnique({ where: { id: id.toLowerCase() } });
      if (row === null) throw recordNotFound();
      return presentNativeAction(row);
    },
  };
}
