import { createGuildEngine, type GuildEngine } from "./guild-engine.ts";
import type { GuildFeed, GuildStateOptions } from "./guild-feed.ts";
import type { GuildState } from "./guild-state.ts";

const stopMs = 5000;

/** The state of the guilds, usable (as last stored) without any link to Discord; `feed` is the gateway's side of it. */
export function createGuildState(options: GuildStateOptions): GuildState & { feed: GuildFeed } {
  const { staleLimitSeconds = 900, noteMs = 60_000 } = options;
  const engine = createGuildEngine(options);
  const { record, link, tracking, changes } = engine;
  const note = setInterval(() => engine.note(), noteMs).unref();

  return {
    async load() {
      await record.load(engine.isOurs);
      link.startFrom(oldest(record.guilds().flatMap((guild) => (guild.present ? [guild.syncedAt] : []))));
    },
    guilds: () => [...record.mirror.guilds.values()],
    role: (guildId, roleId) => record.mirror.roles.get(guildId)?.get(roleId),
    roles: (guildId) => [...(record.mirror.roles.get(guildId)?.values() ?? [])],
    members: (userId) => record.mirror.memberships(userId),
    async lookUp(userId) {
      const stored = record.mirror.memberships(userId);
      const guilds = engine.presentGuilds().length;
      if (stored.some((state) => state.present) || (guilds > 0 && guilds === stored.length)) return { members: stored, isComplete: true };
      if (guilds === 0) return { members: stored, isComplete: link.isLive() };
      const { states, isComplete, isOutdated } = await engine.lookUps.ask(userId, "stranger");
      const now = record.mirror.memberships(userId);
      const members = [...now, ...states.filter((state) => !now.some((known) => known.guildId === state.guildId))];
      return { members, isComplete: isComplete && !isOutdated };
    },
    trackedUsers: () => record.mirror.users(),
    freshness: () => link.freshness(),
    isTooOld: () => !link.isLive() && link.ageSeconds() > staleLimitSeconds,
    track: (what) => tracking.track(what),
    forget: (userId) => record.forget(userId),
    onChange: changes.listen,
    feed: createFeed(engine, () => clearInterval(note)),
  };
}

function createFeed(engine: GuildEngine, onStop: () => void): GuildFeed {
  let isStopped = false;
  return {
    attach: (source) => engine.attach(source),
    handle(name, data) {
      if (isStopped) return;
      engine.handle(name, data);
      engine.link.sign();
    },
    doubt(guildId) {
      if (!isStopped) engine.readLater(engine.presentGuilds().filter((id) => guildId === undefined || id === guildId));
    },
    alive: (at) => engine.link.sign(at),
    lost: () => engine.lost(),
    async stop() {
      isStopped = true;
      onStop();
      engine.note();
      engine.lost();
      engine.attach(undefined);
      await engine.record.stop(stopMs);
    },
  };
}

/** Null when any is: a guild that was never read makes the whole state unknown. */
function oldest(times: readonly (Date | null)[]): Date | null {
  const known = times.filter((at) => at !== null);
  if (known.length < times.length || known.length === 0) return null;
  return new Date(Math.min(...known.map((at) => at.getTime())));
}
