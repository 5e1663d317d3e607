import { features } from "../../src/features.ts";
import type { PresenceRecord } from "../../src/discord/guild/presence.ts";
import { systemCall } from "../../src/kernel/call.ts";
import type { DiscordAction, Performed } from "../../src/kernel/discord-port.ts";
import { uuid7 } from "../../src/kernel/ids.ts";
import { openOn } from "../faults/decision-kill.ts";

const by = () => systemCall("cli", uuid7());
let entries = 0;

/** One guild of a Discord that is nothing but what bots and people did to its members. */
export interface Hall {
  id: string;
  members: Map<string, { joined: number; roles: Set<string>; timeout: number }>;
  bans: Map<string, string>;
}

export function createHall(id: string): Hall {
  return { id, members: new Map(), bans: new Map() };
}

/** The services on a database, over halls instead of Discord. What they know of who is where, they read at their start. */
export async function openLists(url: string, halls: readonly Hall[], secondsLater = 0) {
  const opened = await openOn(url, secondsLater);
  const { services } = opened;
  const presences = services.guildState.presences as PresenceRecord;
  const info = (id: string) => ({ id, name: "Hall", icon: null, ownerId: null, present: true, syncedAt: null });
  const known = [...halls];
  const performed: DiscordAction[] = [];
  const memberOf = (userId: string, joined: number) => ({
    user: { id: userId, username: "somebody" },
    roles: [],
    joined_at: new Date(joined).toISOString(),
  });
  const leave = (hall: Hall, userId: string): void => {
    hall.members.delete(userId);
    presences.left(hall.id, userId);
  };

  /** An entry of the guild's audit log, as it is read when a person did something. */
  async function seen({ id: guildId }: Hall, userId: string, kind: "unban" | "timeout_lift"): Promise<void> {
    const by = { actorId: "80351110224678912", reason: null, until: null, rule: null, count: null, days: null, isOurs: false };
    const entryId = (5_000_000_000_000_000_000n + BigInt((entries += 1))).toString();
    await services.nativeRecords.write(guildId, [{ entryId, kind, guildId, userId, at: services.clock.now(), ...by }]);
  }

  function perform(action: DiscordAction, mayBeDone: boolean): Performed {
    const hall = known.find(({ id }) => "guildId" in action && id === action.guildId);
    if (hall === undefined || !("userId" in action)) return { outcome: "failed", detail: "Nobody is there." };
    const { userId } = action;
    const member = hall.members.get(userId);
    const same: Performed = { outcome: "done", detail: "It stands so already.", changed: mayBeDone };
    const done: Performed = { outcome: "done", detail: "Done.", changed: true };
    if (action.kind === "ban") {
      if (hall.bans.has(userId)) return same;
      hall.bans.set(userId, action.reason);
      leave(hall, userId);
    } else if (action.kind === "unban") {
      if (!hall.bans.has(userId)) return same;
      const signs = [action.onlyWith ?? []].flat();
      const reason = hall.bans.get(userId) ?? "";
      if (signs.length > 0 && !signs.some((sign) => reason.includes(sign))) return { ...same, changed: false };
      hall.bans.delete(userId);
    } else if (member === undefined) return action.kind === "kick" ? same : { outcome: "failed", detail: "They are not in the server." };
    else if (action.kind === "kick") leave(hall, userId);
    else if (action.kind === "role_add") {
      if (member.roles.has(action.roleId)) return same;
      member.roles.add(action.roleId);
    } else if (action.kind === "role_remove") {
      if (!member.roles.delete(action.roleId)) return same;
    } else if (action.kind === "timeout") {
      if (member.timeout >= Date.parse(action.until)) return { ...same, until: new Date(member.timeout).toISOString() };
      member.timeout = Date.parse(action.until);
      return { ...done, until: action.until };
    } else if (action.kind === "timeout_lift") {
      if (member.timeout === 0) return same;
      if (action.until !== undefined && ![action.until].flat().some((end) => Date.parse(end) === member.timeout))
        return { ...same, changed: false };
      member.timeout = 0;
    }
    performed.push(action);
    return done;
  }

  Object.assign(services.guildState, { guilds: () => known.map(({ id }) => info(id)), role: () => ({ id: "7", permissions: 0n }) });
  Object.assign(services.discord, {
    actions: {
      perform: (action: DiscordAction, earlier?: { mayBeDone: boolean }) => Promise.resolve(perform(action, earlier?.mayBeDone === true)),
    },
    status: () => ({ state: "ready" }),
  });
  Object.assign(services.access, { of: () => ({ isOwner: false, isStaff: false, rank: 0, held: [] }) });
  const hallAdded = (hall: Hall): void => {
    (services.servedGuilds as Set<string>).add(hall.id);
    for (const [userId, { joined }] of hall.members) presences.seen(hall.id, memberOf(userId, joined), true);
    presences.read(hall.id, true);
  };
  await features.load(services);
  for (const hall of halls) hallAdded(hall);

  return {
    ...opened,
    services,
    performed,
    by,
    add(hall: Hall): void {
      known.splice(0, known.length, hall);
      hallAdded(hall);
    },
    join(hall: Hall, userId: string, joined: number): void {
      hall.members.set(userId, { joined, roles: new Set(), timeout: 0 });
      presences.seen(hall.id, memberOf(userId, joined), false);
    },
    leave,
    async unbanByHand(hall: Hall, userId: string): Promise<void> {
      if (hall.bans.delete(userId)) await seen(hall, userId, "unban");
    },
    async liftTimeoutByHand(hall: Hall, userId: string): Promise<void> {
      const member = hall.members.get(userId);
      if (member !== undefined) member.timeout = 0;
      await seen(hall, userId, "timeout_lift");
    },
    settle: () => services.lists.worker.catchUp(by()),
  };
}
