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
import type { AlertKind } from "../../kernel/vocabulary.ts";
import type { ChannelsService } from "../channels/channels.service.ts";
import type { EventsService } from "../events/events.service.ts";
import type { Keeping, Posting } from "../messages/keeping.ts";
import { alertChangesOf, alertingEvents, alertSpecs, type AlertChange, type AlertData } from "./kinds.ts";

/** What is told of in a channel. */
export interface ShownAlert extends AlertChange {
  data: AlertData;
  at: Date;
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
const pauses = { idle: 10_000, notReady: 1000, refused: 60_000, failed: 5000 };
/** How far a guild has been told is written down at the latest after so many events that told it nothing. */
const writtenEvery = 1000;
const keptMs = 30 * 86_400_000;

/** Where a guild stands in the journal. */
interface Position {
  seq: number;
  written: number;
  /** When it is tried again. */
  dueAt: number;
}

/**
 * Tells the alerts channels of guilds what needs attention, from the journal of events: once each, in order, and again from where it stopped
 * after a restart. Each guild goes at its own pace. What is over is shown as over.
 */
export function createAlerts({ database, clock, events, channels, guildState, keeping, posting, logger, look }: AlertsDeps) {
  const began = clock.now();
  /** Of guilds without an alerts channel: undefined, once their row is gone. */
  const positions = new Map<string, Position | undefined>();
  const stopping = new AbortController();
  let alarm = new AbortController();
  let isWoken = false;
  let loop: Promise<void> | undefined;

  async function write(guildId: string, position: Position, seq: number): Promise<void> {
    await database.write(systemCall("job", uuid7()), async ({ db, now }) => {
      await db.alertPosition.upsert({ where: { guildId }, create: { guildId, seq, updatedAt: now }, update: { seq, updatedAt: now } });
    });
    position.written = seq;
  }

  /** A guild begins with what happens once its channel is chosen, and nobody is told what happened before an upgrade. */
  async function positionOf(guildId: string): Promise<Position> {
    const known = positions.get(guildId);
    if (known !== undefined) return known;
    const row = await database.read.alertPosition.findUnique({ where: { guildId } });
    const position = { seq: row?.seq ?? (await firstSeqFor(guildId)), written: row?.seq ?? -1, dueAt: -Infinity };
    if (row === null) await write(guildId, position, position.seq);
    positions.set(guildId, position);
    return position;
  }

  async function firstSeqFor(guildId: string): Promise<number> {
    const chosenAt = channels.chosenAt(guildId) ?? began;
    const since = chosenAt > began ? chosenAt : began;
    const { _max } = await database.read.outboxEvent.aggregate({ where: { at: { lt: since } }, _max: { seq: true } });
    return _max.seq ?? 0;
  }

  /** Without a channel nothing is told; one that is chosen later begins anew. */
  async function leave(guildId: string): Promise<void> {
    if (positions.has(guildId) && positions.get(guildId) === undefined) return;
    await database.write(systemCall("job", uuid7()), async ({ db }) => {
      await db.alertPosition.deleteMany({ where: { guildId } });
    });
    positions.set(guildId, undefined);
  }

  /** @returns how long this guild waits before it is tried again, in milliseconds; undefined once it was told */
  async function tell(guildId: string, { kind, isOver }: AlertChange, event: OutboxEvent): Promise<number | undefined> {
    const data = event.data as AlertData;
    if (typeof data["guild_id"] === "string" && data["guild_id"] !== guildId) return undefined;
    // Of what few may know of, a channel is not told.
    if (events.isForFew(event)) return undefined;
    const channelId = channels.alertsOf(guildId, kind);
    if (channelId === undefined && !isOver) return undefined;
    const key = keyOf(guildId, kind, data);
    const message = look({ kind, isOver, data, at: event.at }, guildId);
    const place = channelId === undefined ? undefined : { guildId, channelId };
    const later = await keeping.updateCard(posting.messages, { key, message, occasion: event.id, place, isPosted: !isOver }, "changed");
    if (later !== undefined) return later;
    if (!isOver) return keeping.isRefused(key) ? pauses.refused : undefined;
    await keeping.forget(key);
    return undefined;
  }

  /** Everything there is to tell one guild. */
  async function follow(guildId: string): Promise<void> {
    if (channels.of(guildId).alerts === undefined) return await leave(guildId);
    const position = await positionOf(guildId);
    for (;;) {
      if (position.dueAt > performance.now() || stopping.signal.aborted) return;
      const rows = await database.read.outboxEvent.findMany({
        where: { seq: { gt: position.seq }, type: { in: [...alertingEvents] } },
        orderBy: { seq: "asc" },
        take: readAtOnce,
      });
      for (const event of rows) {
        for (const change of alertChangesOf(event.type)) {
          const later = await tell(guildId, change, event);
          if (later !== undefined) {
            position.dueAt = performance.now() + later;
            return;
          }
        }
        position.seq = event.seq;
        await write(guildId, position, event.seq);
        if (stopping.signal.aborted) return;
      }
      if (rows.length < readAtOnce) return await skip(guildId, position);
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
    const alerting = rows.findIndex(({ type }) => alertingEvents.includes(type));
    const last = (alerting === -1 ? rows : rows.slice(0, alerting)).at(-1);
    if (last === undefined) return;
    position.seq = last.seq;
    if (position.seq - position.written >= writtenEvery) await write(guildId, position, position.seq);
  }

  /** @returns for how long there is nothing to do, in milliseconds */
  async function step(): Promise<number> {
    if (!posting.isReady()) return pauses.notReady;
    const guildIds = guildState.guilds().flatMap(({ id, present }) => (present ? [id] : []));
    // Side by side, as a channel that takes nothing is nobody else's concern.
    const waits = await Promise.all(guildIds.map((guildId) => follow(guildId).then(() => pauses.idle, failed(guildId))));
    const due = guildIds.map((id) => (positions.get(id)?.dueAt ?? 0) - performance.now()).filter((ms) => ms > 0);
    return Math.min(...waits, ...due, pauses.idle);
  }

  function failed(guildId: string): (error: unknown) => number {
    return (error) => {
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

/** What the message of an alert is kept under. It names nobody, as it outlives what it tells of. */
function keyOf(guildId: string, kind: AlertKind, data: AlertData): string {
  const about = JSON.stringify([guildId, kind, ...alertSpecs[kind].about.map((field) => data[field])]);
  return `${keyPrefix}${createHash("sha256").update(about).digest("base64url")}`;
}
