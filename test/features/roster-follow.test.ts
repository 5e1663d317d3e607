import fc from "fast-check";
import { beforeAll, describe, expect, test } from "vitest";
import { factsOf, columnsOf } from "../../src/features/roster/facts.ts";
import { isTooMuch, limitFor } from "../../src/features/roster/sync/follow.ts";
import { followsDiscord, highestOf, stepsFor, storedOf } from "../../src/features/roster/sync/diff.ts";
import { rosterStatuses } from "../../src/features/roster/states.ts";
import type { RosterEntry } from "../../src/generated/sqlite/client.ts";
import { soonBack } from "../support/pauses.ts";
import { createWorld, type Level, type World } from "../support/world.ts";
import { alone, createMovedClock, enlist, entryOf, eventsOf, followIn, job, linesOf, until, written } from "./roster-sync-ground.ts";
import { runsOf, sizeOf } from "../support/size.ts";

interface Step {
  who: number;
  what: string;
  held: Level[];
  nick: string | null;
}

const ranks: Readonly<Record<string, number>> = { owner: 100, admin: 80, senior: 60, moderator: 40, viewer: 10 };
const rankOf = (key: string): number | undefined => ranks[key];
const followRuns = sizeOf({ quick: 1, all: 5, long: 25 });
/** The link waits longer from one outage to the next, half a minute and a quarter at most, and one outage may cost it two attempts. */
const outageMs = 100_000;
const at = new Date("2026-11-22T10:00:00.000Z");

describe("what follows from what the guilds show", () => {
  const keys = fc.uniqueArray(fc.constantFrom(...Object.keys(ranks)), { maxLength: 4 }).map((list) => list.toSorted());
  const shown = fc.record({
    held_roles: keys,
    in_guild: fc.boolean(),
    nickname: fc.option(fc.constantFrom("Ann", "Ben"), { nil: null }),
  });
  const entry = fc
    .record({
      status: fc.constantFrom(...rosterStatuses),
      staffRole: fc.option(fc.constantFrom(...Object.keys(ranks)), { nil: null }),
      heldRoles: fc.option(keys, { nil: null }),
      inGuild: fc.boolean(),
      nickname: fc.option(fc.constantFrom("Ann", "Ben"), { nil: null }),
    })
    .map((given) => ({ ...emptyEntry, ...given }));
  const emptyEntry = {
    id: "entry",
    userId: "1",
    statusBefore: null,
    department: null,
    supervisorId: null,
    joinedAt: at,
    trialEndsAt: null,
    suspendedUntil: null,
    endedAt: null,
    originReference: null,
    notes: null,
    syncedAt: null,
    createdAt: at,
    updatedAt: at,
    revision: 1,
  };

  /** The entry as it is once the steps were written. */
  function after(row: RosterEntry, { steps, extras }: NonNullable<ReturnType<typeof stepsFor>>): RosterEntry {
    const facts = steps.at(-1)?.after;
    return { ...row, ...(facts !== undefined && columnsOf(facts)), ...(extras as Partial<RosterEntry>) };
  }

  test("once it is written nothing differs any more, and the entry shows what the guilds show", () => {
    fc.assert(
      fc.property(entry, shown, (row, now) => {
        const following = stepsFor(row, now, rankOf, at);
        const then = following === null ? row : after(row, following);
        expect(stepsFor(then, now, rankOf, at)).toBeNull();
        expect(storedOf(then).held_roles).toEqual(now.held_roles);
        expect(then.inGuild).toBe(now.in_guild);
        if (now.in_guild) expect(then.nickname).toBe(now.nickname);
      }),
      { numRuns: runsOf(1000) },
    );
  });

  test("each role gained or lost is one line, and the lines lead from what was shown to what is", () => {
    fc.assert(
      fc.property(entry, shown, (row, now) => {
        const was = storedOf(row).held_roles;
        fc.pre(was !== null);
        const steps = stepsFor(row, now, rankOf, at)?.steps ?? [];
        const roles = steps.filter(({ event }) => event === "role_added" || event === "role_removed");
        const changed = [...was, ...now.held_roles].filter((key) => was.includes(key) !== now.held_roles.includes(key));
        expect(roles).toHaveLength(changed.length);
        let stands: readonly string[] = was;
        for (const { shown: line } of roles) {
          expect(line?.before.held_roles).toEqual(stands);
          stands = line?.after.held_roles ?? [];
        }
        expect(stands).toEqual(now.held_roles);
      }),
      { numRuns: runsOf(1000) },
    );
  });

  test("nothing but the staff role of somebody in service changes, and it moves only with what was gained or lost", () => {
    fc.assert(
      fc.property(entry, shown, (row, now) => {
        const following = stepsFor(row, now, rankOf, at);
        const then = following === null ? row : after(row, following);
        expect({ ...factsOf(then), staff_role: null }).toEqual({ ...factsOf(row), staff_role: null });
        const was = storedOf(row).held_roles;
        if (!followsDiscord(row)) {
          expect(then.staffRole).toBe(row.staffRole);
          return;
        }
        if (was === null) {
          expect(then.staffRole).toBe(row.staffRole ?? highestOf(now.held_roles, rankOf));
          return;
        }
        const isLost = row.staffRole !== null && was.includes(row.staffRole) && !now.held_roles.includes(row.staffRole);
        if (isLost) {
          expect(then.staffRole).toBe(highestOf(now.held_roles, rankOf));
          return;
        }
        const gained = now.held_roles.filter((key) => !was.includes(key)).map((key) => ranks[key] ?? 0);
        const rank = row.staffRole === null ? -1 : (ranks[row.staffRole] ?? 0);
        const best = Math.max(rank, ...gained);
        expect(then.staffRole === null ? -1 : ranks[then.staffRole]).toBe(best);
      }),
      { numRuns: runsOf(1000) },
    );
  });

  test("who holds no staff role and has no entry gets none; who holds one begins as active with the highest", () => {
    fc.assert(
      fc.property(shown, (now) => {
        const following = stepsFor(null, now, rankOf, at);
        if (now.held_roles.length === 0) {
          expect(following).toBeNull();
          return;
        }
        expect(following?.steps.map(({ event }) => event)).toEqual(["hired"]);
        expect(following?.steps[0]?.after).toMatchObject({ status: "active", staff_role: highestOf(now.held_roles, rankOf) });
      }),
    );
  });

  test("so many may change by themselves: five, or a fifth of the roster, and any number at the first filling", () => {
    const people = Array.from({ length: 21 }, (_, index) => index.toString());
    const allowance = { live: 100, limit: limitFor(100), changed: new Set<string>(), isFirstFilling: false };
    expect([limitFor(0), limitFor(25), limitFor(26)]).toEqual([5, 5, 5.2]);
    expect(isTooMuch(allowance, people.slice(1))).toBe(false);
    expect(isTooMuch(allowance, people)).toBe(true);
    expect(isTooMuch({ ...allowance, changed: new Set(["a"]) }, people.slice(1))).toBe(true);
    expect(isTooMuch({ ...allowance, changed: new Set(["1"]) }, people.slice(1))).toBe(false);
    expect(isTooMuch({ ...allowance, isFirstFilling: true }, people)).toBe(false);
  });
});

describe("following the gateway", () => {
  let world: World;
  beforeAll(async () => {
    let end = (): Promise<void> => Promise.resolve();
    world = await createWorld({ env: alone, pauses: { discord: soonBack }, onEnd: (way) => (end = way) });
    return () => end();
  });

  test("a role given, another one, the first taken, a name, leaving and coming back: each is told once and the staff role follows", async () => {
    const sync = followIn(world);
    sync.start();
    const ann = world.member("ann");
    const { guild, roles } = world;
    const told = (...events: string[]) =>
      until(
        () => eventsOf(world, ann),
        (found) => JSON.stringify(found) === JSON.stringify(events),
      );
    guild.setRoles(ann, [roles.moderator]);
    await told("hired");
    expect(await entryOf(world, ann)).toMatchObject({ status: "active", staffRole: "moderator", heldRoles: ["moderator"], inGuild: true });
    guild.setRoles(ann, [roles.moderator, roles.viewer]);
    await told("hired", "role_added");
    expect(await entryOf(world, ann)).toMatchObject({ staffRole: "moderator", heldRoles: ["moderator", "viewer"] });
    guild.setRoles(ann, [roles.senior, roles.viewer]);
    const promoted = ["hired", "role_added", "role_added", "role_removed", "promoted"];
    await told(...promoted);
    guild.setNick(ann, "Captain");
    await told(...promoted, "renamed");
    guild.kick(ann);
    const gone = [...promoted, "renamed", "role_removed", "role_removed", "demoted", "synced"];
    await told(...gone);
    expect(await entryOf(world, ann)).toMatchObject({
      status: "active",
      staffRole: null,
      heldRoles: [],
      inGuild: false,
      nickname: "Captain",
    });
    guild.addMember(ann, { roles: [roles.viewer] });
    await told(...gone, "role_added", "promoted", "synced", "renamed");
    const lines = await linesOf(world, ann);
    expect(lines.every(({ source, actorId }) => source === "discord" && actorId === null)).toBe(true);
    expect(lines.filter(({ event }) => event === "promoted").map((line) => [line.formerRole, line.staffRole])).toEqual([
      ["moderator", "senior"],
      [null, "viewer"],
    ]);
  });

  test("who holds no staff role and has no entry is never touched, and what is told twice costs no write", async () => {
    const sync = followIn(world, createMovedClock());
    const ben = await world.staff("viewer");
    const passer = world.member("passer");
    sync.start();
    await until(
      () => entryOf(world, ben),
      (entry) => entry !== null,
    );
    await until(
      () => sync.status(job()),
      ({ pending }) => pending === 0,
    );
    const before = await written(world);
    world.guild.setRoles(passer, [world.guild.createRole("Sailor")]);
    world.guild.setNick(passer, "Sailor");
    const link = world.sandbox.connectionCount();
    expect(link).toBe(1);
    world.sandbox.faults.invalidateSessions();
    await world.sandbox.waitFor(() => world.app.guildState.freshness().stale, 60_000);
    await world.sandbox.waitFor(() => !world.app.guildState.freshness().stale, 60_000);
    await sync.catchUp(job());
    expect(await sync.status(job())).toMatchObject({ pending: 0, held_back: 0 });
    expect(await written(world)).toEqual(before);
    expect(await entryOf(world, passer)).toBeNull();
  });

  test("while somebody is suspended, or after they have left, roles are shown and the staff role stays", async () => {
    const [cat, dan] = [await world.staff("moderator"), await world.staff("moderator")];
    const clock = createMovedClock();
    clock.pass(3_600_000);
    for (const one of [cat, dan]) await enlist(world, one, "moderator");
    const sync = followIn(world, clock);
    sync.start();
    await until(
      () => entryOf(world, dan),
      (entry) => entry?.heldRoles !== null,
    );
    expect(await eventsOf(world, dan)).toEqual(["hired"]);
    const note = { causeReference: null, permission: "system.act" as const };
    await world.app.database.write(job(), (tx) => world.app.roster.moveInTx(tx, cat.id, { ...note, event: "suspended" }));
    await world.app.database.write(job(), (tx) => world.app.roster.moveInTx(tx, dan.id, { ...note, event: "terminated" }));
    for (const one of [cat, dan]) world.guild.setRoles(one, [world.roles.senior]);
    for (const one of [cat, dan]) {
      await until(
        () => entryOf(world, one),
        (entry) => JSON.stringify(entry?.heldRoles) === '["senior"]',
      );
      expect(await eventsOf(world, one)).toEqual(["hired", one === cat ? "suspended" : "terminated", "role_added", "role_removed"]);
    }
    expect(await entryOf(world, cat)).toMatchObject({ status: "suspended", staffRole: "moderator" });
    expect(await entryOf(world, dan)).toMatchObject({ status: "terminated", staffRole: "moderator" });
  });

  test(
    "after any sequence of changes, outages among them, the roster is what the guild shows and its history leads there",
    async () => {
      const clock = createMovedClock();
      const sync = followIn(world, clock);
      sync.start();
      const { guild, roles, sandbox } = world;
      const people = ["eve", "fay"].map((name) => world.member(name));
      const levels = Object.keys(ranks) as Level[];
      const step = fc.record({
        who: fc.constantFrom(0, 1),
        what: fc.constantFrom("roles", "roles", "nick", "leave", "join"),
        held: fc.uniqueArray(fc.constantFrom(...levels), { maxLength: 3 }),
        nick: fc.option(fc.constantFrom("Red", "Blue"), { nil: null }),
      });
      const act = ({ who, what, held, nick }: Step): void => {
        const person = people[who];
        if (person === undefined) return;
        const isThere = guild.member(person) !== undefined;
        if (what === "join" && !isThere) guild.addMember(person, { roles: held.map((level) => roles[level]) });
        if (!isThere) return;
        if (what === "roles")
          guild.setRoles(
            person,
            held.map((level) => roles[level]),
          );
        if (what === "nick") guild.setNick(person, nick);
        if (what === "leave") guild.kick(person);
      };
      const outage = fc.constantFrom("dropSockets", "invalidateSessions", "reconnect");
      await fc.assert(
        fc.asyncProperty(fc.array(step, { minLength: 1, maxLength: 12 }), outage, fc.nat(), async (steps, kind, place) => {
          clock.pass(3_600_000);
          for (const [index, one] of steps.entries()) {
            if (index === place % steps.length) sandbox.faults[kind]();
            act(one);
            await new Promise((resolve) => setImmediate(resolve));
          }
          for (const person of people) {
            const member = guild.member(person);
            const wanted = levels.filter((level) => member?.roles.includes(roles[level].id) === true).toSorted();
            const isShown = (entry: RosterEntry | null): boolean =>
              entry === null
                ? wanted.length === 0
                : JSON.stringify([entry.heldRoles, entry.inGuild]) === JSON.stringify([wanted, member !== undefined]) &&
                  (member === undefined || entry.nickname === (member.nick ?? person.global_name ?? person.username));
            await until(() => entryOf(world, person), isShown, outageMs);
            const lines = (await linesOf(world, person)).filter(({ event }) => event.startsWith("role_"));
            for (const [index, { before, after }] of lines.entries()) {
              expect(before).not.toEqual(after);
              if (index > 0) expect(before).toEqual(lines[index - 1]?.after);
            }
          }
        }),
        { numRuns: followRuns, endOnFailure: true },
      );
    },
    followRuns * outageMs,
  );
});

test("where the bot is taken out of a server that staff roles stand in nobody has left: nothing is concluded until it is back, or the roles are not", async () => {
  const world = await createWorld({ env: alone, furtherGuilds: ["Annex"] });
  const [annex] = world.furtherGuilds;
  if (annex === undefined) throw new Error("there is no second guild");
  const docker = annex.createRole("Docker");
  const role = { name: "docker", rank: 20, level: "viewer" as const, discord: [{ guild_id: annex.id, role_id: docker.id }] };
  await world.sandbox.waitFor(() => world.app.guildState.role(annex.id, docker.id) !== undefined);
  await world.app.staff.roles.put(job(), "docker", role);
  const [ann, ben] = [annex.addMembers(1, { roles: [docker] })[0], world.member()];
  if (ann === undefined) throw new Error("nobody");
  const follow = followIn(world);
  follow.start();
  await until(
    () => entryOf(world, ann),
    (entry) => entry?.staffRole === "docker",
  );
  annex.removeBot();
  await world.sandbox.waitFor(() => world.app.guildState.guilds().some(({ id, present }) => id === annex.id && !present));
  world.guild.setRoles(ben, [world.roles.viewer]);
  await world.sandbox.waitFor(() => world.app.access.of(ben.id).held.length > 0);
  await follow.catchUp(job());
  expect(await eventsOf(world, ann)).toEqual(["hired"]);
  expect(await entryOf(world, ann)).toMatchObject({ staffRole: "docker", heldRoles: ["docker"], inGuild: true });
  expect(await entryOf(world, ben)).toBeNull();
  expect(await follow.status(job())).toMatchObject({ stale: true });
  const owner = await world.staff("owner");
  const asked = { discord_user_id: ann.id, direction: "from_discord" };
  expect((await world.post("/roster/sync-member", asked, { actor: owner })).body.code).toBe("roster_stale");

  await world.app.staff.roles.put(job(), "docker", { ...role, discord: [] });
  await until(
    async () => [await follow.catchUp(job()), await entryOf(world, ben)] as const,
    ([, entry]) => entry !== null,
  );
  expect(await entryOf(world, ann)).toMatchObject({ staffRole: null, heldRoles: [], inGuild: false });
});
