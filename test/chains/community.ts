import type { Verbs } from "../../src/commands/verbs.ts";
import { systemCall, type Call } from "../../src/kernel/call.ts";
import { requireDone } from "../../src/kernel/held.ts";
import { uuid7 } from "../../src/kernel/ids.ts";
import { catalog } from "../../src/kernel/permissions.ts";
import { workflowKinds } from "../../src/kernel/vocabulary.ts";
import type { Role, User } from "../../sandbox/index.ts";
import { filing } from "../contract/document.ts";
import { createRecords } from "../contract/fuzz/records.ts";
import { createClient } from "../support/client.ts";
import { claimsFor, createPair, jws } from "../support/signer.ts";
import { createWorld, ladder, type Level } from "../support/world.ts";

export const operator = (): Call => systemCall("cli", uuid7());
export const everyPermission: readonly string[] = catalog.map(({ key }) => key);
const reason = "As it was before.";
const without = (held: readonly string[]): string[] => everyPermission.filter((key) => !held.includes(key) && key !== "system.act");

/** What somebody can call with. */
export interface Credential {
  name: string;
  /** The id of the key's record. */
  id: string;
  text: string;
  scopes: readonly string[];
  /** Whom it may name: nobody, anybody by its word or by a signature, or its holder alone, whom an honest client has signed in. */
  names: "nobody" | "anybody" | "holder";
  sign?: (userId: string, method: string, path: string, body: string | undefined) => string;
}

/** What a slash command did. */
export interface Command {
  operation: string;
  params: Readonly<Record<string, string>>;
  isDone: boolean;
}

export type Community = Awaited<ReturnType<typeof createCommunity>>;

/**
 * A community with staff of every rank, one of them suspended, records of every kind, and a staff role `solo` of the rank 50 and the
 * level senior, of which everything is denied but what somebody is to hold.
 * @param onEnd takes the way to end the world
 */
export async function createCommunity(env: Record<string, string>, onEnd: (end: () => Promise<void>) => void) {
  const many = ["read", "write", "authorize", "export", "failed_auth"].map((name) => `${name}=1000000/1`).join(",");
  const commands: Command[] = [];
  const aroundVerbs = (verbs: Verbs): Verbs => ({ ...verbs, run: noting(verbs, commands) });
  // Records are made before grave changes have to wait for anybody.
  const world = await createWorld({ env: { RATE_LIMITS: many, ...env }, onEnd, aroundVerbs });
  const { app, guild, sandbox } = world;
  const records = await createRecords(world);
  for (const kind of workflowKinds) {
    const filed = await world.post(`/workflows/${kind}`, filing(kind), { actor: records.owner });
    records.learn({ status: filed.status, template: `/workflows/${kind}`, path: `/workflows/${kind}` }, filed.body);
  }
  const solo = guild.createRole("solo");
  const console = guild.createRole("console", { permissions: ["Administrator"] });
  const spare = guild.createRole("spare");
  await sandbox.waitFor(() => [solo, console, spare].every(({ id }) => app.guildState.role(guild.id, id) !== undefined));
  const refOf = (role: Role) => ({ guild_id: guild.id, role_id: role.id });
  const roles = [
    ...(Object.keys(ladder) as Level[]).map((level) => ({ name: level, rank: ladder[level], level, discord: [refOf(world.roles[level])] })),
    { name: "solo", rank: 50, level: "senior" as const, discord: [refOf(solo)] },
  ];
  await app.staff.roles.put(operator(), "solo", roles.at(-1)!);
  const suspended = await world.staff("moderator", "suspended");
  const suspend = async (): Promise<void> =>
    void (await app.staff.suspend(operator(), suspended.id, { reason: "Until this is cleared up." }));
  await suspend();
  const [admin = "", senior = "", moderator = "", viewer = ""] = records.actors;
  const people = new Map<string, string>([
    ["owner", records.owner.id],
    ...([
      ["admin", admin],
      ["senior", senior],
      ["moderator", moderator],
      ["viewer", viewer],
    ] as const),
    ["suspended", suspended.id],
    ["member", records.actors.at(-1) ?? ""],
  ]);

  /** Somebody who holds the Discord role `solo`, and sees the commands. */
  async function newcomer(level: Level | "solo" = "solo"): Promise<User> {
    const user = sandbox.createUser(`newcomer ${uuid7()}`);
    guild.addMember(user, { roles: [level === "solo" ? solo : world.roles[level], console] });
    await sandbox.waitFor(() => app.access.of(user.id).isStaff);
    return user;
  }

  /** Staff roles, entries and suspensions as they were. @returns whether it worked */
  async function restore(held: readonly string[]): Promise<void> {
    const known = new Set(roles.map(({ name }) => name));
    for (const { key } of app.access.roles()) if (!known.has(key)) await app.staff.roles.remove(operator(), key);
    // Where two have changed places, both make room first.
    const isMoved = (key: string, now: readonly { roleId: string }[]): boolean =>
      roles.some(
        ({ name, discord }) => name === key && name !== "owner" && discord.some((one) => now.every(({ roleId }) => roleId !== one.role_id)),
      );
    for (const { key, discord } of app.access.roles())
      if (isMoved(key, discord)) await app.staff.roles.patch(operator(), key, { discord: [] });
    for (const role of roles) {
      await app.staff.roles.put(operator(), role.name, role);
      await app.permissions.replaceRole(
        operator(),
        role.name,
        role.name === "solo" ? { allow: [...held], deny: without(held) } : { allow: [], deny: [] },
      );
    }
    const overridden = [...app.access.overridden()];
    for (const id of overridden) {
      await app.permissions.clearUser(operator(), id, { reason });
      const isSuspended = app.access.of(id).overrides.some(({ permission }) => permission === "*");
      if (isSuspended && id !== suspended.id) await app.staff.reinstate(operator(), id, { reason });
      if (!isSuspended && id === suspended.id) await suspend();
    }
    if (![...app.access.overridden()].includes(suspended.id)) await suspend();
  }

  /** A key that the operator made. */
  async function makeKey(scopes: readonly string[], names: Credential["names"], name: string): Promise<Credential> {
    const delegation = names === "nobody" ? "none" : "trusted";
    const { id, key: text } = requireDone(await app.keys.create(operator(), { name, scopes: [...scopes], delegation }));
    return { id, text, scopes, names, name };
  }

  return {
    world,
    records,
    people,
    suspendedId: suspended.id,
    userOf(id: string): User {
      const user = sandbox.inside.world.users.get(id);
      if (user === undefined) throw new Error(`nobody has the id ${id}`);
      return user;
    },
    discord: { solo, console, spare, ...world.roles },
    commands,
    client: createClient(4),
    audience: (await world.get("/health", { key: null })).body.service.instance_id as string,
    newcomer,
    restore,
    makeKey,
  };
}

function noting(verbs: Verbs, commands: Command[]): Verbs["run"] {
  return async (operation, call, given) => {
    const note: Command = { operation, params: given.params ?? {}, isDone: false };
    commands.push(note);
    const result = await verbs.run(operation, call, given);
    note.isDone = true;
    return result;
  };
}

/** A key pair whose private half the holder of a key has. */
export function createSigning(audience: string) {
  const pair = createPair();
  return {
    jwk: pair.jwk,
    signFor: (issuer: string) => (userId: string, method: string, path: string, body: string | undefined) =>
      jws(claimsFor({ issuer, audience, userId, method, path, ...(body !== undefined && { body }) }), pair.privateKey),
  };
}

/** What each decision about a request asks for, by the page about requests; null: the requester's own. */
export const decisionPermissions: Readonly<Record<string, string | null>> = {
  claim: "workflows.claim",
  assign: "workflows.assign",
  unassign: "workflows.assign",
  approve: "workflows.{type}.decide",
  deny: "workflows.{type}.decide",
  request_info: "workflows.review",
  provide_info: "workflows.review",
  escalate: "workflows.review",
  deescalate: "workflows.decide_escalated",
  hold: "workflows.hold",
  release: "workflows.{type}.decide",
  withdraw: null,
  void: "workflows.void",
  reopen: "workflows.reopen",
  reverse: "workflows.{type}.reverse",
  abstain: "workflows.{type}.decide",
  object: "workflows.{type}.decide",
};
