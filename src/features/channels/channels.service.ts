import type { Changes } from "../../cluster/changes.ts";
import type { Deps } from "../deps.ts";
import type { GuildState } from "../../discord/guild-state.ts";
import { requirePermission, type Call } from "../../kernel/call.ts";
import { toPage, withTotal, type Page } from "../../kernel/page.ts";
import type { AlertKind } from "../../kernel/vocabulary.ts";
import { channelsPolicy, channelsSetting, chosenOf, presentChannels, wantedChannels, type ChosenChannels } from "./channels.policy.ts";
import { ChannelsQuery, PutChannelsInput, type ChannelsView } from "./channels.schema.ts";

export interface ChannelsDeps extends Deps<"database" | "audit" | "cursors"> {
  guildState: Pick<GuildState, "guilds">;
}

/** In which channels of each guild the service posts what. */
export interface ChannelsService {
  /** Keep what is chosen in memory. */
  follow(changes: Pick<Changes, "listen">): Promise<void>;
  /** The channels of a guild that is served; none for any other. No I/O. */
  of(guildId: string): ChosenChannels;
  /** Where alerts of a kind are posted in a guild; undefined where it has no channel for them, or has muted the kind. No I/O. */
  alertsOf(guildId: string, kind: AlertKind): string | undefined;
  /** When the channels of a guild were last chosen; undefined where they never were. No I/O. */
  chosenAt(guildId: string): Date | undefined;
  /** The channels of every guild that is served. */
  list(call: Call, query: ChannelsQuery): Promise<Page<ChannelsView>>;
  /** Choose all channels of a guild. @throws ZodError, ProblemError record_not_found for one that is not served, precondition_failed */
  put(call: Call, guildId: string, input: PutChannelsInput, ifMatch?: number): Promise<ChannelsView>;
}

const list = "channels";

/** Answers and changes the channels of the guilds that are served. */
export function createChannels({ database, audit, guildState, cursors }: ChannelsDeps): ChannelsService {
  const served = (): string[] =>
    guildState
      .guilds()
      .filter(({ present }) => present)
      .map(({ id }) => id)
      .toSorted();

  const memory = channelsSetting.hold(database);
  const isServed = (guildId: string): boolean => served().includes(guildId);
  const placeOf = (guildId: string): string | undefined => (isServed(guildId) ? guildId : undefined);
  const setting = channelsSetting.serve({ database, audit, memory, placeOf, present: presentChannels });
  const of = (guildId: string): ChosenChannels => (isServed(guildId) ? chosenOf(memory.known(guildId)) : {});

  return {
    follow: memory.follow,
    of,
    alertsOf: (guildId, kind) => (memory.known(guildId).value.muted_alerts.includes(kind) ? undefined : of(guildId).alerts),
    chosenAt(guildId) {
      const { updated_at: at } = memory.known(guildId);
      return at === null ? undefined : new Date(at);
    },
    async list(call, query) {
      requirePermission(call, channelsPolicy.read);
      const { limit, cursor, count } = ChannelsQuery.parse(query);
      const after = cursor === undefined ? "" : cursors.decode(list, {}, cursor)[1];
      const all = served();
      const rows = all.filter((id) => id > after).slice(0, limit + 1);
      const page = toPage(
        rows,
        limit,
        (id) => presentChannels(id, memory.known(id)),
        (id) => cursors.encode(list, {}, [id, id]),
      );
      return await withTotal(page, { count }, () => all.length);
    },
    put: (call, guildId, input, ifMatch) => setting.put(call, guildId, () => wantedChannels(PutChannelsInput.parse(input)), ifMatch),
  };
}
