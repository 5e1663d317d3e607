import { say } from "../../kit/say.ts";
import { createHash } from "node:crypto";
import type { Logger } from "pino";
import type { Deps } from "../deps.ts";
import type { Database } from "../../database/database.ts";
import type { CardMessage } from "../../discord/rest/cards.ts";
import type { GuildState } from "../../discord/guild-state.ts";
import type { OutboxEvent } from "../../generated/sqlite/client.ts";
import { requirePermission, systemCall, type Call } from "../../kernel/call.ts";
import { uuid7 } from "../../kernel/ids.ts";
import { pause } from "../../kernel/pause.ts";
import type { ChannelsService } from "../channels/channels.service.ts";
import type { EventsService } from "../events/events.service.ts";
import type { Keeping, Posting } from "../messages/keeping.ts";
import {
  alertChangesOf,
  alertSpecs,
  gatheringEvents,
  isInLane,
  laneEvents,
  lanes,
  type AlertChange,
  type AlertData,
  type Lane,
  alsoForOf,
} from "./kinds.ts";
import { createSummaries, knownMs, type Summaries, type Summary } from "./summaries.ts";

/** An alert that could not be shown, and is told nobody any more. */
export interface LeftOut {
  guildId: string;
  at: Date;
  /** A sentence. */
  detail: string;
}

/** What is told of in a channel. */
export interface ShownAlert extends AlertChange {
  data: AlertData;
  at: Date;
  /** Of a summary: of how many it tells, and whether nobody was told of one by one. */
  summary?: Pick<Summary, "count" | "isAll">;
}

export interface AlertsDeps extends Deps<"clock"> {
  database: Database;
  events: Pick<EventsService, "onEmit" | "onOthers" | "isForFew">;
  channels: Pick<ChannelsService, "of" | "alertsOf" | "chosenAt">;
  guildState: Pick<GuildState, "guilds">;
  keeping: Keeping;
  posting: Posting;
  logger: Logger;
  /** How an alert looks in the channel of a guild. */
  look: (alert: ShownAlert, guildId: string) => CardMessage;
}

const readAtOnce = 200;
/** How long nothing is done, in milliseconds. */
const pauses = { idle: 10_000, notReady: 1000, refused: 60_000, failed: 5000, shortest: 100 };
/** How far a guild has been told is written down at the latest after so many events that told it nothing. */
const writtenEvery = 1000;
const keptMs = 30 * 86_400_000;
/** For how long health tells of what was left out, and of how many at most. */
const [leftOutMs, leftOutMost] = [3_600_000, 100];

/** Where a lane of a guild stands in the journal. */
interface Position {
  lane: Lane;
  seq: number;
  written: number;
  /** When it is tried again. */
  dueAt: number;
  /** Events that were read and are not told yet. */
  ahead: OutboxEvent[];
}

/** How far a guild was told, lane by lane, the urgent one first. */
interface Telling {
  positions: readonly Position[];
  summaries: Summaries;
}

/** How an attempt to tell something ended: how long to wait before the next one in milliseconds, or whether a message was sent. */
type Told = number | "sent" | "nothing";

/**
 * Tells the alerts channels of guilds what needs attention, from the journal of events: once each, and again from where it stopped after a
 * restart. Each guild goes at its own pace. What is urgent goes ahead of the rest, each in the order of the journal, and of many alerts about
 * one list most are told in a summary. What is over is shown as over.
 */
export function createAlerts({ database, clock, events, channels, guildState, keeping, posting, logger, look }: AlertsDeps) {
  const began = clock.now();
  /** Of guilds without an alerts channel: undefined, once their rows are gone. */
  const tellings = new Map<string, Telling | undefined>();
  const stopping = new AbortController();
  let alarm = new AbortController();
  let isWoken = false;
  let loop: Promise<void> | undefined;
  let skipped = 0;
  let leftOut: LeftOut[] = [];

  async function write(guildId: string, position: Position): Promise<void> {
    const { lane, seq } = position;
    if (seq === position.written) return;
    const id = rowOf(guildId, lane);
    await database.write(systemCall("job", uuid7()), async ({ db, now }) => {
      await db.alertPosition.upsert({
        where: { guildId: id },
        create: { guildId: id, seq, updatedAt: now },
        update: { seq, updatedAt: now },
      });
    });
    position.written = seq;
  }

  /** A guild begins with what happens once its channel is chosen, and nobody is told what happened before an upgrade. */
  async function tellingOf(guildId: string): Promise<Telling> {
    const known = tellings.get(guildId);
    if (known !== undefined) return known;
    const rows = await database.read.alertPosition.findMany({ where: { guildId: { in: lanes.map((lane) => rowOf(guildId, lane)) } } });
    const seqOf = (lane: Lane): number | undefined => rows.find((row) => row.guildId === rowOf(guildId, lane))?.seq;
    const first = rows.length === 0 ? await firstSeqFor(guildId) : 0;
    const positions = lanes.map((lane): Position => {
      // A version without lanes told everything in one.
      const seq = seqOf(lane) ?? seqOf("ordinary") ?? first;
      return { lane, seq, written: seqOf(lane) ?? -1, dueAt: -Infinity, ahead: [] };
    });
    const telling = { positions, summaries: await summariesOf(guildId, positions) };
    for (const position of positions) await write(guildId, position);
    tellings.set(guildId, telling);
    return telling;
  }

  /** What summaries of the last day tell, from the events that were told already. */
  async function summariesOf(guildId: string, positions: readonly Position[]): Promise<Summaries> {
    const summaries = createSummaries();
    const since = new Date(clock.now().getTime() - knownMs);
    const last = Math.max(...positions.map(({ seq }) => seq));
    for (let after = -1; ;) {
      const rows = await database.read.outboxEvent.findMany({
        where: { seq: { gt: after, lte: last }, at: { gte: since }, type: { in: [...gatheringEvents] } },
        orderBy: { seq: "asc" },
        take: readAtOnce,
      });
      for (const event of rows)
        for (const change of alertChangesOf(event.type)) {
          const isTold = positions.some(({ lane, seq }) => event.seq <= seq && isInLane(lane, change, event.data as AlertData));
          if (isTold && isFor(guildId, event)) summaries.note(change, event);
        }
      after = rows.at(-1)?.seq ?? after;
      if (rows.length < readAtOnce) break;
    }
    summaries.allShown();
    return summaries;
  }

  async function firstSeqFor(guildId: string): Promise<number> {
    const chosenAt = channels.chosenAt(guildId) ?? began;
    const since = chosenAt > began ? chosenAt : began;
    const { _max } = await database.read.outboxEvent.aggregate({ where: { at: { lt: since } }, _max: { seq: true } });
    return _max.seq ?? 0;
  }

  /** Without a channel nothing is told; one that is chosen later begins anew. */
  async function leave(guildId: string): Promise<void> {
    if (tellings.has(guildId) && tellings.get(guildId) === undefined) return;
    await database.write(systemCall("job", uuid7()), async ({ db }) => {
      await db.alertPosition.deleteMany({ where: { guildId: { in: lanes.map((lane) => rowOf(guildId, lane)) } } });
    });
    tellings.set(guildId, undefined);
  }

  /** Whether a guild is told of an event. Of what few may know of, a channel is not told. */
  function isFor(guildId: string, event: OutboxEvent): boolean {
    const { guild_id: about } = event.data as AlertData;
    const isUsual = !events.isForFew(event) || alsoForOf(event.type).some((permission) => permission === event.permission);
    return (typeof about !== "string" || about === guildId) && isUsual;
  }

  async function show(guildId: string, alert: ShownAlert, kept: { key: string; occasion: string }): Promise<Told> {
    const { key, occasion } = kept;
    const channelId = channels.alertsOf(guildId, alert.kind);
    if (channelId === undefined && !alert.isOver) return "nothing";
    let message: CardMessage;
    try {
      message = look(alert, guildId);
    } catch (error) {
      return await leaveOut(guildId, alert, key, { err: error, detail: say("alerts.it-could-not-be-worded") });
    }
    const place = channelId === undefined ? undefined : { guildId, channelId };
    const later = await keeping.updateCard(posting.messages, { key, message, occasion, place, isPosted: !alert.isOver }, "changed");
    if (later !== undefined) return later;
    const refusal = alert.isOver ? undefined : keeping.refusalOf(key);
    if (refusal !== undefined && !refusal.isContent) return pauses.refused;
    if (refusal !== undefined) return await leaveOut(guildId, alert, key, { detail: refusal.detail });
    if (alert.isOver) await keeping.forget(key);
    return "sent";
  }

  /** What will never be taken as it is keeps no other alert waiting. */
  async function leaveOut(guildId: string, { kind }: ShownAlert, key: string, why: { detail: string; err?: unknown }): Promise<Told> {
    skipped += 1;
    leftOut = [...leftOut, { guildId, at: clock.now(), detail: why.detail }].slice(-leftOutMost);
    logger.error({ guild: guildId, kind, ...why }, "an alert cannot be shown as it is; it is left out");
    await keeping.forget(key);
    return "sent";
  }

  async function showSummary(guildId: string, { kind, of, hour, count, isAll }: Summary): Promise<Told> {
    const data = { [alertSpecs[kind].gathered?.by ?? ""]: of };
    const key = keyOf(["summary", guildId, kind, of, hour.toISOString()]);
    if (count === 0 && !(await keeping.isKept(key))) return "nothing";
    const alert = { kind, isOver: count === 0, data, at: hour, summary: { count, isAll } };
    return await show(guildId, alert, { key, occasion: "summary" });
  }

  /** @returns whether a message was sent; false: there is nothing to tell, or it waits */
  async function tellNext(guildId: string, { summaries }: Telling, position: Position): Promise<boolean> {
    if (position.dueAt > performance.now()) return false;
    const settle = (told: Told): boolean => {
      if (typeof told === "number") position.dueAt = performance.now() + told;
      return told === "sent";
    };
    /** What was gathered is shown before the position is written, as nobody would show it after a crash. */
    const gather = async (isForced: boolean): Promise<Told> => {
      for (;;) {
        const summary = summaries.next(isForced);
        if (summary === undefined) return "nothing";
        const told = await showSummary(guildId, summary);
        if (typeof told === "number") return told;
        summaries.shown(summary);
        if (told === "sent") return told;
      }
    };
    if (position.ahead.length === 0) position.ahead = await read(position);
    for (let event = position.ahead[0]; event !== undefined; event = position.ahead[0]) {
      let isSent = false;
      if (isFor(guildId, event))
        for (const change of alertChangesOf(event.type)) {
          const data = event.data as AlertData;
          if (!isInLane(position.lane, change, data) || alertSpecs[change.kind].isFor?.(data) === false) continue;
          const isMuted = channels.alertsOf(guildId, change.kind) === undefined;
          if ((!isMuted || change.isOver) && summaries.note(change, event)) continue;
          const key = keyOf([guildId, change.kind, ...alertSpecs[change.kind].about.map((field) => data[field])]);
          if (change.isOver && !(await keeping.isKept(key))) continue;
          const gathered = await gather(true);
          if (gathered !== "nothing") return settle(gathered);
          const told = await show(guildId, { ...change, data, at: event.at }, { key, occasion: event.id });
          if (typeof told === "number") return settle(told);
          isSent ||= told === "sent" || isMuted;
        }
      position.ahead.shift();
      position.seq = event.seq;
      if (isSent) {
        await write(guildId, position);
        return true;
      }
    }
    const gathered = await gather(false);
    if (gathered !== "nothing") return settle(gathered);
    if (summaries.waitMs() === undefined) await skip(guildId, position);
    return false;
  }

  const read = ({ lane, seq }: Position): Promise<OutboxEvent[]> =>
    database.read.outboxEvent.findMany({
      where: { seq: { gt: seq }, type: { in: [...laneEvents[lane]] } },
      orderBy: { seq: "asc" },
      take: readAtOnce,
    });

  /** Everything there is to tell one guild, a message at a time: before each, what is urgent has its turn. */
  async function follow(guildId: string): Promise<void> {
    if (channels.of(guildId).alerts === undefined) return await leave(guildId);
    const telling = await tellingOf(guildId);
    let isSent = true;
    while (isSent && !stopping.signal.aborted) {
      isSent = false;
      for (const position of telling.positions) if (!isSent) isSent = await tellNext(guildId, telling, position);
    }
  }

  /** What tells nobody anything is passed over, so that it is not read again and again. */
  async function skip(guildId: string, position: Position): Promise<void> {
    const rows = await database.read.outboxEvent.findMany({
      where: { seq: { gt: position.seq } },
      orderBy: { seq: "asc" },
      take: writtenEvery,
      select: { seq: true, type: true },
    });
    const alerting = rows.findIndex(({ type }) => laneEvents[position.lane].includes(type));
    const last = (alerting === -1 ? rows : rows.slice(0, alerting)).at(-1);
    if (last !== undefined) position.seq = last.seq;
    if (position.seq - position.written >= writtenEvery) await write(guildId, position);
  }

  /** @returns for how long there is nothing to do, in milliseconds */
  async function step(): Promise<number> {
    if (!posting.isReady()) return pauses.notReady;
    const guildIds = guildState.guilds().flatMap(({ id, present }) => (present ? [id] : []));
    // Side by side, as a channel that takes nothing is nobody else's concern.
    const waits = await Promise.all(guildIds.map((guildId) => follow(guildId).then(() => pauses.idle, failed(guildId))));
    return Math.min(...waits, ...guildIds.flatMap((guildId) => waitsOf(guildId)), pauses.idle);
  }

  /** When there may be something to do in a guild again, in milliseconds from now. */
  function waitsOf(guildId: string): number[] {
    const telling = tellings.get(guildId);
    if (telling === undefined) return [];
    const lefts = telling.positions.map(({ dueAt }) => Math.max(0, dueAt - performance.now()));
    const summaryMs = telling.summaries.waitMs();
    return [
      ...lefts.filter((ms) => ms > 0),
      ...(summaryMs === undefined ? [] : [Math.max(summaryMs, Math.min(...lefts), pauses.shortest)]),
    ];
  }

  function failed(guildId: string): (error: unknown) => number {
    return (error) => {
      for (const position of tellings.get(guildId)?.positions ?? []) position.dueAt = performance.now() + pauses.failed;
      if (!stopping.signal.aborted) logger.error({ err: error, guild: guildId }, "alerts could not be told; trying again");
      return pauses.failed;
    };
  }

  async function run(): Promise<void> {
    while (!stopping.signal.aborted) {
      alarm = new AbortController();
      isWoken = false;
      const ms = await step();
      if (!isWoken) await pause(ms, alarm.signal);
    }
  }

  return {
    /** How many alerts could not be shown as they were, since the start. */
    skipped: (): number => skipped,
    /** Those of the last hour, the oldest first. */
    leftOut: (): readonly LeftOut[] => leftOut.filter(({ at }) => clock.now().getTime() - at.getTime() < leftOutMs),

    /** Know no more of messages that nobody has needed for a month. @returns of how many */
    async sweep(call: Call): Promise<number> {
      requirePermission(call, "system.act");
      const before = new Date(clock.now().getTime() - keptMs);
      const where = { requestId: { startsWith: keyPrefix }, updatedAt: { lt: before } };
      if ((await database.read.reviewCard.count({ where })) === 0) return 0;
      return await database.write(call, async ({ db }) => (await db.reviewCard.deleteMany({ where })).count);
    },

    start(): void {
      const wake = (): void => {
        isWoken = true;
        alarm.abort();
      };
      events.onEmit((tx, { type }) => {
        if (alertChangesOf(type).length > 0) tx.afterCommit(wake);
      });
      events.onOthers(wake);
      loop ??= run();
    },

    /** Begin nothing more, and wait for what is under way. */
    async stop(): Promise<void> {
      stopping.abort();
      alarm.abort();
      await loop;
    },
  };
}

const keyPrefix = "alert:";

/** What a message is kept under. It names nobody, as it outlives what it tells of. */
function keyOf(about: readonly unknown[]): string {
  return `${keyPrefix}${createHash("sha256").update(JSON.stringify(about)).digest("base64url")}`;
}

/** The row that says how far a lane of a guild was told. */
function rowOf(guildId: string, lane: Lane): string {
  return lane === "ordinary" ? guildId : `${guildId}:${lane}`;
}
