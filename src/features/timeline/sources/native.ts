import { say } from "../../../kit/say.ts";
import type { NativeAction } from "../../../generated/sqlite/client.ts";
import { isoOrNull } from "../../../kernel/fields.ts";
import type { NativeActionKind } from "../../../kernel/vocabulary.ts";
import { byId, sourceOf } from "../source.ts";

const tellings: Readonly<Record<NativeActionKind, (guild: string, until: string | null) => string>> = {
  ban: (guild) => say("timeline.was-banned-by-hand-on-the-server", { guild }),
  unban: (guild) => say("timeline.was-unbanned-by-hand-on-the-server", { guild }),
  kick: (guild) => say("timeline.was-kicked-by-hand-from-the-server", { guild }),
  timeout: (guild, until) => say("timeline.was-timed-out-by-hand-on-the", { guild, at: until ?? "–" }),
  timeout_lift: (guild) => say("timeline.a-timeout-was-lifted-by-hand-on", { guild }),
};

function summaryOf({ kind, guildId, until, reason, rule }: NativeAction): string {
  if (rule !== null) return say("timeline.automod-timed-them-out-on-the-server", { guild: guildId, rule });
  const told = tellings[kind as NativeActionKind](guildId, isoOrNull(until));
  return reason === null ? told : say("timeline.reason-given", { told, reason });
}

/** What others did in Discord, with the reason they gave there. */
export const nativeActionSource = sourceOf<NativeAction & { userId: string }>({
  name: "native_action",
  kind: "native_action",
  async find(db, query) {
    const rows = await db.nativeAction.findMany(query);
    return rows.flatMap(({ userId, ...row }) => (userId === null ? [] : [{ ...row, userId }]));
  },
  total: (db, query) => db.nativeAction.count(query),
  time: "at",
  key: byId,
  about: ({ userIds }) => ({ userId: { in: [...userIds] } }),
  tell: (row) => ({ event: row.kind, summary: summaryOf(row), userId: row.userId, recordId: row.id, actorId: row.actorId }),
});
