import { createHeldRows } from "../../cluster/held-rows.ts";
import type { Deps } from "../deps.ts";
import type { Tx } from "../../database/database.ts";
import type { GuildState } from "../../discord/guild-state.ts";
import { Prisma } from "../../generated/sqlite/client.ts";
import { requirePermission, requireWrite, type Call } from "../../kernel/call.ts";
import { recordNotFound } from "../../kernel/errors.ts";
import { toPage, withTotal, type Page } from "../../kernel/page.ts";
import { requireRevision } from "../../kernel/revision.ts";
import type { AlertKind } from "../../kernel/vocabulary.ts";
import {
  channelsKey,
  channelsPolicy,
  chosenOf,
  differing,
  guildOf,
  noChannels,
  presentChannels,
  readChannels,
  wantedChannels,
  type Choice,
  type ChosenChannels,
  type KnownChannels,
} from "./channels.policy.ts";
import { ChannelsQuery, PutChannelsInput, type ChannelsView } from "./channels.schema.ts";

export interface ChannelsDeps extends Deps<"database" | "audit" | "cursors"> {
  guildState: Pick<GuildState, "guilds">;
}

export type ChannelsService = ReturnType<typeof createChannelsService>;

const list = "channels";

/** In which channels of each guild the service posts what. */
export function createChannelsService({ database, audit, guildState, cursors }: ChannelsDeps) {
  const known = createHeldRows(async () => {
    const rows = await database.read.$select("Setting", Prisma.sql`WHERE t.key LIKE ${`${channelsKey("")}%`}`);
    return new Map(rows.map(({ key, value }) => [guildOf(key), readChannels(value)]));
  });

  const served = (): string[] =>
    guildState
      .guilds()
      .filter(({ present }) => present)
      .map(({ id }) => id)
      .toSorted();

  const of = (guildId: string): KnownChannels => known.get(guildId) ?? noChannels;
  const chosen = (guildId: string): ChosenChannels => (served().includes(guildId) ? chosenOf(of(guildId)) : {});

  async function store(tx: Tx, guildId: string, before: KnownChannels, wanted: Choice): Promise<KnownChannels> {
    const stored = {
      ...wanted,
      revision: before.revision + 1,
      updated_by: tx.call.actor?.id ?? null,
      updated_at: tx.now.toISOString(),
    };
    const [key, value] = [channelsKey(guildId), stored satisfies Prisma.InputJsonObject];
    await tx.db.setting.upsert({ where: { key }, create: { key, value }, update: { value } });
    audit.record(tx, {
      action: "channels.update",
      target: { kind: "guild", id: guildId },
      guildId,
      before: differing(before, wanted),
      after: differing(wanted, before),
      permission: channelsPolicy.manage,
    });
    tx.afterCommit(() => known.set(guildId, stored));
    return stored;
  }

  return {
    /** Fill the memory from the database. */
    load: known.load,

    /** The channels of a guild that is served; none for any other. No I/O. */
    of: chosen,

    /** Where a guild is told of a kind of alert; undefined where it has no channel for them, or has muted the kind. No I/O. */
    alertsOf(guildId: string, kind: AlertKind): string | undefined {
      return of(guildId).muted_alerts.includes(kind) ? undefined : chosen(guildId).alerts;
    },

    /** When the channels of a guild were last chosen; undefined where they never were. No I/O. */
    chosenAt(guildId: string): Date | undefined {
      const { updated_at: at } = of(guildId);
      return at === null ? undefined : new Date(at);
    },

    /** The channels of every guild that is served. */
    async list(call: Call, query: ChannelsQuery): Promise<Page<ChannelsView>> {
      requirePermission(call, channelsPolicy.read);
      const { limit, cursor, count } = ChannelsQuery.parse(query);
      const after = cursor === undefined ? "" : cursors.decode(list, {}, cursor)[1];
      const all = served();
      const rows = all.filter((id) => id > after).slice(0, limit + 1);
      const page = toPage(
        rows,
        limit,
        (id) => presentChannels(id, of(id)),
        (id) => cursors.encode(list, {}, [id, id]),
      );
      return await withTotal(page, { count }, () => all.length);
    },

    /**
     * Choose all channels of a guild; the same again changes nothing.
     * @throws ZodError, ProblemError record_not_found for a guild that is not served, precondition_failed
     */
    async put(call: Call, guildId: string, input: PutChannelsInput, ifMatch?: number): Promise<ChannelsView> {
      requireWrite(call, channelsPolicy.manage);
      const wanted = wantedChannels(PutChannelsInput.parse(input));
      if (!served().includes(guildId)) throw recordNotFound();
      return await database.write(call, async (tx) => {
        await tx.lock("channels");
        const row = await tx.db.setting.findUnique({ where: { key: channelsKey(guildId) } });
        const before = row === null ? noChannels : readChannels(row.value);
        requireRevision(ifMatch, before.revision);
        if (Object.keys(differing(wanted, before)).length === 0) {
          tx.afterCommit(() => known.set(guildId, before));
          return presentChannels(guildId, before);
        }
        return presentChannels(guildId, await store(tx, guildId, before, wanted));
      });
    },
  };
}
