// @module-tag both
// @module-tag slow
import fc from "fast-check";
import { expect, test } from "vitest";
import { authorize } from "../contract/world.ts";
import { oneOf } from "../contract/fuzz/values.ts";
import { contentIntents, listSomebody } from "../features/evidence-ground.ts";
import { actionsOf, settled } from "../features/native-actions-ground.ts";
import { within } from "../features/stances-community.ts";
import { soonBack } from "../support/pauses.ts";
import { hostileRuns } from "../support/size.ts";
import { createWorld, type World } from "../support/world.ts";
import { maybeSpoiled, spoiled } from "./hostile-values.ts";
import { createWatch, type IsExpected, type Watch } from "./watch.ts";

/** What is said of Discord where it answers with something else: it is asked again later. Broken events are left out, and counted. */
const asksAgain: IsExpected = ({ err, msg = "" }) =>
  [err?.name, err?.type].some((kind) => ["ProblemError", "ZodError", "OAuthRefusal"].includes(kind ?? "")) ||
  msg.includes("an event was not understood");

/** A message of each kind of content that messages have. */
const messageOf = (more: object): object => ({
  type: 0,
  author: { id: "80351110224678912", username: "somebody", bot: false },
  content: "I will raid you",
  timestamp: "2026-11-20T10:00:00.000000+00:00",
  edited_timestamp: null,
  attachments: [],
  embeds: [],
  components: [],
  flags: 0,
  mentions: [],
  ...more,
});
const file = { id: "1", filename: "a.png", size: 10, url: "https://cdn.discordapp.com/attachments/1/2/a.png", content_type: "image/png" };
const embed = {
  type: "rich",
  title: "Title",
  description: "Text",
  url: "https://evil.example",
  color: 1,
  footer: { text: "Foot" },
  author: { name: "By" },
  fields: [{ name: "a", value: "b", inline: true }],
};
const samples = [
  messageOf({ embeds: [embed], edited_timestamp: "2026-11-20T10:00:01.000000+00:00" }),
  messageOf({ sticker_items: [{ id: "5", name: "Wave", format_type: 1 }], attachments: [file] }),
  messageOf({
    poll: {
      question: { text: "Who?" },
      answers: [{ answer_id: 1, poll_media: { text: "Me", emoji: { id: null, name: "😀" } } }],
      expiry: "2026-11-20T10:00:00Z",
      results: { is_finalized: true, answer_counts: [{ id: 1, count: 2 }] },
    },
  }),
  messageOf({
    components: [
      { type: 1, components: [{ type: 2, style: 5, label: "Press", url: "https://evil.example" }] },
      { type: 17, components: [{ type: 10, content: "Text" }] },
    ],
    flags: 1 << 15,
  }),
  messageOf({
    content: "",
    message_reference: { type: 1, message_id: "7", channel_id: "8" },
    message_snapshots: [{ message: messageOf({ embeds: [embed] }) }],
  }),
];

async function createScene(watch: Watch) {
  const world = await createWorld({ env: { LOG_LEVEL: "warn" }, log: watch.log, furtherGuilds: ["Bay"], pauses: { discord: soonBack } });
  const owner = await world.staff("owner");
  const [bay] = world.furtherGuilds as [World["guild"]];
  /** What somebody does by hand in another guild of the community is recorded, whatever this one is told. */
  async function bayGoesOn(): Promise<void> {
    const person = world.sandbox.createUser("somebody");
    bay.addMember(person);
    bay.ban(person);
    await settled(world);
    await within(
      async () => (await actionsOf(world, person, owner)).some(({ action }) => action === "ban"),
      60_000,
      () => actionsOf(world, person, owner),
    );
  }
  return { world, owner, bay, bayGoesOn };
}

/** An entry of the audit log about somebody. */
const entryOf = (world: World) => {
  let last = BigInt(Date.now() - 1_420_070_400_000) << 22n;
  const ids = world.guild.auditLog().map(({ id }) => BigInt(id));
  for (const id of ids) if (id > last) last = id;
  const people = [world.member().id, world.member().id];
  return fc.record(
    {
      id: fc.nat({ max: 1000 }).map((step) => (last += BigInt(step + 1)).toString()),
      action_type: fc.constantFrom(20, 22, 23, 24, 25, 26, 27, 28, 1, 10, 72, 140, 145),
      user_id: oneOf(...people, world.sandbox.bot.id),
      target_id: oneOf(...people),
      reason: fc.option(oneOf("Led the raid.", "x".repeat(512))),
      changes: fc.array(
        fc.record({
          key: oneOf("communication_disabled_until", "$add", "nick"),
          new_value: oneOf("2099-01-01T00:00:00.000Z", "0000-01-01T00:00:00.000Z", "2026-01-01"),
          old_value: fc.jsonValue({ maxDepth: 2 }),
        }),
        { maxLength: 2 },
      ),
      options: fc.record({
        members_removed: oneOf("1", "9999999999"),
        delete_member_days: oneOf("7", "-1"),
        integration_type: oneOf("discord", "\0"),
      }),
    },
    { requiredKeys: ["id", "action_type"] },
  );
};

test(
  "whatever Discord tells of an audit log, what is said of the others of its entries and of other servers is recorded",
  { timeout: 36_000_000 },
  async () => {
    const watch = createWatch(asksAgain);
    const { world, owner, bayGoesOn } = await createScene(watch);
    const { sandbox, guild } = world;
    const entry = entryOf(world);
    const page = maybeSpoiled(
      fc.record({ audit_log_entries: fc.array(maybeSpoiled(entry, 2), { maxLength: 8 }), users: fc.constant([]) }),
      3,
    );
    const events = fc.array(
      fc.tuple(
        oneOf("GUILD_AUDIT_LOG_ENTRY_CREATE", "GUILD_AUDIT_LOG_ENTRY_CREATE", "GUILD_BAN_ADD", "GUILD_BAN_REMOVE"),
        maybeSpoiled(entry, 2),
      ),
      { maxLength: 8 },
    );
    const check = fc.asyncProperty(page, events, async (answer, told) => {
      await watch.beside(world, owner, async () => {
        for (const [t, d] of told)
          sandbox.faults.event(
            t,
            typeof d === "object" && d !== null && !Array.isArray(d)
              ? { guild_id: guild.id, user: { id: (d as { target_id?: unknown }).target_id }, ...d }
              : d,
          );
        const fault = sandbox.faults.rest({ route: `GET /guilds/${guild.id}/audit-logs`, status: 200, body: answer, times: 2 });
        // What only an event told of is looked up in the log.
        const person = world.member();
        guild.ban(person);
        await world.app.runJobs();
        await bayGoesOn();
        fault.clear();
        await settled(world);
        await within(async () => {
          await settled(world);
          return (await actionsOf(world, person, owner)).length > 0;
        });
      });
      expect(watch.check(await world.get(`/users/${owner.id}/native-actions?limit=200`, { actor: owner }), "native actions").status).toBe(
        200,
      );
      expect(watch.found()).toEqual([]);
    });
    await fc.assert(check, { numRuns: hostileRuns(40), endOnFailure: true });
    for (const { userId } of await world.app.database.read.nativeAction.findMany({ distinct: ["userId"], take: 50 }))
      expect(watch.check(await world.get(`/users/${userId}/native-actions?limit=200`, { actor: owner }), "native actions").status).toBe(
        200,
      );
    expect(watch.found()).toEqual([]);
  },
);

test("whatever a message of Discord holds, it becomes evidence or is refused with a reason", { timeout: 36_000_000 }, async () => {
  const watch = createWatch(asksAgain);
  const { world, owner } = await createScene(watch);
  world.sandbox.setPrivilegedIntents(contentIntents);
  const witness = world.member();
  const path = await listSomebody(world, owner);
  const seen = new Map<number, number>();
  const route = `GET /channels/:id/messages/:id`;
  const check = fc.asyncProperty(
    fc.array(spoiled(fc.constantFrom(...samples).map((value) => structuredClone(value))), { minLength: 4, maxLength: 4 }),
    async (all) => {
      await watch.beside(world, owner, async () => {
        for (const one of all) {
          const posted = world.sandbox.as(witness).in(world.guild).post({ content: "I will raid you" });
          const body =
            typeof one === "object" && one !== null && !Array.isArray(one) ? { ...one, id: posted.id, channel_id: posted.channelId } : one;
          world.sandbox.faults.rest({ route, status: 200, body });
          const input = { kind: "message", message: { channel_id: posted.channelId, message_id: posted.id } };
          const { status, body: answered } = watch.check(await world.post(`${path}/evidence`, input, { actor: owner }), "evidence");
          seen.set(status, (seen.get(status) ?? 0) + 1);
          world.sandbox.faults.clear();
          if (status !== 201) continue;
          const shown = watch.check(await world.get(`/evidence/${answered.data.id as string}`, { actor: owner }), "evidence");
          expect(shown.status).toBe(200);
          expect(
            (await world.post(`/evidence/${answered.data.id as string}/redact`, { reason: "Not needed any more." }, { actor: owner }))
              .status,
          ).toBe(200);
        }
      });
      expect(watch.found()).toEqual([]);
    },
  );
  await fc.assert(check, { numRuns: hostileRuns(40), endOnFailure: true });
  console.info("messages:", Object.fromEntries(seen));
  expect([...seen.keys()]).toContain(201);
});

test(
  "whatever Discord answers about members, roles, servers and sign-ins, nothing fails, and what is asked next is answered",
  { timeout: 36_000_000 },
  async () => {
    const watch = createWatch(asksAgain);
    const { world, owner, bayGoesOn } = await createScene(watch);
    const { sandbox, guild } = world;
    const routes = [
      "/guilds/:id",
      "/guilds/:id/members/:id",
      "/guilds/:id/members",
      "/channels/:id",
      "/users/@me",
      "/users/@me/guilds",
      "/users/@me/guilds/:id/member",
      "/applications/@me",
      "/oauth2/@me",
    ];
    const person = { id: "80351110224678912", username: "somebody", global_name: "Some Body", avatar: "a".repeat(32), discriminator: "0" };
    const member = {
      user: person,
      nick: "nick",
      roles: [world.roles.viewer.id],
      joined_at: "2026-01-01T00:00:00.000Z",
      communication_disabled_until: null,
      flags: 0,
    };
    const role = {
      id: guild.id,
      name: "everyone",
      permissions: "0",
      position: 0,
      color: 0,
      hoist: false,
      managed: false,
      mentionable: false,
    };
    const right: unknown[] = [
      person,
      member,
      [member, member],
      { id: guild.id, name: "Harbour", owner_id: person.id, roles: [role], icon: null },
      [{ id: guild.id, name: "Harbour", icon: null, owner: false, permissions: "8" }],
      {
        id: guild.id,
        guild_id: guild.id,
        type: 0,
        name: "general",
        permission_overwrites: [{ id: guild.id, type: 0, allow: "0", deny: "0" }],
      },
      { access_token: "a", token_type: "Bearer", expires_in: 604_800, refresh_token: "b", scope: "identify guilds" },
    ];
    const bodies = spoiled(fc.constantFrom(...right).map((value) => structuredClone(value)));
    const faults = fc.array(fc.tuple(oneOf(...routes), bodies), { minLength: 1, maxLength: 4 });
    const message = sandbox.as(owner).in(guild).post({ content: "hello" });
    const path = await listSomebody(world, owner);

    const check = fc.asyncProperty(faults, fc.option(bodies), async (some, token) => {
      await watch.beside(world, owner, async () => {
        for (const [route, body] of some) sandbox.faults.rest({ route: `GET ${route}`, status: 200, body, times: 2 });
        if (token !== null) sandbox.faults.oauth({ route: "token", status: 200, body: token });
        await authorize(world, world.member(), { by: owner }).catch((error: unknown) => watch.fault(String(error)));
        const input = { kind: "message", message: { channel_id: message.channelId, message_id: message.id } };
        watch.check(await world.post(`${path}/evidence`, input, { actor: owner }), "evidence");
        // A new session reads everything anew, over REST where the gateway does not send it.
        sandbox.faults.invalidateSessions();
        await within(() => world.app.discord.status().state === "ready" && !world.app.guildState.freshness().stale, 120_000);
        await world.app.runJobs();
        sandbox.faults.clear();
        await bayGoesOn();
      });
      expect(watch.found()).toEqual([]);
    });
    await fc.assert(check, { numRuns: hostileRuns(20), endOnFailure: true });
  },
);
