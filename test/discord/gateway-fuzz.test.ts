// @module-tag sqlite
// @module-tag slow
import { GatewayDispatchEvents } from "discord-api-types/v10";
import { expect, onTestFinished, test } from "vitest";
import { createDice } from "../support/dice.ts";
import { hostileTexts } from "../support/hostile.ts";
import { commandData, rawDoor } from "../support/raw-door.ts";
import { soonBack } from "../support/pauses.ts";
import { seedOf, sizeOf } from "../support/size.ts";
import { createWorld } from "../support/world.ts";
import { until } from "./support.ts";

/** How many events and interactions are sent. */
const all = sizeOf({ quick: 1000, all: 2000, long: 10_000 });
/** After so many a world is made anew: some take away what the next ones are about. */
const perWorld = 5000;
const firstSeed = seedOf(7);
const rounds = Array.from({ length: Math.ceil(all / perWorld) }, (_, index) => ({
  seed: firstSeed + index,
  count: Math.min(perWorld, all - index * perWorld),
}));
const batch = 50;
/** Stands in whatever is put into an event, and must be in no log. */
const marker = "said-in-confidence";

type Dice = ReturnType<typeof createDice>;
interface Packet {
  t: string;
  d: unknown;
}

/** The same content with one to three places in it left out or something else. */
function spoil(dice: Dice, d: unknown): unknown {
  const copy = { d: structuredClone(d) };
  for (let times = 1 + dice.below(3); times > 0; times -= 1) {
    let owner: Record<string, unknown> = copy;
    let key = "d";
    for (;;) {
      const inner = owner[key];
      if (typeof inner !== "object" || inner === null || (owner !== copy && dice.chance(0.3))) break;
      const keys = Object.keys(inner);
      if (keys.length === 0) break;
      owner = inner as Record<string, unknown>;
      key = dice.pick(keys);
    }
    if (dice.chance(0.5)) delete owner[key];
    else owner[key] = wild(dice);
  }
  return copy.d;
}

function wild(dice: Dice): unknown {
  const text = `${marker} ${dice.pick(hostileTexts)}`;
  return dice.pick<unknown>([null, true, 0, -1, 1e308, 2 ** 60, "", text, [], {}, [null], { id: text }, "99999999999999999999", [[[]]]]);
}

test.each(rounds)(
  "$count events and interactions that are wrong in one way or another (seed $seed) end nothing and hide nothing",
  { timeout: 60_000 + perWorld * 60 },
  async ({ count, seed }) => {
    const dice = createDice(seed);
    const log: string[] = [];
    const escaped: unknown[] = [];
    const note = (reason: unknown) => void escaped.push(reason);
    const world = await createWorld({ log: (line) => log.push(line), pauses: { discord: soonBack } });
    process.on("unhandledRejection", note);
    process.on("uncaughtException", note);
    onTestFinished(() => {
      process.off("unhandledRejection", note);
      process.off("uncaughtException", note);
    });
    const { sandbox, guild, app } = world;
    const owner = await world.staff("owner");

    // One real event of every kind the sandbox knows, and two interactions.
    const open = rawDoor(sandbox, guild.id);
    await open(owner, { type: 2, data: commandData({ command: "callsign", path: "pools" }, []) }).reply();
    const someone = world.member();
    const role = guild.createRole("Fleeting");
    guild.setRoles(someone, [role]);
    guild.setNick(someone, "Fleeting");
    guild.kick(someone);
    guild.deleteRole(role);
    await sandbox.caughtUp();
    const real = new Map<string, unknown[]>();
    for (const { direction, t, d } of sandbox.gatewayLog)
      if (direction === "out" && t !== null && d !== undefined) real.set(t, [...(real.get(t) ?? []), d]);
    expect(real.size).toBeGreaterThan(8);
    const names = Object.values(GatewayDispatchEvents) as string[];
    const all = [...real.values()].flat();

    const packet = (): Packet => {
      if (dice.chance(0.3)) return { t: "INTERACTION_CREATE", d: spoil(dice, dice.pick(real.get("INTERACTION_CREATE") ?? all)) };
      const t = dice.chance(0.6) ? dice.pick([...real.keys()]) : dice.pick(names);
      return { t, d: dice.chance(0.05) ? wild(dice) : spoil(dice, dice.pick(dice.chance(0.9) ? (real.get(t) ?? all) : all)) };
    };
    for (let sent = 0; sent < count; sent += batch) {
      for (let index = 0; index < batch; index += 1) {
        const { t, d } = packet();
        sandbox.faults.event(t, d);
      }
      await sandbox.caughtUp();
      if (sent % 1000 === 0) expect((await world.get("/health", { key: null })).status).toBe(200);
    }
    expect(escaped).toEqual([]);
    expect(app.discord.eventFaults().count).toBeGreaterThan(count / 20);

    // Whatever was believed meanwhile, a new session knows better; and what happens next is seen.
    sandbox.faults.invalidateSessions();
    await until(() => app.discord.status().state === "ready" && !app.guildState.freshness().stale, 60_000);
    const later = guild.createRole("Later");
    await until(() => app.guildState.role(guild.id, later.id)?.name === "Later");
    const run = open(owner, { type: 2, data: commandData({ command: "callsign", path: "pools" }, []) });
    await run.reply();
    expect((await world.get("/health", { key: null })).status).toBe(200);
    expect(escaped).toEqual([]);
    expect(log.filter((line) => line.includes(marker))).toEqual([]);
  },
);
