// @module-tag slow
import { describe, expect, test } from "vitest";
import type { User } from "../../sandbox/index.ts";
import { systemCall } from "../../src/kernel/call.ts";
import { uuid7 } from "../../src/kernel/ids.ts";
import { inWords } from "../../src/kit/say.ts";
import { createWorld } from "../support/world.ts";
import { within } from "./stances-community.ts";

const reason = "They asked for it, and it is their turn.";
const day = 86_400_000;
const job = () => systemCall("job", uuid7());
const operator = () => systemCall("cli", uuid7());

/** A staff role that an admin could give, and time that passes for the service and for Discord. */
async function ground() {
  const time = { ahead: 0 };
  const now = () => Date.now() + time.ahead;
  const world = await createWorld({ clock: { now: () => new Date(now()) }, discordNow: now });
  const { app, guild, sandbox } = world;
  const helper = guild.createRole("helper");
  await sandbox.waitFor(() => app.guildState.role(guild.id, helper.id) !== undefined);
  const helpers = { name: "Helper", rank: 20, level: "viewer" as const, discord: [{ guild_id: guild.id, role_id: helper.id }] };
  await app.staff.roles.put(operator(), "helper", helpers);
  await app.permissions.replaceRole(operator(), "helper", { allow: ["clients.manage"], deny: [] });
  const owner = await world.staff("owner");
  const people: User[] = [];
  for (const name of ["requester", "first", "approver"]) {
    const person = await world.staff("admin", name);
    people.push(person);
    const overrides = [{ key: "clients.manage", effect: "allow" as const, reason }];
    await app.permissions.updateUser(operator(), person.id, { overrides });
  }
  const [requester, first, approver] = people as [User, User, User];
  const post = async (path: string, body: object, actor: User) => {
    const answer = await world.post(path, body, { actor });
    expect([200, 201], JSON.stringify(answer.body)).toContain(answer.status);
    return answer.body;
  };
  const file = async (kind: string, body: object): Promise<string> =>
    (await post(`/workflows/${kind}`, { ...body, reason }, requester)).reference;
  const decide = (kind: string, reference: string, actor: User, decision = "approve") =>
    post(`/workflows/${kind}/${reference}/decision`, { decision, reason }, actor);

  return {
    world,
    helper,
    owner,
    requester,
    approver,
    post,
    decide,
    pass: (ms: number) => void (time.ahead += ms),
    deliver: () => app.deliveries.deliverDue(job()),
    rolesOf: (user: User) => [...(guild.member(user)?.roles ?? [])],
    entryOf: (user: User) => app.database.read.rosterEntry.findUnique({ where: { userId: user.id } }),
    /** The effect of a request that has a key, with its place. */
    async effect(kind: string, reference: string, key: string) {
      const { data } = (await world.get(`/workflows/${kind}/${reference}`, { actor: owner })).body;
      const index = data.effects.findIndex((one: { key: string }) => one.key === key);
      return { ...data.effects[index], place: index + 1 };
    },
    events: (type: string) => app.database.read.outboxEvent.findMany({ where: { type } }),
    /** A merger in two days, approved, that makes somebody of the roster a helper. */
    async merger(user: User): Promise<string> {
      await post("/roster", { user_id: user.id, staff_role: "viewer", trial_days: 0, reason }, owner);
      const [source, target] = ["700000000000000011", "700000000000000012"];
      const at = new Date(now() - day).toISOString();
      const reference = await file("server-merge", {
        source_server_id: source,
        target_server_id: target,
        owner_consents: [source, target].map((server_id) => ({ server_id, user_id: owner.id, at })),
        staff_plan: [{ user_id: user.id, to_role: "helper" }],
        effective_at: new Date(now() + 2 * day).toISOString(),
      });
      for (const one of [first, approver]) await decide("server-merge", reference, one);
      return reference;
    },
    /** A recruitment as a helper, approved while the person is away. */
    async recruited(user: User): Promise<string> {
      const reference = await file("recruitment", { user_id: user.id, position: "helper", timezone: "Europe/Berlin", trial_days: 0 });
      await decide("recruitment", reference, approver);
      guild.leave(user);
      await sandbox.waitFor(() => app.guildState.members(user.id).every(({ present }) => !present));
      await app.deliveries.deliverDue(job());
      return reference;
    },
    async comesBack(user: User): Promise<void> {
      guild.addMember(user);
      await sandbox.waitFor(() => app.guildState.members(user.id).some(({ present }) => present));
    },
  };
}

type Ground = Awaited<ReturnType<typeof ground>>;

/** What can happen to the person who approved, or to the role, before it is given. */
const losses: Readonly<Record<string, (ground: Ground) => Promise<unknown>>> = {
  "a permission of the role was taken from": ({ world, approver, owner }) =>
    world.patch(`/permissions/users/${approver.id}`, { overrides: [{ key: "clients.manage", effect: "clear", reason }] }, { actor: owner }),
  "the right to decide was taken from": ({ world, approver, owner }) => {
    const overrides = ["workflows.server-merge.decide", "workflows.recruitment.decide"].map((key) => ({ key, effect: "deny", reason }));
    return world.patch(`/permissions/users/${approver.id}`, { overrides }, { actor: owner });
  },
  "the rank was taken from": async ({ world, approver }) => {
    world.guild.setRoles(approver, [world.roles.viewer]);
    await world.sandbox.waitFor(() => world.app.access.of(approver.id).rank < 20);
  },
  "the staff has lost": async ({ world, approver }) => {
    world.guild.setRoles(approver, []);
    await world.sandbox.waitFor(() => !world.app.access.of(approver.id).isStaff);
  },
  "a suspension holds for": ({ world, approver, owner }) => world.post(`/staff/${approver.id}/suspend`, { reason }, { actor: owner }),
  "the role has more permissions than": ({ world }) =>
    world.app.permissions.replaceRole(operator(), "helper", { allow: ["clients.manage", "users.redact"], deny: [] }),
};

describe("A8: what was decided earlier gives no role that the person who approved could no longer give", () => {
  test.for(Object.entries(losses))("a merger at its date, where %s the person who approved it", async ([, lose]) => {
    const all = await ground();
    const { world, requester, owner, post, pass, deliver, effect, entryOf } = all;
    const friend = world.member();
    const reference = await all.merger(friend);
    await lose(all);
    pass(2 * day + 1000);
    await deliver();
    const detail = "The person who approved it may no longer give the staff roles of the plan.";
    const merger = await effect("server-merge", reference, "server.merge");
    expect(merger).toMatchObject({ status: "failed", last_error: detail });
    // None of it was done.
    expect((await entryOf(friend))?.staffRole).toBe("viewer");
    expect(await world.app.database.read.server.count({ where: { status: "merged" } })).toBe(0);
    // Everybody concerned hears of it.
    await world.sandbox.waitFor(() =>
      world.sandbox.directMessages(requester).some(({ content }) => content.includes(reference) && content.includes(detail)),
    );
    expect(await world.app.database.read.auditEntry.count({ where: { action: "workflow.effect", outcome: "failed" } })).toBe(1);

    // Whoever has it tried again answers for it.
    await post(`/workflows/server-merge/${reference}/effects/${merger.place.toString()}/retry`, {}, owner);
    await deliver();
    expect(await effect("server-merge", reference, "server.merge")).toMatchObject({ status: "done", last_error: null });
    expect((await entryOf(friend))?.staffRole).toBe("helper");
  });

  test("a merger at its date, where nobody lost anything", async () => {
    const { merger, world, pass, deliver, effect, entryOf } = await ground();
    const friend = world.member();
    const reference = await merger(friend);
    pass(2 * day + 1000);
    await deliver();
    expect(await effect("server-merge", reference, "server.merge")).toMatchObject({ status: "done" });
    expect((await entryOf(friend))?.staffRole).toBe("helper");
  });

  test.for(Object.entries(losses))("a recruitment of somebody who returns, where %s the person who approved it", async ([, lose]) => {
    const all = await ground();
    const { world, helper, requester, owner, post, deliver, effect, rolesOf, comesBack, events } = all;
    const friend = await world.staff("viewer");
    const reference = await all.recruited(friend);
    expect(await effect("recruitment", reference, "discord.roles_add")).toMatchObject({ status: "pending" });
    await lose(all);
    await comesBack(friend);
    const detail = "The person who decided it may no longer give this role.";
    await within(async () => (await effect("recruitment", reference, "discord.roles_add")).status !== "pending");
    const role = await effect("recruitment", reference, "discord.roles_add");
    expect(role).toMatchObject({ status: "failed", last_error: detail });
    expect(rolesOf(friend)).toEqual([]);
    await deliver();
    await world.sandbox.waitFor(() =>
      world.sandbox.directMessages(requester).some(({ content }) => content.includes(reference) && content.includes(detail)),
    );
    const failed = (await events("discord_action.failed")).map(({ data }) => inWords(data) as Record<string, unknown>);
    expect(failed.filter(({ action }) => action === "role_add")).toMatchObject([{ reference, error: detail, guild_id: world.guild.id }]);

    await post(`/workflows/recruitment/${reference}/effects/${role.place.toString()}/retry`, {}, owner);
    await deliver();
    expect(await effect("recruitment", reference, "discord.roles_add")).toMatchObject({ status: "done", last_error: null });
    expect(rolesOf(friend)).toEqual([helper.id]);
  });

  test("a role that a reversal gives back comes back, unless it stands for another staff role by then", async () => {
    const { world, helper, owner, post, decide, deliver, rolesOf, comesBack, effect, approver } = await ground();
    const { guild, app, sandbox } = world;
    const outcomes: unknown[] = [];
    for (const isOther of [false, true]) {
      const keeper = sandbox.createUser("keeper");
      guild.addMember(keeper, { roles: [helper] });
      await sandbox.waitFor(() => app.access.of(keeper.id).isStaff);
      const demotion = { user_id: keeper.id, action: "demotion", demote_to: "viewer", reason, notify_subject: false };
      const { reference } = await post("/workflows/punishment", demotion, owner);
      await decide("punishment", reference, await world.staff("owner"));
      await deliver();
      await sandbox.waitFor(() => !rolesOf(keeper).includes(helper.id));
      guild.leave(keeper);
      await sandbox.waitFor(() => app.guildState.members(keeper.id).every(({ present }) => !present));
      await decide("punishment", reference, approver, "reverse");
      await deliver();
      if (isOther) {
        await app.staff.roles.put(operator(), "helper", { name: "Helper", rank: 20, level: "viewer", discord: [] });
        const discord = [{ guild_id: guild.id, role_id: helper.id }];
        await app.staff.roles.put(operator(), "chief", { name: "Chief", rank: 90, level: "admin", discord });
      }
      await comesBack(keeper);
      await within(async () => (await effect("punishment", reference, "discord.roles_remove.undo")).status !== "pending");
      const { status, last_error: error } = await effect("punishment", reference, "discord.roles_remove.undo");
      outcomes.push([status, error, rolesOf(keeper).includes(helper.id)]);
    }
    expect(outcomes).toEqual([
      ["done", null, true],
      ["failed", "The person who decided it may no longer give this role.", false],
    ]);
  });
});
