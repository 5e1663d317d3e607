import { GatewayDispatchEvents, type GatewayIntentBits } from "discord-api-types/v10";
import type { Logger } from "pino";
import { z } from "zod";
import type { Clock } from "../../kernel/clock.ts";
import { isSnowflake } from "../../kernel/fields.ts";
import type { ServedGuilds } from "../guild-state.ts";

interface ListenerEntry<Event> {
  dispatch: GatewayDispatchEvents;
  /** What the bot asks Discord for, so that this event is sent; empty for events that every bot gets. */
  intents: readonly GatewayIntentBits[];
  /** `handle` gets only events that match; others are logged without their content and counted. */
  schema: z.ZodType<Event>;
  handle(event: Event): void | Promise<void>;
}

/** One row of the table of listeners. */
export interface GatewayListener extends Pick<ListenerEntry<unknown>, "dispatch" | "intents"> {
  /** Check an event and handle it. */
  receive(data: unknown): void | Promise<void>;
  /** Whether it gets the events of guilds that are not served, and none of those that are. */
  isOfForeignGuilds?: true;
  /** Called after `receive` has failed, with the guild of the event where it is known. */
  onFault?(guildId: string | undefined): void;
}

/** A row of the table, with its handler typed by its schema. */
export function listener<Event>({ dispatch, intents, schema, handle }: ListenerEntry<Event>): GatewayListener {
  return { dispatch, intents, receive: (data) => handle(schema.parse(data)) };
}

interface ListenerTableOptions {
  listeners: readonly GatewayListener[];
  /** Events of these guilds, and events without a guild, reach the listeners. */
  served: ServedGuilds;
  faults: EventFaults;
}

/** The listeners of one bot, and what follows from them for its gateway session. */
export function createListenerTable({ listeners, served, faults }: ListenerTableOptions) {
  /** Runs synchronously up to the first `await` of the listener, so that events are handled in their order. */
  const run = async ({ receive, onFault }: GatewayListener, dispatch: GatewayDispatchEvents, data: unknown): Promise<void> => {
    try {
      await receive(data);
    } catch (error) {
      const guildId = faults.note(error, { t: dispatch, d: data });
      onFault?.(guildId);
    }
  };

  return {
    intents: [...new Set(listeners.flatMap(({ intents }) => intents))],
    dispatches: [...new Set(listeners.map(({ dispatch }) => dispatch))],
    /** Hand an event to its listeners; a listener that fails harms no other. */
    deliver(dispatch: GatewayDispatchEvents, data: unknown): void {
      const guildId = guildOf(dispatch, data);
      const isForeign = guildId === undefined ? undefined : !served.has(guildId);
      for (const entry of listeners) {
        const isConcerned = isForeign === undefined || isForeign === (entry.isOfForeignGuilds === true);
        if (entry.dispatch === dispatch && isConcerned) void run(entry, dispatch, data);
      }
    },
  };
}

/** An event of one kind is logged once in this time: broken events come in numbers. */
const quietMs = 60_000;
const known = new Set<unknown>(Object.values(GatewayDispatchEvents));
const packetSchema = z.object({ t: z.unknown(), d: z.unknown() }).partial();
const guildFields = z.object({ guild_id: z.unknown(), id: z.unknown() }).partial();

/** The id of the guild an event is about; events about a guild itself carry it as `id`. */
function guildOf(dispatch: string, data: unknown): string | undefined {
  const { guild_id: guildId, id } = guildFields.safeParse(data).data ?? {};
  const found = dispatch.startsWith("GUILD_") ? (guildId ?? id) : guildId;
  return typeof found === "string" ? found : undefined;
}

export interface EventFaults {
  /** @returns the guild of the event, where it is known */
  note(error: unknown, packet: unknown): string | undefined;
  /** The number of failures since the start, and the time of the last one. */
  state(): {
    count: number;
    lastAt: Date | undefined;
  };
}

/** Counts and logs failures at gateway events: the event, the guild and the place in the code or the packet, never the content. */
export function createEventFaults({ logger, clock }: { logger: Logger; clock: Clock }): EventFaults {
  const loggedAt = new Map<string, number>();
  let count = 0;
  let lastAt: Date | undefined;

  return {
    note(error: unknown, packet: unknown): string | undefined {
      const { t, d } = packetSchema.safeParse(packet).data ?? {};
      const event = known.has(t) ? String(t) : "unknown";
      const found = guildOf(event, d);
      const guildId = found !== undefined && isSnowflake(found) ? found : undefined;
      count += 1;
      lastAt = clock.now();
      const now = performance.now();
      if (now - (loggedAt.get(event) ?? -Infinity) > quietMs) {
        loggedAt.set(event, now);
        const where = { event, ...(guildId !== undefined && { guild_id: guildId }), ...outline(error), count };
        logger.error(where, "Discord: an event was not understood; everything else goes on");
      }
      return guildId;
    },
    state: () => ({ count, lastAt }),
  };
}

/** The place of a failure without its message, which may quote user content. */
function outline(error: unknown): Record<string, unknown> {
  if (error instanceof z.ZodError) return { fields: error.issues.map(({ path, code }) => `${path.join(".")}: ${code}`).slice(0, 10) };
  if (!(error instanceof Error)) return {};
  const { name, message, stack = "" } = error;
  const frames = stack.slice(stack.indexOf(message) + message.length).split("\n");
  return {
    error: name,
    at: frames
      .filter((line) => line.startsWith("    at "))
      .slice(0, 3)
      .map((line) => line.trim()),
  };
}
