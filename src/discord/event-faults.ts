import { GatewayDispatchEvents } from "discord-api-types/v10";
import type { Logger } from "pino";
import { z } from "zod";
import type { Clock } from "../kernel/clock.ts";
import { isSnowflake } from "../kernel/fields.ts";

/** A kind of event is logged once in this time: what comes broken comes broken often. */
const quietMs = 60_000;
const known = new Set<unknown>(Object.values(GatewayDispatchEvents));

/** As much of a packet as may be told of it: which event, of which guild. */
const packetSchema = z.object({
  t: z.unknown().optional(),
  d: z.object({ guild_id: z.unknown().optional(), id: z.unknown().optional() }).nullish().catch(null),
});

export type EventFaults = ReturnType<typeof createEventFaults>;

/** Counts and logs what failed at something the gateway said: the event, the guild and the place in the code or the packet, never what it said. */
export function createEventFaults({ logger, clock }: { logger: Logger; clock: Clock }) {
  const loggedAt = new Map<string, number>();
  let count = 0;
  let lastAt: Date | undefined;

  return {
    /** @returns the guild it was about, where that is known */
    note(error: unknown, packet: unknown): string | undefined {
      const { t, d } = packetSchema.safeParse(packet).data ?? {};
      const event = known.has(t) ? String(t) : "unknown";
      const id = event.startsWith("GUILD_") ? (d?.guild_id ?? d?.id) : d?.guild_id;
      const guildId = typeof id === "string" && isSnowflake(id) ? id : undefined;
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
    /** How many since the start, and when the last one came. */
    state: () => ({ count, lastAt }),
  };
}

/** The place of a failure without its words: those may quote what somebody wrote. */
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
