import { describe, expect, test } from "vitest";
import { staffAtConsole } from "../contract/world.ts";
import type { GuildHandle, Role, User } from "../../sandbox/index.ts";
import { systemCall } from "../../src/kernel/call.ts";
import { uuid7 } from "../../src/kernel/ids.ts";
import { createWorld, type World, type WorldOptions } from "../support/world.ts";
import { acted, link, openCase } from "./cases-actions.setup.ts";
import { community, isBanned, within } from "./stances-community.ts";

const reason = "Led the raid of last night.";
const job = () => systemCall("job", uuid7());

/** Two servers, with people whom the operator trusts with more than their level. */
async function ground(options: WorldOptions = {}) {
  const world = await createWorld({ furtherGuilds: ["Bay"], ...options });
  const [harbour, bay] = [world.guild, world.furtherGuilds[0] as GuildHandle];
  const owner = await staffAtConsole(world, "owner");
  const entry = async (user: User, key: string, effect: "allow" | "deny", guild?: GuildHandle) => {
    const overrides = [{ key, effect, reason, ...(guild !== undefined && { scope: guild.id }) }];
    const answer = await world.patch(`/permissions/users/${user.id}`, { overrides }, { actor: owner });
    expect(answer.status, JSON.stringify(answer.body)).toBe(200);
  };
  const file = async (kind: string, body: object, actor: User): Promise<string> => {
    const filed = await world.post(`/workflows/${kind}`, { reason, ...body }, { actor });
    expect(filed.status, JSON.stringify(filed.body)).toBe(201);
    return filed.body.reference;
  };
  const decide = (kind: string, reference: string, actor: User, body: object = {}) =>
    world.post(`/workflows/${kind}/${reference}/decision`, { decision: "approve", reason, ...body }, { actor });
  const deliver = () => world.app.deliveries.deliverDue(job());
  return { world, harbour, bay, owner, entry, file, decide, deliver };
}

/** Another account of somebody on the staff, as a confirmed link has it. */
async function another(world: World, person: User, by: User): Promise<User> {
  const alt = world.sandbox.createUser("another account");
  world.guild.addMember(alt);
  await link(world, by, person.id, alt.id);
  return alt;
}

const refused = ({ status, body }: { status: number; body: any }) => [status, body.code];

describe("A10: a permission that is denied in a server counts for whatever acts there", () => {
  test("trying a failed action again", async () => {
    const { world, harbour, bay, owner, entry, file, decide, deliver } = await ground();
    const user = world.member();
    for (const guild of [harbour, bay]) {
      // The bot's own role is below this one.
      const boss = guild.createRole("boss", { position: 300 });
      if (guild !== harbour) guild.addMember(user);
      guild.setRoles(user, [boss]);
    }
    const [requester, other] = [await world.staff("admin"), await world.staff("admin")];
    const discord = { action: "kick", guild_ids: [bay.id, harbour.id] };
    const reference = await file("punishment", { user_id: user.id, action: "strike", discord }, requester);
    await decide("punishment", reference, owner, { override: true });
    await deliver();
    const path = `/workflows/punishment/${reference}`;
    const { effects } = (await world.get(path, { actor: owner })).body.data;
    const placeIn = (guild: GuildHandle): number =>
      effects.findIndex((one: any) => one.key === "discord.punish" && one.target.id === guild.id) + 1;
    expect(effects[placeIn(bay) - 1].status).toBe("failed");
    await entry(other, "workflows.punishment.decide", "deny", bay);
    const retry = (guild: GuildHandle, actor: User) => world.post(`${path}/effects/${placeIn(guild).toString()}/retry`, {}, { actor });
    expect(refused(await retry(bay, other))).toEqual([403, "permission_denied"]);
    expect((await retry(harbour, other)).status).toBe(200);
    expect((await retry(bay, requester)).status).toBe(200);
  });

  test("taking back one's own act", async () => {
    const { world, harbour, bay, owner, entry } = await ground();
    const mod = await staffAtConsole(world, "moderator");
    const warned: string[] = [];
    for (const { id } of [harbour, bay]) {
      expect((await world.put(`/guilds/${id}/direct`, { warning: { level: "moderator" } }, { actor: owner })).status).toBe(200);
      const done = await world.post(`/guilds/${id}/moderation`, { user_id: world.member().id, action: "warning", reason }, { actor: mod });
      expect(done.body).toMatchObject({ direct: true });
      warned.push(done.body.reference);
    }
    await entry(mod, "workflows.punishment.create", "deny", bay);
    const undo = (reference: string | undefined) => world.post(`/workflows/punishment/${reference ?? ""}/undo`, {}, { actor: mod });
    expect(refused(await undo(warned[1]))).toEqual([403, "permission_denied"]);
    expect((await undo(warned[0])).body).toMatchObject({ undone: true });
  });

  test("amending a request into a further server, and filing a suggested one for it", async () => {
    const { world, harbour, bay, entry, file } = await ground();
    const [requester, editor, senior] = [await world.staff("admin"), await world.staff("admin"), await world.staff("senior")];
    const discord = { action: "kick", guild_ids: [harbour.id] };
    const reference = await file("punishment", { user_id: world.member().id, action: "strike", discord }, requester);
    await entry(requester, "workflows.punishment.create", "deny", bay);
    await entry(editor, "workflows.edit_any", "deny", bay);
    await entry(senior, "workflows.punishment.create", "deny", bay);
    const path = `/workflows/punishment/${reference}`;
    const wider = (guilds: readonly GuildHandle[]) => ({ discord: { action: "kick", guild_ids: guilds.map(({ id }) => id) } });
    const payload = wider([harbour, bay]);
    for (const actor of [requester, editor]) {
      expect(refused(await world.patch(path, { payload }, { actor }))).toEqual([403, "permission_denied"]);
      expect(refused(await world.post(`${path}/decision`, { decision: "amend", payload, reason }, { actor }))).toEqual([
        403,
        "permission_denied",
      ]);
      const tried = await world.post(`${path}/decision?dry_run=true`, { decision: "amend", payload, reason }, { actor });
      expect(tried.body.blockers).toMatchObject([{ code: "permission_denied" }]);
    }
    expect((await world.get(path, { actor: editor })).body.data.payload.discord.guild_ids).toEqual([harbour.id]);
    const colleague = await world.staff("admin");
    expect((await world.patch(path, { payload }, { actor: colleague })).status).toBe(200);
    // What acts there already may be changed otherwise.
    expect((await world.patch(path, { payload: { points: 1 } }, { actor: requester })).status).toBe(200);

    const userId = world.member().id;
    const { id } = await openCase(world, senior, { about: [userId] });
    await acted(world, senior, id, { points: 3 });
    const [draft] = (await world.get(`/workflows/drafts?subject=${userId}`, { actor: senior })).body.data;
    const fileIt = (guild: GuildHandle) =>
      world.post(`/workflows/drafts/${draft.id as string}/file`, { payload: wider([guild]) }, { actor: senior });
    expect(refused(await fileIt(bay))).toEqual([403, "permission_denied"]);
    expect((await fileIt(harbour)).status).toBe(201);
  });

  test("a ruling on an appeal against what was done there", async () => {
    const { world, harbour, bay, owner, entry, file, decide, deliver } = await ground();
    const [requester, admin] = [await world.staff("admin"), await world.staff("admin")];
    await entry(admin, "workflows.appeal.decide", "deny", bay);
    for (const guild of [bay, harbour]) {
      const user = world.member();
      if (guild === bay) bay.addMember(user);
      const discord = { action: "ban", guild_ids: [guild.id] };
      const ban = await file("punishment", { user_id: user.id, action: "strike", discord }, requester);
      expect((await decide("punishment", ban, owner)).status).toBe(200);
      await deliver();
      expect(isBanned(guild, user)).toBe(true);
      const strike = await world.app.database.read.caseAction.findFirstOrThrow({ where: { userId: user.id } });
      for (const [target, ruling] of [
        [strike.id, { desired_outcome: "reduce" }],
        [ban, { desired_outcome: "overturn" }],
      ] as const) {
        const appeal = await file("appeal", { target_reference: target, grounds: reason, ...ruling }, await world.staff("moderator"));
        const body = ruling.desired_outcome === "reduce" ? { decision: "reduce", new_duration: "P1D" } : { decision: "overturn" };
        const answer = await decide("appeal", appeal, admin, body);
        if (guild === bay) expect(refused(answer)).toEqual([403, "permission_denied"]);
        else expect(answer.status, JSON.stringify(answer.body)).toBe(200);
        if (guild === bay)
          expect((await world.get(`/workflows/appeal/${appeal}`, { actor: admin })).body.data.allowed_actions).not.toContain("approve");
        if (guild === bay) await world.post(`/workflows/appeal/${appeal}/decision`, { decision: "void", reason }, { actor: owner });
      }
      await deliver();
      expect(isBanned(guild, user)).toBe(guild === bay);
    }
  });

  test("bringing Discord in line with the roster", async () => {
    const { world, harbour, bay, owner, entry } = await ground();
    const roles = [harbour, bay].map((guild) => ({ guild, role: guild.createRole("helper") }));
    await world.sandbox.waitFor(() => roles.every(({ guild, role }) => world.app.guildState.role(guild.id, role.id) !== undefined));
    const discord = roles.map(({ guild, role }) => ({ guild_id: guild.id, role_id: role.id }));
    const put = await world.put("/staffroles/helper", { name: "Helper", rank: 5, level: "viewer", discord }, { actor: owner });
    expect(put.status, JSON.stringify(put.body)).toBe(200);
    const [admin, friend] = [await world.staff("admin"), world.member()];
    bay.addMember(friend);
    expect(
      (await world.post("/roster", { user_id: friend.id, staff_role: "helper", trial_days: 0, reason }, { actor: admin })).status,
    ).toBe(201);
    await world.app.rosterSync.catchUp(job());
    await world.sandbox.waitFor(() => world.app.guildState.members(friend.id).length === 2);
    await entry(admin, "roster.sync", "deny", bay);
    const sync = { discord_user_id: friend.id, direction: "to_discord", dry_run: false, reason };
    expect(refused(await world.post("/roster/sync-member", sync, { actor: admin }))).toEqual([403, "permission_denied"]);
    const held = () => roles.map(({ guild, role }) => [...(guild.member(friend)?.roles ?? [])].includes(role.id));
    expect(held()).toEqual([false, false]);
    const synced = await world.post("/roster/sync-member", sync, { actor: await world.staff("admin") });
    expect([synced.status, held()], JSON.stringify(synced.body)).toEqual([200, [true, true]]);
  });

  test("setting nicknames by a repair of callsigns, and setting them back", async () => {
    const { world, harbour, bay, entry } = await ground();
    const { database, callsigns, guildState, rosterSync } = world.app;
    const [admin, colleague] = [await world.staff("admin"), await world.staff("admin")];
    const people = [harbour, bay].map((guild) => {
      const user = world.sandbox.createUser("Ada");
      guild.addMember(user);
      guild.setNick(user, "Ada");
      return { guild, user };
    });
    await database.write(job(), async (tx) => {
      const times = { createdAt: tx.now, updatedAt: tx.now };
      const rules = { template: "{dept}-{n:03}", ranges: [[1, 99]], reserved: [], skip: [], rankBands: {} };
      const pool = { key: "north", name: "North", department: "N", nicknameTemplate: "{callsign} | {name}" };
      await tx.db.callsignPool.create({ data: { ...pool, ...rules, ...times } });
      for (const { user } of people) {
        await tx.db.rosterEntry.create({ data: { id: uuid7(), userId: user.id, status: "active", ...times } });
        await callsigns.allocateInTx(tx, { pool: "north", userId: user.id, causeReference: null, permission: "callsigns.allocate" });
      }
    });
    await rosterSync.catchUp(job());
    const known = (nicks: readonly string[]) =>
      world.sandbox.waitFor(() => people.every(({ user }, index) => guildState.members(user.id)[0]?.nick === nicks[index]));
    const nicks = () => people.map(({ guild, user }) => guild.member(user)?.nick);
    await known(["Ada", "Ada"]);
    await entry(admin, "callsigns.repair", "deny", bay);
    const scope = { pool: "north", fix: ["nickname_mismatch"] };
    const repair = async (actor: User) => {
      const planned = await world.post("/callsigns/repair", scope, { actor });
      expect(planned.status, JSON.stringify(planned.body)).toBe(200);
      const { plan_hash, unfixable } = planned.body.data;
      const done = await world.post("/callsigns/repair", { ...scope, dry_run: false, plan_hash }, { actor });
      return { unfixable, token: done.body.data.undo_token as string };
    };
    const { unfixable, token } = await repair(admin);
    expect(unfixable).toMatchObject([{ user_id: people[1]?.user.id, why: "You may not do this in the server of the nickname." }]);
    expect(nicks()).toEqual(["N-001 | Ada", "Ada"]);
    await known(["N-001 | Ada", "Ada"]);
    const undo = (by: User, id: string) => world.post(`/callsigns/repair/${id}/undo`, { reason }, { actor: by });
    expect((await undo(colleague, token)).status).toBe(200);
    await known(["Ada", "Ada"]);
    const both = await repair(colleague);
    expect(nicks()).toEqual(["N-001 | Ada", "N-002 | Ada"]);
    await known(["N-001 | Ada", "N-002 | Ada"]);
    expect((await undo(admin, both.token)).status).toBe(200);
    expect(nicks()).toEqual(["Ada", "N-002 | Ada"]);
  });
});

describe("A9: nobody acts for themselves, by any account of theirs", () => {
  test("those whom a request is about, and those below them, try none of its actions again", async () => {
    const { world, harbour, owner, file, decide, deliver } = await ground();
    const [subject, requester, senior] = [await world.staff("admin"), await world.staff("admin"), await world.staff("senior")];
    const boss = harbour.createRole("boss", { position: 300 });
    harbour.setRoles(subject, [world.roles.admin, boss]);
    const alt = await another(world, subject, owner);
    harbour.setRoles(alt, [world.roles.admin]);
    await world.sandbox.waitFor(() => world.app.access.of(alt.id).isStaff);
    const discord = { action: "timeout", guild_ids: [harbour.id] };
    const reference = await file("punishment", { user_id: subject.id, action: "strike", duration: "P1D", discord }, requester);
    await decide("punishment", reference, owner, { override: true });
    await deliver();
    const path = `/workflows/punishment/${reference}`;
    const { effects } = (await world.get(path, { actor: owner })).body.data;
    const place: number = effects.findIndex((one: any) => one.key === "discord.punish" && one.status === "failed") + 1;
    expect(place).toBeGreaterThan(0);
    const overrides = [{ key: "workflows.punishment.decide", effect: "allow" as const, reason }];
    await world.app.permissions.updateUser(systemCall("cli", uuid7()), senior.id, { overrides });
    const retry = (actor: User) => world.post(`${path}/effects/${place.toString()}/retry`, {}, { actor });
    expect(refused(await retry(subject))).toEqual([403, "conflict_of_interest"]);
    expect(refused(await retry(alt))).toEqual([403, "conflict_of_interest"]);
    expect(refused(await retry(senior))).toEqual([403, "hierarchy_violation"]);
    expect((await retry(owner)).status).toBe(200);
  });

  test("an import puts no other record in the place of one about them", async () => {
    const { world, owner } = await ground();
    const admin = await world.staff("admin");
    const [alt, stranger] = [await another(world, admin, owner), world.member()];
    const record = (user: User, severity: string) => ({
      kind: "user",
      subject_id: user.id,
      category: "raid",
      severity,
      reason_public: reason,
    });
    for (const user of [alt, stranger]) expect((await world.post("/blacklist", record(user, "high"), { actor: owner })).status).toBe(201);
    const overrides = [{ key: "blacklist.import", effect: "allow" as const, reason }];
    await world.app.permissions.updateUser(systemCall("cli", uuid7()), admin.id, { overrides });
    const records = [record(alt, "low"), record(stranger, "low")];
    for (const dryRun of [true, false]) {
      const done = await world.post(`/blacklist/import?mode=replace&dry_run=${dryRun.toString()}`, { records }, { actor: admin });
      expect(done.body.data.results ?? done.body).toMatchObject([
        { outcome: "refused", errors: [{ pointer: "/subject_id", code: "conflict_of_interest" }] },
        { outcome: "replaced" },
      ]);
    }
    const active = await world.app.database.read.blacklistRecord.findMany({ where: { activeKey: { not: null } } });
    expect(Object.fromEntries(active.map((row) => [row.subjectId, row.severity]))).toEqual({ [alt.id]: "high", [stranger.id]: "low" });
  });

  test("nor forgets or changes what a followed list says of them", async () => {
    const { world, bay, owner, stance } = await community();
    const [manager, colleague] = [await world.staff("admin"), await world.staff("admin")];
    const alt = await another(world, manager, owner);
    bay.addMember(alt);
    const list = (await world.post("/lists", { name: "Harbour Watch", kind: "file" }, { actor: manager })).body.data.id as string;
    await stance(bay, { list, category: "any", stance: "apply", action: "ban" });
    const says = (users: readonly User[], actor: User, severity = "high") => {
      const record = ({ id }: User) => ({ kind: "user", subject_id: id, number: `HW-${id}`, category: "raid", severity });
      return world.put(`/lists/${list}/file`, { records: users.map(record) }, { actor });
    };
    const wanted = world.sandbox.createUser("wanted elsewhere");
    expect((await says([alt, wanted], colleague)).status).toBe(200);
    await within(() => isBanned(bay, alt));
    const tries = [
      () => says([wanted], manager),
      () => says([alt, wanted], manager, "low"),
      () => world.patch(`/lists/${list}`, { categories: ["scam"] }, { actor: manager }),
      () => world.post(`/lists/${list}/reset`, {}, { actor: manager }),
      () => world.delete(`/lists/${list}`, undefined, { actor: manager }),
    ];
    for (const attempt of tries) expect(refused(await attempt())).toEqual([403, "conflict_of_interest"]);
    await world.app.lists.worker.catchUp(job());
    expect(isBanned(bay, alt)).toBe(true);
    // What says nothing else of them is theirs to change.
    expect((await says([alt, world.sandbox.createUser("also wanted")], manager)).status).toBe(200);
    expect((await world.patch(`/lists/${list}`, { trust: "low" }, { actor: manager })).status).toBe(200);
    expect((await world.delete(`/lists/${list}`, undefined, { actor: colleague })).status).toBe(200);
    await within(() => !isBanned(bay, alt));
  });

  test("nor puts them on the roster, or gives them what the roster says", async () => {
    const { world, harbour, owner } = await ground();
    const admin = await world.staff("admin");
    const alt = await another(world, admin, owner);
    const entry = { user_id: alt.id, staff_role: "viewer", trial_days: 7, reason };
    expect(refused(await world.post("/roster", entry, { actor: admin }))).toEqual([403, "conflict_of_interest"]);
    expect((await world.post("/roster", entry, { actor: owner })).status).toBe(201);
    expect(refused(await world.patch(`/roster/${alt.id}`, { staff_role: "moderator", reason }, { actor: admin }))).toEqual([
      403,
      "conflict_of_interest",
    ]);
    const sync = { discord_user_id: alt.id, direction: "to_discord", dry_run: false, reason };
    for (const direction of ["to_discord", "from_discord"]) {
      const tried = await world.post("/roster/sync-member", { ...sync, direction }, { actor: admin });
      expect(refused(tried)).toEqual([403, "conflict_of_interest"]);
    }
    const report = await world.post("/roster/sync-member", { discord_user_id: alt.id, direction: "report" }, { actor: admin });
    expect(report.status, JSON.stringify(report.body)).toBe(200);
    await world.app.rosterSync.catchUp(job());
    await world.sandbox.waitFor(() => world.app.guildState.members(alt.id).length > 0);
    const audit = await world.post("/roster/audit", {}, { actor: owner });
    const findings = audit.body.data.findings.filter((one: any) => one.user?.id === alt.id && one.fix !== null).map((one: any) => one.id);
    expect(findings.length).toBeGreaterThan(0);
    const fixed = await world.post("/roster/audit/fixes", { findings, reason }, { actor: admin });
    for (const one of fixed.body.data.results ?? fixed.body.data) expect(one.outcome).toBe("refused");
    expect([...(harbour.member(alt)?.roles ?? [])]).toEqual([]);
    const synced = await world.post("/roster/sync-member", sync, { actor: await world.staff("admin") });
    expect([synced.status, ...(harbour.member(alt)?.roles ?? [])], JSON.stringify(synced.body)).toEqual([200, world.roles.viewer.id]);
  });

  test("nor takes them along when the roster is brought in line with Discord", async () => {
    const { world, owner } = await ground({ env: { ROSTER_FOLLOWS_DISCORD: "false", ROSTER_AUDIT_HOUR: "off" } });
    const [admin, friend] = [await world.staff("admin"), await world.staff("viewer")];
    const alt = await another(world, admin, owner);
    world.guild.setRoles(alt, [world.roles.viewer]);
    await world.sandbox.waitFor(() => world.app.access.of(alt.id).isStaff);
    await world.app.permissions.updateUser(systemCall("cli", uuid7()), admin.id, {
      overrides: [{ key: "roster.apply_fixes", effect: "allow", reason }],
    });
    const plan = await world.post("/roster/sync", {}, { actor: admin });
    expect(plan.status, JSON.stringify(plan.body)).toBe(200);
    const withheld = (user: User) => plan.body.data.plan.find((one: any) => one.user_id === user.id)?.withheld;
    expect([withheld(alt), withheld(friend)]).toEqual([true, false]);
    const body = { dry_run: false, plan_hash: plan.body.data.plan_hash };
    expect((await world.post("/roster/sync", body, { actor: admin })).status).toBe(200);
    const entries = await world.app.database.read.rosterEntry.findMany({ where: { userId: { in: [alt.id, friend.id] } } });
    expect(entries.map(({ userId }) => userId)).toEqual([friend.id]);
  });

  test("nor is the second person who confirms what they asked for", async () => {
    const { world, owner } = await ground({ env: { SECOND_PERSON_FOR_DANGER: "true" } });
    const [admin, friend] = [await world.staff("admin"), await world.staff("viewer")];
    const second = await staffAtConsole(world, "admin");
    const alt = await another(world, admin, owner);
    world.guild.setRoles(alt, [...(world.guild.member(second)?.roles ?? [])].map((id) => ({ id })) as Role[]);
    await world.sandbox.waitFor(() => world.app.access.of(alt.id).isStaff);
    const overrides = [{ key: "staff.suspend", effect: "allow", reason }];
    const asked = await world.patch(`/permissions/users/${friend.id}`, { overrides }, { actor: admin });
    expect(asked.status, JSON.stringify(asked.body)).toBe(202);
    const { code } = asked.body.data ?? asked.body.confirmation_required;
    const holds = () => world.app.access.of(friend.id).decide("staff.suspend").allowed;
    const said = await world.slash(alt, "confirm accept", { code });
    expect(said).toContain("neither the one who asked nor the one it is done to");
    expect(holds()).toBe(false);
    await world.slash(second, "confirm accept", { code });
    expect(holds()).toBe(true);
  });
});
