import type { GrowthStore } from "./list.ts";
import { arbitrary, few, idOf, snowflake, timeOf } from "./values.ts";

const guildId = "41771983423143937";

/** What was done by hand: bans and kicks, and a few prunes, mostly in one server. */
export const store: GrowthStore = {
  ordinary: "moderator",
  rowsOf(index, rows) {
    const isRare = index < few;
    const at = timeOf(index, rows);
    return [
      {
        model: "NativeAction",
        rows: [
          {
            id: idOf(index, 1),
            guildId: arbitrary(index, 2) === 0 ? snowflake(index) : guildId,
            userId: isRare ? null : snowflake(index),
            kind: isRare ? "prune" : arbitrary(index, 3) === 0 ? "kick" : "ban",
            actorId: snowflake(7),
            entryId: snowflake(index),
            at,
            recordedAt: at,
          },
        ],
      },
    ];
  },
  lists: [
    {
      path: "/guilds/{guild_id}/native-actions",
      asked: `/guilds/${guildId}/native-actions`,
      cases: [{ query: "" }, { query: "action=ban", note: "most rows" }, { query: "action=prune", note: "few hits" }],
    },
  ],
};
