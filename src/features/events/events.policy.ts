import { inJson } from "../../kit/say.ts";
import type { OutboxEvent } from "../../generated/sqlite/client.ts";
import { can, requirePermission, type Call } from "../../kernel/call.ts";
import { ProblemError } from "../../kernel/errors.ts";
import type { EventView } from "./events.schema.ts";
import { eventTypes, type EventType } from "./types.ts";

/** The right to listen at all is the weakest there is; what is heard depends on the permission of each event. */
export const eventsPolicy = { follow: "staff.read", sweep: "system.act" } as const;

/** An event as it is handed out. */
export type Told = ReturnType<typeof presentEvent>;

/**
 * Refuse a filter that names only types the caller may not see: its stream would stay silent for ever.
 * @throws ProblemError permission_denied, acting_user_not_staff
 */
export function requireReadable(call: Call, wanted: ReadonlySet<string> | undefined): void {
  if (wanted === undefined) return;
  const permissions = [...wanted].map((type) => eventTypes[type as EventType].permission);
  const [first] = permissions;
  if (first !== undefined && !permissions.some((permission) => can(call, permission))) requirePermission(call, first);
}

/** Bounds what one key, and all of them together, keep open. */
export function createPlaces({ all, perKey }: { all: number; perKey: number }) {
  const taken = new Map<string, number>();
  let total = 0;
  return {
    /**
     * Take a place; the returned function gives it back, once.
     * @throws ProblemError overloaded, rate_limited
     */
    take(key: string): () => void {
      const own = taken.get(key) ?? 0;
      if (own >= perKey) throw new ProblemError("rate_limited", { detail: `A key has at most ${perKey} open streams.`, retryAfter: 15 });
      if (total >= all) throw new ProblemError("overloaded", { detail: "Too many streams are open.", retryAfter: 15 });
      taken.set(key, own + 1);
      total += 1;
      let isTaken = true;
      return () => {
        if (!isTaken) return;
        isTaken = false;
        total -= 1;
        const left = (taken.get(key) ?? 1) - 1;
        if (left === 0) taken.delete(key);
        else taken.set(key, left);
      };
    },
  };
}

/**
 * @returns the event with its text, which is made once for all streams; `names` are the ids it names, when it is told to fewer than
 * its type says: it is about a record that not everybody may know of
 */
export function presentEvent({ seq, id, at, type, permission, data }: OutboxEvent) {
  const view: EventView = { seq, id, at: at.toISOString(), type, data: data as EventView["data"] };
  const isNarrowed = permission !== eventTypes[type as EventType]?.permission;
  const names = isNarrowed ? Object.values(view.data).filter((value) => typeof value === "string") : [];
  return { seq, type, permission, names, view, frame: `id: ${seq}\nevent: ${type}\ndata: ${inJson(view)}\n\n` };
}

/** How long a client waits before it comes back, and where it stands until the first event. */
export function presentStart(cursor: number): string {
  return `retry: 3000\nid: ${cursor}\n\n`;
}

/**
 * Events are missing here: those after `after` and before `next` are no longer kept.
 * @param after null when the position the client gave is none of this service
 */
export function presentGap(after: number | null, next: number): string {
  return `event: gap\ndata: ${inJson({ after, next })}\n\n`;
}

/** Keeps the connection from falling asleep. @param moved the new position of a client that was shown nothing since its last one */
export function presentPing(moved: number | undefined): string {
  return moved === undefined ? ": ping\n\n" : `: ping\nid: ${moved}\n\n`;
}
