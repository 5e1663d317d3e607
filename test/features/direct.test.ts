import { beforeAll, describe, expect, test } from "vitest";
import { staffAtConsole } from "../contract/world.ts";
import type { User } from "../../sandbox/index.ts";
import { systemCall } from "../../src/kernel/call.ts";
import { uuid7 } from "../../src/kernel/ids.ts";
import { createWorld, type World } from "../support/world.ts";
import { auditOf } from "./review-ground.ts";

const reason = "Raided #general with three accounts.";
const day = 86_400_000;

describe("moderation in one step", () => {
  let offset = 0;
  let world: World;
  let mod: User;
  let admin: User;
  let other: User;
  let owner: User;
  beforeAll(async () => {
    let end = (): Promise<void> => Promise.resolve();
    world = await createWorld({
      furtherGuilds: ["Quay"],
      clock: { now: () => new Date(Date.now() + offset) },
      onEnd: (way) => (end = way),
    });
    mod = await staffAtConsole(world, "moderator");
    admin = await staffAtConsole(world, "admin");
    other = await staffAtConsole(world, "admin");
    owner = await staffAtConsole(world, "owner");
    const rules = {
      warning: { level: "moderator" },
      note: { level: "moderator" },
      timeout: { level: "moderator", max: "P1D" },
      ban: { level: "admin" },
    };
    const put = await world.put(`/guilds/${world.guild.id}/direct`, rules, { actor: owner });
    expect(put.status, JSON.stringify(put.body)).toBe(200);
    return () => end();
  });

  const moderate = (actor: User, body: object, guild = world.guild) => world.post(`/guilds/${guild.id}/moderation`, body, { actor });
  const read = async (reference: string, actor = other) => (await world.get(`/workflows/punishment/${reference}`, { actor })).body.data;
  const isBanned = (user: User) => world.guild.bans().some(({ user: one }) => one.id === user.id);
  const deliver = () => world.app.deliveries.deliverDue(systemCall("job", uuid7()));
  const messagesTo = (user: User) => world.sandbox.directMessages(user).map(({ content }) => content);
  const waitsFor = (check: () => boolean) => world.sandbox.waitFor(check);
  const reverse = (reference: string, actor = other) =>
    world.post(`/workflows/punishment/${reference}/decision`, { decision: "reverse", reason: "It was somebody else." }, { actor });

  test("/ban by somebody whose level the server lets do it: message, ban, case, audit and list for others, in one command", async () => {
    const raider = world.member();
    const said = await world.slash(admin, "ban", { user: raider, reason, duration: "2 weeks" });
    const reference = /PUN-REQ-\d+/.exec(said.replaceAll("\\", ""))?.[0] ?? said;
    expect(said).toContain(`✓ Banned <@${raider.id}> from **Harbour** for 14 days`);
    await waitsFor(() => isBanned(raider));
    // The message is sent first: nobody can be written to once the bot has removed them.
    await deliver();
    const calls = world.sandbox.exchanges.filter(
      ({ method, path }) => (method === "POST" && /channels\/\d+\/messages$/.test(path)) || (method === "PUT" && path.includes(raider.id)),
    );
    expect(calls.slice(-2).map(({ method }) => method)).toEqual(["POST", "PUT"]);
    expect(messagesTo(raider)).toEqual([
      expect.stringMatching(/^\*\*Harbour\*\* banned you: \*Raided .+\*\. It lasts 14 days, until .+\nYou can appeal .+\nReference/),
    ]);
    await deliver();
    const view = await read(reference);
    expect(view).toMatchObject({
      status: "approved",
      direct: true,
      look: { at: null },
      decision: { by: admin.id },
      requester: { id: admin.id },
    });
    const cases = (await world.get(`/cases?subject=${raider.id}`, { actor: other })).body.data;
    const { data: actions } = (await world.get(`/cases/${cases[0].id}/actions`, { actor: other })).body;
    expect(actions).toMatchObject([{ kind: "ban", reason, origin_reference: reference, notice: "delivered" }]);
    expect((await auditOf(world, reference)).map(({ action, via }) => [action, via]).toReversed()).toEqual([
      ["workflow.create", "slash"],
      ["workflow.approve", "slash"],
    ]);
    const waiting = async (actor: User) =>
      (await world.get("/workflows?review_later=true", { actor })).body.data.map((one: { reference: string }) => one.reference);
    expect(await waiting(other)).toContain(reference);

    // Its own author takes it back no more than any other decision; somebody else does, and has looked at it by that.
    expect((await reverse(reference, admin)).body.code).toBe("conflict_of_interest");
    expect((await reverse(reference)).status).toBe(200);
    await waitsFor(() => !isBanned(raider));
    expect(await waiting(other)).not.toContain(reference);
  });

  test("what the server lets nobody or a higher level do is filed, and says why and whom to ask", async () => {
    const [one, two, three, four] = [world.member(), world.member(), world.member(), world.member()];
    const cases: [User, object, User, string][] = [
      [mod, { action: "ban" }, one, "level"],
      [admin, { action: "kick" }, two, "not_set_up"],
      [mod, { action: "timeout", duration: "P2D" }, three, "length"],
      [admin, { action: "ban", duration: null }, four, "approvals"],
    ];
    for (const [actor, body, user, code] of cases) {
      const { status, body: answer } = await moderate(actor, { ...body, user_id: user.id, reason });
      expect([status, answer.status, answer.direct, answer.waits.code]).toEqual([201, "pending", false, code]);
      expect(answer.deciders).toContain(other.id);
      expect(answer.deciders).not.toContain(actor.id);
      expect(await read(answer.reference)).toMatchObject({ direct: false, look: null, effects: [] });
    }
    await deliver();
    expect(
      [one, two, three, four].filter((user) => isBanned(user) || world.guild.member(user) === undefined || messagesTo(user).length > 0),
    ).toEqual([]);
    const said = await world.slash(mod, "kick", { user: world.member(), reason });
    expect(said).toMatch(
      /^Nothing has happened to <@\d+> yet\. .+is waiting for a decision\.\nNobody does this alone in this server\.\nThese people can decide it: <@/,
    );
    // Another server of the community has rules of its own: none yet.
    const [quay] = world.furtherGuilds;
    expect((await moderate(admin, { action: "warning", user_id: one.id, reason }, quay)).body).toMatchObject({ code: "duplicate_open" });
    expect((await moderate(admin, { action: "warning", user_id: world.member().id, reason }, quay)).body.waits.code).toBe("not_set_up");
  });

  test("who may file nothing is refused and told whom to ask, and nothing is written", async () => {
    const viewer = await staffAtConsole(world, "viewer");
    const before = await world.app.database.read.workflowRequest.count();
    expect(await world.slash(viewer, "warn", { user: world.member(), reason })).toMatch(
      /Ask an admin for the permission .+workflows\.punishment\.create/,
    );
    const refused = await moderate(viewer, { action: "warning", user_id: world.member().id, reason });
    expect([refused.status, refused.body.code]).toEqual([403, "permission_denied"]);
    const key = await world.makeKey(["workflows.punishment.create"]);
    const filed = await world.post(
      `/guilds/${world.guild.id}/moderation`,
      { action: "warning", user_id: world.member().id, reason },
      { actor: admin, key },
    );
    expect(filed.body.waits.code).toBe("key");
    expect(await world.app.database.read.workflowRequest.count()).toBe(before + 1);
  });

  test("nobody decides alone about themselves, staff of their rank, or against an entry that denies them", async () => {
    expect((await moderate(admin, { action: "warning", user_id: admin.id, reason })).body.waits.code).toBe("conflict");
    expect((await moderate(admin, { action: "warning", user_id: other.id, reason })).body.waits.code).toBe("rank");
    const linked = world.member();
    const filed = await world.post(
      "/workflows/alt-request",
      {
        user_ids: [mod.id, linked.id],
        confidence: "confirmed",
        basis: [{ type: "admission" }],
        propagate: { blacklist: false, matches: false, cases: false },
        reason,
      },
      { actor: admin },
    );
    const decided = await world.post(`/workflows/alt-request/${filed.body.reference}/decision`, { decision: "approve" }, { actor: owner });
    expect(decided.body.status, JSON.stringify(decided.body)).toBe("approved");
    expect((await moderate(mod, { action: "warning", user_id: linked.id, reason })).body.waits.code).toBe("conflict");
    const denied = await staffAtConsole(world, "admin");
    const entry = [{ key: "workflows.punishment.decide", effect: "deny", reason: "Still in training here." }];
    expect((await world.patch(`/permissions/users/${denied.id}`, { overrides: entry }, { actor: owner })).status).toBeLessThan(300);
    expect((await moderate(denied, { action: "warning", user_id: world.member().id, reason })).body.waits.code).toBe("denied");
  });

  test("a ban with a length is lifted at its end, once; a later reversal does not ban again", async () => {
    const user = world.member();
    const { body } = await moderate(admin, { action: "ban", user_id: user.id, reason, duration: "P7D", notify_subject: false });
    await waitsFor(() => isBanned(user));
    await deliver();
    expect(isBanned(user)).toBe(true);
    offset += 8 * day;
    try {
      await deliver();
      await waitsFor(() => !isBanned(user));
      const { effects } = await read(body.reference);
      expect(effects.map(({ key, status }: { key: string; status: string }) => `${key} ${status}`).slice(-2)).toEqual([
        "discord.punish reversed",
        "discord.ban_end done",
      ]);
      expect((await reverse(body.reference)).status).toBe(200);
      await deliver();
      expect(isBanned(user)).toBe(false);
    } finally {
      offset = 0;
    }
  });

  test("/unban lifts a ban of the bot and one by hand; the first ban asks for nothing any more", async () => {
    const [ours, theirs] = [world.member(), world.member()];
    const { body } = await moderate(admin, { action: "ban", user_id: ours.id, reason, notify_subject: false });
    await waitsFor(() => isBanned(ours));
    await deliver();
    world.guild.ban(theirs);
    for (const user of [ours, theirs]) {
      expect(await world.slash(admin, "unban", { user, reason: "The appeal was heard." })).toContain(`✓ Unbanned <@${user.id}>`);
      await waitsFor(() => !isBanned(user));
    }
    const { effects, status } = await read(body.reference);
    expect([status, effects.find(({ key }: { key: string }) => key === "discord.punish").status]).toEqual(["approved", "reversed"]);
    expect(messagesTo(ours)).toEqual([]);
  });

  test("A11: nobody lifts alone what they could not have set alone, or what several people or a list decided", async () => {
    const { app, guild } = world;
    const rules = (await world.get(`/guilds/${guild.id}/direct`, { actor: owner })).body.data;
    const put = (ban: object) =>
      world.put(`/guilds/${guild.id}/direct`, { warning: rules.warning, note: rules.note, timeout: rules.timeout, ban }, { actor: owner });
    expect((await put({ level: "moderator", max: "P1D" })).status).toBe(200);
    const lift = async (user: User, actor = mod, action = "unban") =>
      (await moderate(actor, { action, user_id: user.id, reason: "The appeal was heard." })).body;
    const ban = async (user: User, duration: string | null, deciders: readonly User[]) => {
      const discord = { action: "ban", guild_ids: [guild.id] };
      const body = { user_id: user.id, action: "ban", duration, reason, discord, notify_subject: false };
      const { body: filed } = await world.post("/workflows/punishment", body, { actor: mod });
      for (const actor of deciders) {
        const decided = await world.post(`/workflows/punishment/${filed.reference}/decision`, { decision: "approve", reason }, { actor });
        expect(decided.status, JSON.stringify(decided.body)).toBe(200);
      }
      await deliver();
      await waitsFor(() => isBanned(user));
    };
    const [permanent, long, byHand, listed, short] = [world.member(), world.member(), world.member(), world.member(), world.member()];
    await ban(permanent, null, [admin, other]);
    expect(await lift(permanent)).toMatchObject({ direct: false, waits: { code: "others" }, effects: [] });
    expect(await lift(permanent, owner)).toMatchObject({ code: "duplicate_open" });
    await ban(long, "P2D", [admin]);
    expect(await lift(long)).toMatchObject({ direct: false, waits: { code: "length" }, effects: [] });
    guild.ban(byHand);
    expect(await lift(byHand)).toMatchObject({ direct: false, waits: { code: "length" }, effects: [] });
    await app.database.write(systemCall("job", uuid7()), async ({ db, now }) => {
      const record = { listId: "own", recordId: uuid7(), recordReference: "BL-000001", standingKey: `${guild.id}:${listed.id}:apply:ban` };
      const row = { guildId: guild.id, userId: listed.id, stance: "apply", action: "ban", state: "done", changed: true };
      await db.listAction.create({ data: { ...row, ...record, joinedAt: now, createdAt: now, updatedAt: now } });
    });
    guild.ban(listed);
    expect(await lift(listed)).toMatchObject({ direct: false, waits: { code: "others" }, effects: [] });
    await deliver();
    expect([permanent, long, byHand, listed].map(isBanned)).toEqual([true, true, true, true]);

    await moderate(mod, { action: "ban", user_id: short.id, reason, duration: "PT12H", notify_subject: false });
    await deliver();
    await waitsFor(() => isBanned(short));
    expect(await lift(short)).toMatchObject({ direct: true, waits: null });
    await deliver();
    await waitsFor(() => !isBanned(short));

    // A timeout of two days takes two people; somebody who may time out for one day lifts it with another one.
    const timedOut = world.member();
    const body = { user_id: timedOut.id, action: "timeout", duration: "P2D", reason, discord: { guild_ids: [guild.id] } };
    const { body: filed } = await world.post("/workflows/punishment", body, { actor: mod });
    await world.post(`/workflows/punishment/${filed.reference}/decision`, { decision: "approve", reason }, { actor: admin });
    await deliver();
    await waitsFor(() => (guild.member(timedOut)?.timeoutUntil ?? 0) > Date.now());
    expect(await lift(timedOut, mod, "untimeout")).toMatchObject({ direct: false, waits: { code: "length" } });
    expect((guild.member(timedOut)?.timeoutUntil ?? 0) > Date.now()).toBe(true);
    expect((await put({ level: "admin" })).status).toBe(200);
  });

  test("/timeout and /untimeout, lengths as people type them, and what is too long", async () => {
    const user = world.member();
    expect(await world.slash(mod, "timeout", { user, reason, duration: "1h30m" })).toContain("for 1 hour 30 minutes");
    const ends = () => world.guild.member(user)?.timeoutUntil ?? 0;
    await waitsFor(() => ends() > Date.now());
    expect(Math.round((ends() - Date.now()) / 60_000)).toBeGreaterThan(85);
    await world.slash(mod, "untimeout", { user, reason: "It was a misunderstanding." });
    await waitsFor(() => !(ends() > Date.now()));
    expect((await moderate(admin, { action: "timeout", user_id: user.id, reason, duration: "P29D" })).body.errors).toMatchObject([
      { pointer: "/duration", code: "too_long" },
    ]);
    expect((await moderate(admin, { action: "kick", user_id: user.id, reason, duration: "P1D" })).body.errors).toMatchObject([
      { pointer: "/duration", code: "not_offered" },
    ]);
    expect((await moderate(admin, { action: "timeout", user_id: user.id, reason })).body.errors).toMatchObject([
      { pointer: "/duration", code: "required" },
    ]);
  });

  test("a reason template stands for its text, and is offered while it is typed", async () => {
    const text = "Advertising in several channels after being asked to stop.";
    const form = await (
      await world.sandbox.as(owner).in(world.guild).runSlashCommand("setup reasons add", { name: "spam" })
    ).submitModal({ text });
    expect((await form.reply()).content).toContain("**spam**");
    const user = world.member();
    const choices = await world.sandbox
      .as(mod)
      .in(world.guild)
      .autocomplete("warn", { focused: "reason", value: "spa", options: { user } });
    expect(choices).toMatchObject([{ name: `spam · ${text}`, value: "spam" }]);
    await world.slash(mod, "warn", { user, reason: "Spam", points: 2 });
    await waitsFor(() => messagesTo(user).length > 0);
    const reader = world.member();
    await moderate(mod, { action: "warning", user_id: reader.id, reason: "spam" });
    await waitsFor(() => messagesTo(reader).length > 0);
    expect(messagesTo(reader)[0]).toMatch(/^\*\*Harbour\*\* warned you: \*Advertising /);
    expect(messagesTo(user)[0]).toContain("*Advertising in several channels after being asked to stop*. This counts 2 points");
    expect(await world.slash(mod, "warn", { user, reason: "spm" })).toContain("Give a reason of 10 characters or more");
    expect(
      (
        await world.put(
          `/guilds/${world.guild.id}/reasons`,
          {
            reasons: [
              { name: "a", text },
              { name: "A", text },
            ],
          },
          { actor: owner },
        )
      ).body.errors,
    ).toMatchObject([{ code: "taken" }]);
  });

  test("what one person decided alone is looked at by somebody else, by the button of the list, and by nobody else's word", async () => {
    const { body } = await moderate(mod, { action: "note", user_id: world.member().id, reason });
    const look = (actor: User) => world.post(`/workflows/punishment/${body.reference}/look`, {}, { actor });
    expect((await look(mod)).body.code).toBe("conflict_of_interest");
    const run = await world.sandbox.as(other).in(world.guild).runSlashCommand("review later list");
    const listed = /PUN-REQ-\d+/.exec(JSON.stringify((await run.reply()).embeds).replaceAll("\\", ""))?.[0] ?? "none";
    const pressed = await run.clickButton(`Reviewed ${listed}`);
    expect((await pressed.reply()).content).toContain("It is off the list");
    expect(await read(listed)).toMatchObject({ look: { due_at: null, by: other.id } });
    expect((await look(other)).body).toMatchObject({ looked_by: other.id });
    expect((await look(admin)).body).toMatchObject({ looked_by: other.id, replayed: true });
    // The refusal is noted a moment later than it is answered.
    const done = (await auditOf(world, body.reference)).filter(({ action }) => action.startsWith("workflow."));
    expect(done.map(({ action }) => action)).toEqual(["workflow.look", "workflow.approve", "workflow.create"]);
    const usual = await world.post("/workflows/punishment", { user_id: world.member().id, action: "warning", reason }, { actor: mod });
    expect((await world.post(`/workflows/punishment/${usual.body.reference as string}/look`, {}, { actor: admin })).body.code).toBe(
      "invalid_transition",
    );
  });

  test("the rules of a server are set by command and over HTTP, by those who may decide themselves", async () => {
    const settings = await staffAtConsole(world, "admin");
    await world.patch(
      `/permissions/users/${settings.id}`,
      {
        overrides: [
          { key: "workflows.punishment.decide", effect: "deny", reason: "Still in training here." },
          { key: "system.settings.manage", effect: "allow", reason: "Sets the server up for us." },
        ],
      },
      { actor: owner },
    );
    const before = (await world.get(`/guilds/${world.guild.id}/direct`, { actor: mod })).body.data;
    expect((await world.put(`/guilds/${world.guild.id}/direct`, { ban: { level: "viewer" } }, { actor: settings })).body.code).toBe(
      "permission_denied",
    );
    expect((await world.put(`/guilds/${world.guild.id}/direct`, { ban: { level: "viewer" } }, { actor: mod })).body.code).toBe(
      "permission_denied",
    );
    expect(
      (await world.put(`/guilds/${world.guild.id}/direct`, { kick: { level: "admin", max: "P1D" } }, { actor: owner })).body.errors,
    ).toMatchObject([{ pointer: "/kick/max" }]);
    expect((await world.get(`/guilds/${world.guild.id}/direct`, { actor: mod })).body.data).toEqual(before);
    const said = await world.slash(owner, "setup direct set", { action: "kick", level: "senior" });
    expect(said).toContain("**kick**: from the level senior on");
    expect((await world.get(`/guilds/${world.guild.id}/direct`, { actor: mod })).body.data).toMatchObject({
      ban: before.ban,
      kick: { level: "senior" },
    });
    expect(await world.slash(owner, "setup direct set", { action: "kick", level: "off" })).toContain("**kick**: nobody");
    expect((await world.get("/guilds/80351110224678912/direct", { actor: owner })).status).toBe(404);
  });
});
