import type { Logger } from "pino";

/** Tables of which a process is only told that there is something new: it knows where it stands, and looks there by itself in the end. */
export const hinted = ["outbox_events", "webhooks"] as const;

/** Tables of whose changes processes are told: those that are held in memory, and those that are hinted at. */
export const topics = [
  ...hinted,
  "settings",
  "api_keys",
  "owners",
  "staff_roles",
  "staff_role_discord_roles",
  "role_permissions",
  "user_permissions",
  "staff_profiles",
  "guilds",
  "guild_roles",
  "guild_members",
  "blacklist_records",
  "matches",
  "account_links",
  "followed_lists",
  "followed_entries",
] as const;
export type Topic = (typeof topics)[number];

/** How long rows say what has changed; whoever has not looked for so long reads everything again. Some name people, so it is not long. */
export const changesKeptSeconds = 120;

/** How long a process is known that has not said that it is there. While one is known, changes are written down for it. */
export const nodesKeptSeconds = 600;

export interface Change {
  /** What the changed rows are about, as the trigger of the table says it; undefined: it may be any of them. */
  keys?: readonly string[] | undefined;
  /** Whether this process tells of its own commit. What PostgreSQL tells may be that of any process, this one included. */
  isOwn: boolean;
}

type Hear = (change: Change) => unknown;

/** Who hears of which changes: of this process at its commit, and of every process where several serve one database. */
export interface Changes {
  /**
   * @param compare looks by itself whether what is held in memory differs from the database, and takes over what does; as a change of anything
   * unless told. It runs every minute: where there is much to read it looks for what is new
   */
  listen(topic: Topic | readonly Topic[], hear: Hear, compare?: () => Promise<unknown>): void;
  tell(topic: Topic, change: Change): void;
  /** Have everybody compare. @throws the first failure, once all others have compared */
  compare(): Promise<void>;
}

/** A listener that fails stops no other. */
export function createChanges(logger?: Logger): Changes {
  const hearing = new Map<Topic, Hear[]>();
  const comparing: (() => unknown)[] = [];
  const note = (error: unknown, topic: Topic): void => logger?.error({ err: error, topic }, "a change could not be taken over");

  return {
    listen(of, hear, compare = async () => hear({ isOwn: false })) {
      for (const topic of [of].flat()) hearing.set(topic, [...(hearing.get(topic) ?? []), hear]);
      comparing.push(compare);
    },
    tell(topic, change) {
      for (const hear of hearing.get(topic) ?? [])
        try {
          const heard = hear(change);
          if (heard instanceof Promise) heard.catch((error: unknown) => note(error, topic));
        } catch (error) {
          note(error, topic);
        }
    },
    compare: oneAtATime(async () => {
      let failure: Error | undefined;
      for (const compare of comparing)
        try {
          await compare();
        } catch (error) {
          failure ??= error instanceof Error ? error : new Error(String(error));
        }
      if (failure !== undefined) throw failure;
    }),
  };
}

/**
 * Work that is repeated while it is asked for, one run at a time: who asks during a run is served by the next one.
 * @returns ask for a run; settles when one that began afterwards has ended
 */
export function oneAtATime(work: () => Promise<unknown>): () => Promise<void> {
  let running: Promise<void> | undefined;
  let next: Promise<void> | undefined;
  const run = async (): Promise<void> => void (await work());
  const begin = (): Promise<void> => (running = run().finally(() => (running = undefined)));
  return () => {
    if (running === undefined) return begin();
    next ??= running
      .catch(() => undefined)
      .then(() => {
        next = undefined;
        return begin();
      });
    return next;
  };
}
