// @module-tag sqlite
// @module-tag slow
import { expect, test } from "vitest";
import { levelOrder, type PermissionKey } from "../../src/kernel/permissions.ts";
import type { Role, User } from "../../sandbox/index.ts";
import { createDice } from "../support/dice.ts";
import { seedOf, sizeOf } from "../support/size.ts";
import { createWorld, type World } from "../support/world.ts";
import { operator } from "./community.ts";

type Dice = ReturnType<typeof createDice>;

/** How many chains of up to seven steps are made, each of which ends when nothing waits any more. */
const chains = sizeOf({ quick: 12, all: 50, long: 20_000 });
/** After so many a fresh community takes over, so that the last chain costs what the first one did. */
const perCommunity = 250;
const seed = seedOf(20_261_128);
const reason = "It is their turn, and they asked for it.";
const day = 86_400_000;

/** What the climbers hold: everything that moves people about, and nothing that says what others may do. */
const climbing: readonly PermissionKey[] = [
  "blacklist.create",
  "blacklist.read",
  "blacklist.update",
  "lists.manage",
  "lists.read",
  "roster.apply_fixes",
  "roster.audit",
  "roster.edit",
  "roster.read",
  "roster.sync",
  "staffroles.manage",
  "staffroles.read",
  "system.settings.manage",
  "workflows.appeal.create",
  "workflows.appeal.decide",
  "workflows.bulk",
  "workflows.edit_any",
  "workflows.punishment.create",
  "workflows.punishment.decide",
  "workflows.punishment.reverse",
  "workflows.read",
  "workflows.recruitment.create",
  "workflows.recruitment.decide",
  "workflows.recruitment.reverse",
  "workflows.server-merge.create",
  "workflows.server-merge.decide",
  "workflows.server-merge.reverse",
];
/** Staff roles: the climbers could grant the first, and none of the others. */
const staffRoles = ["helper", "clerk", "viewer", "moderator", "admin", "owner"] as const;

interface Ground {
  world: World;
  climbers: readonly [User, User, User];
  /** By the key of the staff role that they map to. */
  mapped: ReadonlyMap<string, Role>;
  plain: Role;
  warden: Role;
  /** A list of others that the climbers follow. */
  listId: string;
  now(): number;
  pass(ms: number): void;
  /** What the operator set up is so again. */
  restore(): Promise<void>;
  /** The operator lets the helpers do what the climbers may not. */
  widen(): Promise<void>;
}

/** Three people of the rank 50 and the level senior who work together, and staff roles above and beside them. */
async function createGround(onEnd: (end: () => Promise<void>) => void): Promise<Ground> {
  const time = { ahead: 0 };
  const now = (): number => Date.now() + time.ahead;
  const env = { RATE_LIMITS: "write=1000000/1,read=1000000/1" };
  const world = await createWorld({ onEnd, env, clock: { now: () => new Date(now()) }, discordNow: now });
  const { app, guild, sandbox } = world;
  const everyKey = [...app.permissions.knownPermissions].filter((key) => key !== "system.act");
  const [climber, helper, clerk, plain] = ["climber", "helper", "clerk", "plain"].map((name) => guild.createRole(name)) as [
    Role,
    Role,
    Role,
    Role,
  ];
  const warden = guild.createRole("warden", { permissions: ["BanMembers"] });
  await sandbox.waitFor(() => app.guildState.role(guild.id, warden.id) !== undefined);
  const allow = async (key: string, held: readonly string[]): Promise<void> => {
    await app.permissions.replaceRole(operator(), key, { allow: [...held], deny: everyKey.filter((one) => !held.includes(one)) });
  };
  const put = async (key: string, rank: number, level: "viewer" | "senior", role: Role, held: readonly string[]): Promise<void> => {
    await app.staff.roles.put(operator(), key, { name: key, rank, level, discord: [{ guild_id: guild.id, role_id: role.id }] });
    await allow(key, held);
  };
  await put("climber", 50, "senior", climber, climbing);
  const restore = async (): Promise<void> => {
    await put("helper", 5, "viewer", helper, ["roster.read"]);
    // Far below them, and it holds what they do not.
    await put("clerk", 6, "viewer", clerk, ["clients.manage"]);
  };
  await restore();
  const people = ["first", "second", "third"].map((name) => sandbox.createUser(name)) as [User, User, User];
  for (const user of people) {
    guild.addMember(user, { roles: [climber] });
    await sandbox.waitFor(() => app.access.of(user.id).isStaff);
  }
  const followed = await world.post("/lists", { name: "Harbour Watch", kind: "file" }, { actor: people[0] });
  expect(followed.status, JSON.stringify(followed.body)).toBe(201);
  const mapped = new Map<string, Role>([["helper", helper], ["clerk", clerk], ...Object.entries(world.roles)]);
  return {
    world,
    climbers: people,
    mapped,
    plain,
    warden,
    listId: followed.body.data.id,
    now,
    pass: (ms) => void (time.ahead += ms),
    restore,
    widen: () => allow("helper", ["roster.read", "clients.manage"]),
  };
}

interface Told {
  did: string;
  status: number;
  code: string;
}

/** What the friend has: in Discord, and on the roster. */
interface Standing {
  discord: ReadonlySet<string>;
  roster: string | null;
  isWarden: boolean;
}

async function standingOf({ world: { app, guild }, warden }: Ground, friend: User): Promise<Standing> {
  const held = new Set(guild.member(friend)?.roles ?? []);
  const roles = app.access.roles().filter(({ discord }) => discord.some(({ roleId }) => held.has(roleId)));
  const entry = await app.database.read.rosterEntry.findUnique({ where: { userId: friend.id } });
  return { discord: new Set(roles.map(({ key }) => key)), roster: entry?.staffRole ?? null, isWarden: held.has(warden.id) };
}

/** What the friend got by a step that no climber could have granted. The roster may note what Discord shows. */
function breaches({ world: { app }, climbers }: Ground, before: Standing, after: Standing): string[] {
  const [{ rank, level, decide }] = climbers.map(({ id }) => app.access.of(id)) as [ReturnType<typeof app.access.of>];
  const gained = [...after.discord].filter((key) => !before.discord.has(key)).map((key) => ({ key, where: "in Discord" }));
  const { roster } = after;
  if (roster !== null && roster !== before.roster && !before.discord.has(roster)) gained.push({ key: roster, where: "on the roster" });
  const above = gained.filter(({ key }) => {
    const role = app.access.role(key);
    return (
      role !== undefined &&
      (role.rank >= rank ||
        levelOrder[role.level] > levelOrder[level] ||
        app.permissions.effectivePermissions(role.rules).some((one) => !decide(one).allowed))
    );
  });
  return [
    ...above.map(({ key, where }) => `the staff role ${key} ${where}`),
    ...(after.isWarden && !before.isWarden ? ["the role warden"] : []),
  ];
}

/** One chain: what three people try so that a friend of theirs gets a role. @returns what was said, and what went wrong */
async function playChain(dice: Dice, ground: Ground, friend: User): Promise<{ told: Told[]; problems: string[] }> {
  const { world, climbers, mapped, plain, warden, listId } = ground;
  const { guild, sandbox, app } = world;
  const told: Told[] = [];
  const filed: { kind: string; reference: string }[] = [];
  const findings: string[] = [];
  const role = (): string => dice.pick(dice.below(3) === 0 ? ["helper"] : staffRoles);
  const anyRole = (): Role => dice.pick([plain, plain, plain, warden, ...mapped.values()]);
  let isTouched = false;

  async function send(method: "POST" | "PUT" | "PATCH", path: string, body: object, actor = dice.pick(climbers)): Promise<any> {
    const answer = await world.request(method, path, body, { actor });
    told.push({ did: `${method} ${path} ${JSON.stringify(body)} for ${actor.id}`, status: answer.status, code: answer.body.code ?? "" });
    return answer.status < 300 ? answer.body : undefined;
  }
  const note = (did: string): void => void told.push({ did, status: 0, code: "" });
  /** Often all of them approve it at once. */
  async function file(kind: string, body: object): Promise<void> {
    const answer = await send("POST", `/workflows/${kind}`, { ...body, reason });
    if (answer === undefined) return;
    const { reference } = answer;
    filed.push({ kind, reference });
    const decision = kind === "appeal" ? "overturn" : "approve";
    if (dice.below(3) > 0)
      for (const actor of climbers) await send("POST", `/workflows/${kind}/${reference}/decision`, { decision, reason }, actor);
  }
  /** About a request of the chain, if there is one. */
  const about = async (act: (path: string, reference: string, kind: string) => Promise<unknown>): Promise<void> => {
    if (filed.length === 0) return;
    const { kind, reference } = dice.pick(filed);
    await act(`/workflows/${kind}/${reference}`, reference, kind);
  };
  const decide = (decision: string): Promise<void> => about((path) => send("POST", `${path}/decision`, { decision, reason }));
  const isThere = (): boolean => guild.member(friend) !== undefined;
  const seenThere = (): boolean => app.guildState.standings.of(guild.id)?.member(friend.id) !== null;
  const edit = (key: string, body: object): Promise<unknown> => {
    isTouched = true;
    return send("PATCH", `/staffroles/${key}`, body);
  };
  const merger = async (): Promise<void> => {
    // Of each pair of servers one merger is open.
    const servers = [1n, 2n].map((part) => (BigInt(friend.id) * 4n + part).toString());
    const at = new Date(ground.now() - day).toISOString();
    await file("server-merge", {
      source_server_id: servers[0],
      target_server_id: servers[1],
      owner_consents: servers.map((server_id) => ({ server_id, user_id: climbers[0].id, at })),
      staff_plan: [{ user_id: friend.id, to_role: role() }],
      effective_at: new Date(ground.now() + day).toISOString(),
    });
  };

  async function widen(): Promise<void> {
    isTouched = true;
    await ground.widen();
    note("the operator widens what helpers may do");
  }
  async function moves(isHere: boolean): Promise<void> {
    if (isHere) guild.addMember(friend);
    else guild.leave(friend);
    await sandbox.waitFor(() => seenThere() === isHere);
    note(isHere ? "they come back" : "they leave");
  }
  function passes(): Promise<void> {
    ground.pass(2 * day);
    note("two days pass");
    return Promise.resolve();
  }
  const comesBack = async (): Promise<void> => {
    if (!isThere()) await moves(true);
  };
  /** What decides about that which waits. */
  const later: readonly (() => Promise<void>)[] = [widen, () => moves(!isThere()), passes];

  const recruit = (): Promise<void> => file("recruitment", { user_id: friend.id, position: role(), timezone: "Europe/Berlin" });
  /** What gives something later. */
  const openings: readonly (() => Promise<void>)[] = [
    async () => {
      await send("POST", "/roster", { user_id: friend.id, trial_days: 0, reason });
      await merger();
    },
    async () => {
      await recruit();
      await moves(false);
    },
  ];
  const steps: readonly (() => Promise<unknown>)[] = [
    () => {
      const named = { list: dice.pick(["own", listId]), category: "any", stance: dice.pick(["apply", "apply", "propose"]) };
      return send("PUT", `/guilds/${guild.id}/stance`, { rules: [{ ...named, action: "role", role_id: anyRole().id }] });
    },
    () => send("POST", "/blacklist", { kind: "user", subject_id: friend.id, category: "raid", severity: "low", reason_public: reason }),
    () => {
      const record = { kind: "user", subject_id: friend.id, number: "HW-1", category: "raid", severity: "high" };
      return send("PUT", `/lists/${listId}/file`, { records: dice.pick([[record], []]) });
    },
    () => send("POST", `/guilds/${guild.id}/exemptions`, { user_id: friend.id, reason }),
    recruit,
    () => file("punishment", { user_id: friend.id, action: "demotion", demote_to: role(), notify_subject: false }),
    () => file("punishment", { user_id: friend.id, action: "termination", notify_subject: false }),
    merger,
    () => about((_path, reference) => file("appeal", { target_reference: reference, grounds: reason, desired_outcome: "overturn" })),
    () => decide("approve"),
    () => decide("approve"),
    () => decide("approve"),
    () => decide("approve"),
    () => decide("overturn"),
    () => decide("reverse"),
    async () => {
      const references = filed.map(({ reference }) => reference);
      const decision = dice.pick(["approve", "approve", "reverse"]);
      if (references.length > 0) await send("POST", "/workflows/decisions", { references, decision, reason });
    },
    () =>
      about(async (path, _reference, kind) => {
        const field = { recruitment: "position", punishment: "demote_to" }[kind];
        if (field !== undefined) await send("PATCH", path, { payload: { [field]: role() } });
        if (kind === "server-merge") await send("PATCH", path, { payload: { staff_plan: [{ user_id: friend.id, to_role: role() }] } });
      }),
    () => about((path) => send("POST", `${path}/effects/${(1 + dice.below(8)).toString()}/retry`, {})),
    () => send("POST", "/roster", { user_id: friend.id, staff_role: role(), trial_days: 0, reason }),
    () => send("PATCH", `/roster/${friend.id}`, { staff_role: role(), reason }),
    () =>
      send("POST", "/roster/sync-member", {
        discord_user_id: friend.id,
        direction: "to_discord",
        apply: ["held_roles"],
        dry_run: false,
        reason,
      }),
    () => send("POST", "/roster/sync-member", { discord_user_id: friend.id, direction: "from_discord", dry_run: false, reason }),
    async () => {
      const run = await send("POST", "/roster/audit", {});
      findings.push(...((run?.data.findings ?? []) as { id: string }[]).map(({ id }) => id).slice(0, 20));
    },
    async () => {
      if (findings.length > 0) await send("POST", "/roster/audit/fixes", { findings, reason });
    },
    () => edit(dice.pick(["helper", "clerk", "climber", "viewer"]), { discord: [{ guild_id: guild.id, role_id: anyRole().id }] }),
    () => edit(dice.pick(["helper", "clerk"]), dice.pick([{ rank: 49 }, { rank: 60 }, { level: "senior" }, { level: "admin" }])),
  ];
  let before = await standingOf(ground, friend);
  const problems: string[] = [];
  const opening = dice.below(2) === 0 ? [dice.pick(openings)] : [];
  const chosen = Array.from({ length: 2 + dice.below(5) }, () => () => dice.pick(dice.below(3) === 0 ? later : steps)());
  // In the end everything that waits is done, or never.
  const ends = [...(dice.below(2) === 0 ? [widen] : []), passes, comesBack];
  for (const act of [...opening, ...chosen, ...ends]) {
    if (problems.length > 0) break;
    await act();
    await app.deliveries.deliverDue(operator());
    await app.lists.worker.catchUp(operator());
    const after = await standingOf(ground, friend);
    problems.push(...breaches(ground, before, after));
    before = after;
  }
  if (isTouched) await ground.restore();
  return { told, problems };
}

test(
  `nobody gives a role that they could not grant by ${chains.toString()} chains of up to seven steps (SEED=${seed.toString()})`,
  async () => {
    const dice = createDice(seed);
    const seen = new Map<string, number>();
    let given = 0;
    for (let done = 0; done < chains; done += perCommunity) {
      const ends: (() => Promise<void>)[] = [];
      try {
        const ground = await createGround((end) => ends.push(end));
        for (let number = done; number < Math.min(chains, done + perCommunity); number += 1) {
          const friend = ground.world.sandbox.createUser(`friend ${number.toString()}`);
          const begins = dice.pick([[], [], [ground.mapped.get("helper") as Role], [ground.mapped.get("clerk") as Role]]);
          ground.world.guild.addMember(friend, { roles: begins });
          const { told, problems } = await playChain(dice, ground, friend);
          if (problems.length > 0) {
            const lines = told.map(({ did, status, code }) => `${did} → ${status.toString()} ${code}`);
            throw new Error([`chain ${number.toString()} (SEED=${seed.toString()}): they got ${problems.join(", ")}`, ...lines].join("\n"));
          }
          for (const { status, code } of told)
            seen.set(code === "" ? status.toString() : code, (seen.get(code === "" ? status.toString() : code) ?? 0) + 1);
          const entry = await ground.world.app.database.read.rosterEntry.findUnique({ where: { userId: friend.id } });
          if (entry?.staffRole === "helper" || (begins.length === 0 && ground.world.app.access.of(friend.id).isStaff)) given += 1;
        }
      } finally {
        for (const end of ends) await end();
      }
    }
    // Chains have to run into the rule, and some have to give what may be given.
    expect([[...seen], given > 0]).toEqual([[...seen], true]);
    for (const code of ["cannot_grant_unheld", "hierarchy_violation", "validation_failed"])
      expect([code, (seen.get(code) ?? 0) > 0]).toEqual([code, true]);
  },
  60_000 + chains * 5000,
);
