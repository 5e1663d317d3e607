import { expect, test } from "vitest";
import { brief, createPeopleGround, guilds, roles, type PeopleGround } from "./people-ground.ts";
import { freshId } from "./workflows-ground.ts";

const reason = "A secret of the staff, for nobody else.";
const [one, two] = guilds;

/** What is left for the bot by one request, without the names that keep it from being done twice. */
async function left(ground: PeopleGround, requestId: string) {
  const rows = await ground.database.read.workflowEffect.findMany({ where: { requestId, status: "pending" }, orderBy: { place: "asc" } });
  const found = rows.flatMap(({ key, input }) =>
    ["notice.requester", "notice.trial_review"].includes(key) ? [] : [{ key, ...(input as { discord: { id: string }; amends?: string }) }],
  );
  const ids = found.map(({ discord }) => discord.id);
  expect(new Set(ids).size).toBe(ids.length);
  return found.map(({ key, discord: { id: _id, ...action }, amends }) => ({
    key,
    ...action,
    ...(amends !== undefined && { amends }),
  })) as Record<string, string>[];
}

async function punish(ground: PeopleGround, userId: string, more: object, decision: object = {}) {
  const { id, reference } = await ground.file("punishment", { user_id: userId, action: "warning", reason, ...more });
  const { effects } = await ground.approve("punishment", reference, decision);
  return { id, reference, effects, left: await left(ground, id) };
}

test("A demotion gives the roles of the lower staff role and takes those of the others, and no further ones", async () => {
  const ground = await createPeopleGround();
  const user = ground.person(guilds, ["moderator", "helper"]);
  const done = await punish(ground, user, { action: "demotion", demote_to: "helper", notify_subject: false });
  const common = { userId: user, reason: done.reference };
  expect(done.left).toEqual([
    ...roles.moderator.map((role) => ({ key: "discord.roles_remove", kind: "role_remove", ...role, ...common })),
    { key: "discord.roles_add", kind: "role_add", ...roles.helper[0], ...common },
  ]);
});

test("A termination takes every role of the staff; one for whom no role stands is left alone", async () => {
  const ground = await createPeopleGround();
  const user = ground.person([one], ["moderator", "helper"]);
  const done = await punish(ground, user, { action: "termination", notify_subject: false });
  expect(done.left.map(({ kind, roleId }) => [kind, roleId])).toEqual([
    ["role_remove", roles.moderator[0].roleId],
    ["role_remove", roles.helper[0].roleId],
  ]);
  const other = await punish(ground, ground.person([one]), { action: "termination", notify_subject: false });
  expect(other.left).toEqual([]);
  expect(brief(other.effects)).toContain("discord.roles_remove: skipped");
});

test("A recruitment gives roles only where the person is a member, and none for a staff role nobody made", async () => {
  const ground = await createPeopleGround();
  const recruit = async (position: string) => {
    const { id, reference } = await ground.file("recruitment", { user_id: ground.person([two]), position });
    const { effects } = await ground.approve("recruitment", reference);
    return { effects, left: await left(ground, id) };
  };
  const moderator = await recruit("moderator");
  expect(moderator.left.map(({ kind, guildId }) => [kind, guildId])).toEqual([
    ["role_add", two],
    ["message_user", undefined],
  ]);
  for (const position of ["helper", "nobody-made-this"]) {
    const { effects, left: waiting } = await recruit(position);
    expect(brief(effects)).toContain("discord.roles_add: skipped");
    expect(waiting.map(({ kind }) => kind)).toEqual(["message_user"]);
  }
});

test("A timeout lasts as long as the punishment, and never longer than Discord takes", async () => {
  const ground = await createPeopleGround();
  const lengths = [
    ["P3D", 3],
    ["P90D", 28],
    [undefined, 28],
  ] as const;
  for (const [duration, days] of lengths) {
    const now = ground.services.clock.now().getTime();
    const done = await punish(ground, ground.person([one]), {
      discord: { action: "timeout", guild_ids: [one] },
      notify_subject: false,
      ...(duration !== undefined && { duration }),
    });
    const [timeout] = done.left;
    expect(timeout).toMatchObject({ key: "discord.punish", kind: "timeout", guildId: one });
    const seconds = (Date.parse(timeout?.["until"] ?? "") - now) / 1000;
    expect(Math.abs(seconds - days * 86_400)).toBeLessThan(60);
  }
});

test("A kick and a ban reach the servers that are named, or every one of ours, and no other server", async () => {
  const ground = await createPeopleGround();
  for (const action of ["kick", "ban"]) {
    const everywhere = await punish(ground, ground.person(guilds), { discord: { action, everywhere: true }, notify_subject: false });
    expect(everywhere.left.map(({ kind, guildId }) => [kind, guildId])).toEqual([
      [action, one],
      [action, two],
    ]);
    const named = await punish(ground, ground.person(guilds), {
      discord: { action, guild_ids: [two] },
      notify_subject: false,
    });
    expect(named.left.map(({ guildId }) => guildId)).toEqual([two]);
  }
  // A server that is named, and that the bot has left.
  const { guildState } = ground.services;
  const all = guildState.guilds();
  Object.assign(guildState, { guilds: () => all.map((guild) => ({ ...guild, present: guild.id !== two })) });
  const elsewhere = await punish(ground, ground.person(guilds), {
    discord: { action: "ban", guild_ids: [one, two] },
    notify_subject: false,
  });
  expect(elsewhere.left.map(({ guildId }) => guildId)).toEqual([one]);
  expect(elsewhere.effects.at(-2)).toMatchObject({
    status: "skipped",
    target: { kind: "server", id: two },
    detail: `The bot is not in ${two}.`,
  });
});

test("Taking the roles takes each mapped role once, in the servers that are named", async () => {
  const ground = await createPeopleGround();
  const user = ground.person(guilds, ["moderator", "helper"]);
  const named = await punish(ground, user, { discord: { action: "role_remove", guild_ids: [two] }, notify_subject: false });
  expect(named.left.map(({ roleId }) => roleId)).toEqual([roles.moderator[1].roleId]);
  const both = await punish(ground, ground.person(guilds, ["moderator"]), {
    action: "termination",
    discord: { action: "role_remove", everywhere: true },
    notify_subject: false,
  });
  expect(both.left.map(({ key, roleId }) => [key, roleId])).toEqual(roles.moderator.map(({ roleId }) => ["discord.roles_remove", roleId]));
});

test("What is done in Discord can be switched off in the decision, and the subject is told before the bot removes them", async () => {
  const ground = await createPeopleGround();
  const more = { discord: { action: "ban", guild_ids: [one] } };
  const both = await punish(ground, ground.person([one]), more);
  expect(both.left.map(({ kind }) => kind)).toEqual(["message_user", "ban"]);
  const off = await punish(ground, ground.person([one]), more, { effects: { "discord.punish": false, "notice.subject": false } });
  expect(off.left).toEqual([]);
  const { reference } = await ground.file("recruitment", { user_id: ground.person([one]), position: "moderator" });
  const refused = await ground.decide(
    "recruitment",
    reference,
    { decision: "approve", effects: { "discord.roles_add": false } },
    ground.decider,
  );
  expect(refused.status).toBe(422);
});

test("The subject is told what was decided, why, how long and how to appeal, and nothing that is the staff's own", async () => {
  const ground = await createPeopleGround();
  const user = ground.person([one]);
  const decision = { reason: "Two warnings were ignored.", reason_internal: "The third report was by a friend." };
  const done = await punish(ground, user, { action: "suspension", duration: "P7D", appeal_until: "P14D" }, decision);
  const [message] = done.left;
  const community = guilds.map((id) => `**${id}**`).join(" and ");
  expect(message).toMatchObject({ key: "notice.subject", kind: "message_user", userId: user });
  const content = message?.["content"] ?? "";
  expect(content.replaceAll(/<t:\d+:D>/g, "<day>").split("\n")).toEqual([
    `You are suspended from the staff of ${community}: *Two warnings were ignored*. It lasts 7 days, until <day>.`,
    `You can appeal until <day>: write to somebody on the staff of ${community} and name the reference below.`,
    `Reference \`${done.reference}\``,
  ]);
  const now = ground.services.clock.now().getTime();
  const days = [...content.matchAll(/<t:(\d+):D>/g)].map(([, at]) => Math.round((Number(at) * 1000 - now) / 86_400_000));
  expect(days).toEqual([7, 14]);
  expect(message?.["amends"]).toBe(
    `${community} took back this decision about you: suspension. It no longer counts.\nReference \`${done.reference}\``,
  );
  const everything = JSON.stringify(done.left);
  for (const secret of [reason, "friend", ground.requester, ground.decider]) expect(everything).not.toContain(secret);
});

test("A note and a referral are the staff's own matter, and notify_subject false leaves no such effect", async () => {
  const ground = await createPeopleGround();
  for (const action of ["note", "blacklist_referral"]) {
    const done = await punish(ground, ground.person([one]), { action });
    expect(done.left).toEqual([]);
    expect(brief(done.effects)).toContain("notice.subject: skipped");
  }
  const quiet = await punish(ground, ground.person([one]), { notify_subject: false });
  expect(brief(quiet.effects).some((effect) => effect.startsWith("notice.subject"))).toBe(false);
});

test("The owner of a poaching server is warned when the register names them, without anybody's name", async () => {
  const ground = await createPeopleGround();
  const [server, owner, offender] = [freshId(), freshId(), freshId()];
  const report = async (serverId: string) => {
    const body = {
      kind: "report",
      offending_server_id: serverId,
      victim_server_id: one,
      offender_user_ids: [offender],
      occurred_at: "2026-11-20T10:00:00.000Z",
      reason,
    };
    const { id, reference } = await ground.file("poach", body);
    const { effects } = await ground.approve("poach", reference);
    return { reference, effects, left: (await left(ground, id)).filter(({ key }) => key === "notice.owner") };
  };
  const unknown = await report(freshId());
  expect(unknown.left).toEqual([]);
  expect(brief(unknown.effects)).toContain("notice.owner: skipped");
  await ground.write((db, now) =>
    db.server.create({
      data: { id: server, hash: server, status: "known", ownerUserId: owner, contacts: [], tags: [], createdAt: now, updatedAt: now },
    }),
  );
  const known = await report(server);
  expect(known.left).toMatchObject([{ kind: "message_user", userId: owner }]);
  expect(known.left[0]?.["content"]).toContain(known.reference);
  for (const secret of [offender, reason, ground.decider, ground.requester]) expect(JSON.stringify(known.left)).not.toContain(secret);
});

test("Whoever joins is welcomed with their role, their trial and their callsign", async () => {
  const ground = await createPeopleGround();
  await ground.addPool();
  const user = ground.person([one]);
  const { id, reference } = await ground.file("recruitment", {
    user_id: user,
    position: "moderator",
    trial_days: 14,
    callsign: { pool: "main" },
  });
  await ground.approve("recruitment", reference);
  const message = (await left(ground, id)).find(({ key }) => key === "notice.welcome");
  const community = guilds.map((id) => `**${id}**`).join(" and ");
  const named = `Reference \`${reference}\``;
  expect(message).toMatchObject({ userId: user, amends: `${community} took back your acceptance into the staff.\n${named}` });
  expect(message?.["content"]?.replace(/<t:\d+:D>/, "<day>").split("\n")).toEqual([
    `Welcome to the staff of ${community}: you were accepted as The moderators: *It was looked into*.`,
    "Your trial lasts 14 days, until <day>.",
    "Your callsign is `M-001`.",
    `Type \`/help\` in ${community} to see what you can do there.`,
    named,
  ]);
});

test("A reversal calls off what the bot has not done yet, and takes back what it did", async () => {
  const ground = await createPeopleGround();
  const user = ground.person(guilds, ["moderator"]);
  const done = await punish(ground, user, { action: "termination" });
  const delivered = { requestId: done.id, key: { in: ["discord.roles_remove", "notice.subject"] } };
  const rows = await ground.database.read.workflowEffect.findMany({ where: delivered, orderBy: { place: "asc" } });
  expect(rows.map(({ key }) => key)).toEqual(["discord.roles_remove", "discord.roles_remove", "notice.subject"]);
  // The bot did the first and the last; the second still waits.
  for (const place of [rows[0]?.place, rows[2]?.place])
    await ground.write((db) =>
      db.workflowEffect.updateMany({
        where: { requestId: done.id, place: place ?? 0 },
        data: { status: "done", dueAt: null, undo: { changed: true } },
      }),
    );
  await ground.reverse("punishment", done.reference);
  expect(await left(ground, done.id)).toMatchObject([
    {
      kind: "message_user",
      userId: user,
      content: [
        `${guilds.map((id) => `**${id}**`).join(" and ")} took back this decision about you: dismissal. It no longer counts.`,
        "> It was a mistake after all.",
        `Reference \`${done.reference}\``,
      ].join("\n"),
    },
    { kind: "role_add", ...roles.moderator[0] },
  ]);
});
