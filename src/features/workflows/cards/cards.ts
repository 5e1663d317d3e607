import { Prisma } from "../../../generated/sqlite/client.ts";
import type { Logger } from "pino";
import type { Database } from "../../../database/database.ts";
import type { CardMessage, CardMessages } from "../../../discord/rest/cards.ts";
import { pause } from "../../../kernel/pause.ts";
import type { Clock } from "../../../kernel/clock.ts";
import type { Deps } from "../../deps.ts";
import type { EventsService } from "../../events/events.service.ts";
import type { Care, Keeping, KeptEnd, MessageRefusal, Posting, Place } from "../../messages/keeping.ts";
import { createShown, type ShownDeps, type ShownQueue, type ShownRequest } from "./shown.ts";
import { openStatuses } from "../state/table.ts";
import type { GuildState } from "../../../discord/guild-state.ts";

/** The channels of a guild that cards stand in. */
interface CardChannels {
  of(guildId: string): { readonly review?: string; readonly board?: string };
}

interface PlaceDeps {
  database: Pick<Database, "read">;
  guildState: Pick<GuildState, "guilds">;
  channels: CardChannels;
}

/** In which channels cards belong now. */
function createPlaces({ database, guildState, channels }: PlaceDeps) {
  const guildIds = (): string[] =>
    guildState
      .guilds()
      .filter(({ present }) => present)
      .map(({ id }) => id)
      .toSorted();

  /** Of the guild a request was filed in; where that has none, of the guild the card stands in, or of the first that has one. */
  async function ofRequest(requestId: string, lastGuildId?: string): Promise<Place | undefined> {
    const row = await database.read.workflowRequest.findUnique({ where: { id: requestId }, select: { origin: true } });
    const origin = row?.origin as { guild_id?: string } | null | undefined;
    const known = new Set(guildIds());
    const wanted = [origin?.guild_id, lastGuildId].filter((id): id is string => id !== undefined && known.has(id));
    for (const guildId of [...wanted, ...known]) {
      const channelId = channels.of(guildId).review;
      if (channelId !== undefined) return { guildId, channelId };
    }
    return undefined;
  }

  return {
    ofRequest,

    /** What was chosen, as one text: when it is another one, cards may belong elsewhere. */
    layout: (): string => JSON.stringify(guildIds().map((id) => [id, channels.of(id).review, channels.of(id).board])),

    /** Whether cards are wanted anywhere. */
    hasAny: (): boolean => guildIds().some((id) => channels.of(id).review !== undefined || channels.of(id).board !== undefined),

    /** Where the boards of the queue stand: in a channel of their own, else with the cards. */
    boards: (): Place[] =>
      guildIds().flatMap((guildId) => {
        const { board, review } = channels.of(guildId);
        const channelId = board ?? review;
        return channelId === undefined ? [] : [{ guildId, channelId }];
      }),

    /** Where the card of a request stands, or will: a link, or a mention of the channel. */
    async linkOf(requestId: string): Promise<string | undefined> {
      const card = await database.read.reviewCard.findUnique({ where: { requestId } });
      if (card !== null && card.messageId !== null)
        return `https://discord.com/channels/${card.guildId}/${card.channelId}/${card.messageId}`;
      const place = await ofRequest(requestId);
      return place === undefined ? undefined : `<#${place.channelId}>`;
    },
  };
}

export interface Cards {
  state(): Promise<CardsState>;
  linkOf(requestId: string): Promise<string | undefined>;
  /** Show a request as it is now, however its card looks. */
  refresh(requestId: string): void;
  /** See to every card soon, as is done every ten minutes. */
  check(): void;
  start(): void;
  stop(): Promise<void>;
}

export interface CardsDeps extends PlaceDeps, ShownDeps, Deps<"servedGuilds"> {
  database: Database;
  events: Pick<EventsService, "onCommit">;
  clock: Clock;
  logger: Logger;
  keeping: Keeping;
  /** Others than usual. */
  pauses?: Partial<CardPauses> | undefined;
  posting: Posting;
  /** How a request and the queue look in a channel. */
  looks: { request(shown: ShownRequest, guildId: string | undefined): CardMessage; queue(shown: ShownQueue, guildId: string): CardMessage };
}

/** How long nothing is done, in milliseconds. */
export interface CardPauses {
  /** When nothing is due. */
  idle: number;
  /** While there is no connection. */
  notReady: number;
  /** After an error of our own. */
  failed: number;
  /** From one edit of the board to the next. */
  board: number;
}

export const usualPauses: CardPauses = { idle: 5000, notReady: 1000, failed: 5000, board: 15_000 };
/** A deleted card is missed at the latest after so long. */
const checkMs = 600_000;
const boardKey = "board:";
const readAtOnce = 500;
/** So many are looked after before what is new comes first again. */
const checkedAtOnce = 20;
/** So often one is tried at once after an error of our own; then it waits for the next check. */
const triesAtOnce = 3;

/** Keeps a card for each open request in the channel of the reviewers, and a board of the queue. It never keeps a request waiting. */
export function createCards(parts: CardsDeps): Cards {
  const { database, events, posting, keeping, looks, logger } = parts;
  const pauses = { ...usualPauses, ...parts.pauses };
  const shown = createShown(parts);
  const places = createPlaces(parts);
  const lag = createLag({ ...parts, refusals: keeping.refusals, isWanted: places.hasAny, seen: () => seen });
  const stopping = new AbortController();
  const waiting = new Map<string, Care>();
  const checking = new Set<string>();
  const failures = new Map<string, number>();
  const times = { checked: -Infinity, boards: -Infinity };
  let isBoardOld = true;
  let isFollowing = true;
  let seen = 0;
  let layout = "";
  let alarm = new AbortController();
  let loop: Promise<void> | undefined;

  async function show(messages: CardMessages, id: string, care: Care): Promise<KeptEnd> {
    const request = await shown.request(id);
    if (request === undefined) return undefined;
    if (request === "hidden") return await keeping.takeAway(messages, id);
    const card = await database.read.reviewCard.findUnique({ where: { requestId: id }, select: { guildId: true } });
    if (card !== null && !parts.servedGuilds.has(card.guildId)) {
      // Nobody in a server that is not ours any more reads on.
      const later = await keeping.takeAway(messages, id);
      if (later !== undefined) return lag.note(later);
    }
    const place = await places.ofRequest(id, card?.guildId);
    return lag.note(
      await keeping.updateCard(
        messages,
        { key: id, message: looks.request(request, place?.guildId), place, isPosted: request.isOpen },
        care,
      ),
    );
  }

  /** Tried again soon after an error: one that was posted and could not be written down is found again by its nonce for minutes only. */
  async function updateCard(messages: CardMessages, id: string, care: Care): Promise<KeptEnd> {
    try {
      const later = await show(messages, id, care);
      failures.delete(id);
      return later;
    } catch (error) {
      const count = (failures.get(id) ?? 0) + 1;
      if (count < triesAtOnce) failures.set(id, count);
      else failures.delete(id);
      if (count < triesAtOnce && !waiting.has(id)) waiting.set(id, care);
      throw error;
    }
  }

  /** Everything that is open, and every card of something that was open when it was last seen to. */
  async function beginCheck(): Promise<void> {
    const { _max } = await database.read.outboxEvent.aggregate({ _max: { seq: true } });
    if (seen === 0) seen = _max.seq ?? 0;
    const open = await database.read.workflowRequest.findMany({ where: { status: { in: [...openStatuses] } }, select: { id: true } });
    // Without what it shows: whether it was posted is not known.
    const where = { OR: [{ messageId: { not: null } }, { shown: null }] };
    const cards = await database.read.reviewCard.findMany({ where, select: { requestId: true } });
    const stale = await staleOf(cards.map(({ requestId }) => requestId).filter((key) => !key.includes(":")));
    for (const id of [...open.map(({ id }) => id), ...stale]) checking.add(id);
    isBoardOld = true;
    times.checked = performance.now();
  }

  /** Requests that changed after their card did. */
  async function staleOf(ids: readonly string[]): Promise<string[]> {
    const found: string[] = [];
    for (let from = 0; from < ids.length; from += readAtOnce) {
      const part = ids.slice(from, from + readAtOnce);
      const rows = await database.read.workflowRequest.findMany({ where: { id: { in: part } }, select: { id: true, updatedAt: true } });
      const cards = await database.read.reviewCard.findMany({ where: { requestId: { in: part } } });
      const cardAt = new Map(cards.map(({ requestId, updatedAt }) => [requestId, updatedAt.getTime()]));
      found.push(...rows.filter(({ id, updatedAt }) => updatedAt.getTime() >= (cardAt.get(id) ?? 0)).map(({ id }) => id));
    }
    return found;
  }

  async function readEvents(): Promise<void> {
    for (;;) {
      const rows = await database.read.outboxEvent.findMany({ where: { seq: { gt: seen } }, orderBy: { seq: "asc" }, take: readAtOnce });
      for (const { seq, data } of rows) {
        const id = (data as { request_id?: unknown }).request_id;
        if (typeof id === "string" && !waiting.has(id)) waiting.set(id, "changed");
        if (typeof id === "string") isBoardOld = true;
        seen = seq;
      }
      if (rows.length < readAtOnce) return;
    }
  }

  /** @returns how long nothing more can be done, if Discord takes nothing now */
  async function bringSome(messages: CardMessages): Promise<KeptEnd> {
    for (const [id, care] of waiting) {
      waiting.delete(id);
      const later = await updateCard(messages, id, care);
      if (later !== undefined && !waiting.has(id)) waiting.set(id, care);
      if (later !== undefined || stopping.signal.aborted) return later;
    }
    // Taken out first: one that cannot be seen to at all keeps none of the others waiting.
    for (const id of [...checking].slice(0, checkedAtOnce)) {
      checking.delete(id);
      const later = await updateCard(messages, id, "check");
      if (later !== undefined) checking.add(id);
      if (later !== undefined || stopping.signal.aborted) return later;
    }
    return undefined;
  }

  async function bringBoards(messages: CardMessages): Promise<KeptEnd> {
    times.boards = performance.now();
    const queue = await shown.queue();
    const boards = places.boards();
    for (const place of boards) {
      const message = looks.queue(queue, place.guildId);
      const wanted = { key: `${boardKey}${place.guildId}`, message, place, isPosted: true, isPinned: true };
      const later = lag.note(await keeping.updateCard(messages, wanted, "check"));
      if (later !== undefined) return later;
    }
    const posted = await database.read.reviewCard.findMany({ where: { requestId: { startsWith: boardKey }, messageId: { not: null } } });
    for (const { requestId, guildId } of posted) {
      if (boards.some((board) => board.guildId === guildId)) continue;
      const later = await keeping.takeAway(messages, requestId);
      if (later !== undefined) return later;
    }
    isBoardOld = false;
    return undefined;
  }

  /** Where no channel is chosen any more, the cards that stand there still follow their requests. */
  async function isNeeded(): Promise<boolean> {
    return (
      places.hasAny() ||
      (await database.read.$select("ReviewCard", Prisma.sql`WHERE t.message_id IS NOT NULL AND t.request_id NOT LIKE 'alert:%' LIMIT 1`))
        .length > 0
    );
  }

  /** Everything that is to be done now. @returns how long nothing is, in milliseconds */
  async function step(): Promise<number> {
    if (!posting.isReady()) return pauses.notReady;
    isFollowing = await isNeeded();
    if (!isFollowing) {
      [seen, times.checked] = [0, -Infinity];
      return pauses.idle;
    }
    const now = places.layout();
    if (now !== layout || performance.now() - times.checked >= checkMs) await beginCheck();
    layout = now;
    await readEvents();
    const later = await bringSome(posting.messages);
    if (later !== undefined) return later;
    const boardIn = (): number => times.boards + pauses.board - performance.now();
    const board = isBoardOld && boardIn() <= 0 ? await bringBoards(posting.messages) : undefined;
    if (board !== undefined) return board;
    if (checking.size > 0) return 0;
    return Math.min(pauses.idle, isBoardOld ? Math.max(0, boardIn()) : Infinity);
  }

  async function run(): Promise<void> {
    while (!stopping.signal.aborted) {
      alarm = new AbortController();
      const { signal } = alarm;
      const ms = await step().catch((error: unknown) => {
        if (!stopping.signal.aborted) logger.error({ err: error }, "review cards could not be seen to; trying again");
        return pauses.failed;
      });
      if (ms > 0 && !stopping.signal.aborted) await pause(ms, signal);
    }
  }

  return {
    state: lag.state,
    linkOf: places.linkOf,

    refresh(requestId: string): void {
      waiting.set(requestId, "force");
      alarm.abort();
    },

    check(): void {
      times.checked = -Infinity;
      alarm.abort();
    },

    start(): void {
      events.onCommit(() => {
        // Where nothing is shown, that is looked up at leisure, not after each commit.
        if (isFollowing || places.hasAny()) alarm.abort();
      });
      loop ??= run();
    },

    async stop(): Promise<void> {
      stopping.abort();
      alarm.abort();
      await loop;
    },
  };
}

/** How far the cards are behind what they show. */
export interface CardsState {
  /** The channels that take no cards, each once. */
  refusals: readonly MessageRefusal[];
  /** For how many seconds a card has been due, or would have been if Discord took it; 0 when none is. */
  dueSeconds: number;
}

interface LagDeps {
  database: Pick<Database, "read">;
  clock: Clock;
  refusals(): readonly MessageRefusal[];
  /** Whether there is a channel for cards. */
  isWanted(): boolean;
  /** The last event that was read; 0 before the first look at what there is. */
  seen(): number;
}

/** Keeps in mind since when nothing could be brought, for the health check of cards. */
export function createLag({ database: { read }, clock, refusals, isWanted, seen }: LagDeps) {
  const began = clock.now();
  let lateSince: Date | undefined;

  /** When the oldest change that nobody has looked at yet was made. */
  async function unseenSince(): Promise<Date | undefined> {
    if (!isWanted()) return undefined;
    if (seen() === 0) return (await read.workflowRequest.count({ where: { status: { in: [...openStatuses] } } })) > 0 ? began : undefined;
    const where = { seq: { gt: seen() }, type: { startsWith: "workflow." } };
    return (await read.outboxEvent.findFirst({ where, orderBy: { seq: "asc" }, select: { at: true } }))?.at;
  }

  return {
    /** Note how bringing one message ended, and give it back. */
    note(end: KeptEnd): KeptEnd {
      lateSince = end === undefined ? undefined : (lateSince ?? clock.now());
      return end;
    },

    async state(): Promise<CardsState> {
      const since = [lateSince, await unseenSince()].flatMap((at) => at?.getTime() ?? []);
      const channels = new Map(refusals().map((refusal) => [refusal.channelId, refusal]));
      const dueSeconds = Math.max(0, Math.round((clock.now().getTime() - Math.min(...since)) / 1000));
      return { refusals: [...channels.values()], dueSeconds: since.length === 0 ? 0 : dueSeconds };
    },
  };
}
