import { describe, expect, test, vi } from "vitest";
import { createCardMessages } from "../../src/discord/rest/cards.ts";
import { systemCall } from "../../src/kernel/call.ts";
import { uuid7 } from "../../src/kernel/ids.ts";
import { staffAtConsole } from "../contract/world.ts";
import type { Message, User } from "../../sandbox/index.ts";
import { createGround, deleting, lacking, told } from "./review-cards-ground.ts";
import { auditOf, filePunishment } from "./review-ground.ts";

describe.concurrent("cards and their channels", () => {
  test("another channel takes what is open at once; what is decided stays where it was decided", async (context) => {
    const { world, author, admin, reviews, cardsIn, choose, decide, shows, until } = await createGround(context);
    const [open, closed] = [await filePunishment(world, author), await filePunishment(world, author)];
    await shows(reviews, open, "pending");
    await shows(reviews, closed, "pending");
    await decide(closed, { decision: "void", reason: "Filed twice." });
    await shows(reviews, closed, '"void"');
    const other = world.guild.createChannel("other");
    await choose({ review: other.id });
    await shows(other, open, "pending");
    await until(() => cardsIn(reviews, open).length === 0);
    expect([cardsIn(reviews, closed).length, cardsIn(other, closed).length]).toEqual([1, 0]);
    const run = await world.sandbox
      .as(admin)
      .in(world.guild)
      .press(cardsIn(other, open)[0] as Message, "Claim");
    await run.reply();
    await shows(other, open, "in review");
    expect(cardsIn(other, open)).toHaveLength(1);
  });

  test("a card that could not be taken away from its former channel acts no second time", async (context) => {
    const { world, author, admin, reviews, cardsIn, choose, shows } = await createGround(context);
    const reference = await filePunishment(world, author);
    await shows(reviews, reference, "pending");
    world.sandbox.faults.rest({ route: deleting, status: 403, body: lacking, times: Infinity });
    const other = world.guild.createChannel("other");
    await choose({ review: other.id });
    await shows(other, reference, "pending");
    const colleague = await staffAtConsole(world, "admin");
    const press = (channel: { id: string }, user: User) =>
      world.sandbox
        .as(user)
        .in(world.guild)
        .press(cardsIn(channel, reference)[0] as Message, "Claim");
    await (await press(other, admin)).reply();
    const said = await (await press(reviews, colleague)).reply();
    expect([said.ephemeral, said.content.includes("was old")]).toEqual([true, true]);
    expect((await auditOf(world, reference)).map(({ action }) => action)).toEqual(["workflow.claim", "workflow.create"]);
  });

  test("where no channel is chosen any more no card is posted, those that stand follow, and the board goes", async (context) => {
    const { world, author, reviews, boardIn, cardsIn, choose, decide, shows, until, messagesIn } = await createGround(context);
    const reference = await filePunishment(world, author);
    await shows(reviews, reference, "pending");
    await until(() => boardIn(reviews) !== undefined);
    await choose({});
    const second = await filePunishment(world, author);
    await decide(reference, { decision: "claim" });
    await shows(reviews, reference, "in review");
    await until(() => boardIn(reviews) === undefined);
    expect([cardsIn(reviews, second).length, messagesIn(reviews).length]).toEqual([0, 1]);
  });

  test("a channel that was deleted is named in the health answer, and the next one takes every card", async (context) => {
    const { world, author, reviews, cardsIn, choose, decide, shows, health } = await createGround(context);
    const reference = await filePunishment(world, author);
    await shows(reviews, reference, "pending");
    expect((await health()).checks.review_cards).toEqual({ status: "pass" });
    world.sandbox.inside.world.channels.delete(reviews.id);
    world.sandbox.inside.world.guilds.get(world.guild.id)?.channels.delete(reviews.id);
    await decide(reference, { decision: "claim" });
    const said = await told(health, "warn");
    expect(said).toEqual({ status: "warn", reason: expect.stringContaining(`channel ${reviews.id}: The channel no longer exists`) });
    const other = world.guild.createChannel("other");
    await choose({ review: other.id });
    await shows(other, reference, "in review");
    expect(cardsIn(other, reference)).toHaveLength(1);
    await told(health, "pass");
  });

  test("without the right to send, requests go on, staff read why, strangers only that, and the cards come with the right", async (context) => {
    const { world, author, reviews, cardsIn, shows, health } = await createGround(context);
    const { botRole } = world.guild;
    if (botRole === undefined) throw new Error("the bot has no role");
    for (const role of [botRole, world.guild.everyoneRole]) world.guild.setRolePermissions(role, []);
    const subject = world.member("a person of note");
    const reference = await filePunishment(world, author, subject);
    const said = await told(health, "warn");
    expect(said.reason).toMatch(/^Discord takes no messages of the bot in channel \d+: I'm missing a permission/);
    for (const hidden of [reference, subject.id, subject.username, "reviews", "Harbour"]) expect(said.reason).not.toContain(hidden);
    const stranger = await health(null);
    expect([stranger.status, stranger.success, stranger.checks.review_cards]).toEqual(["degraded", true, { status: "warn" }]);
    expect((await world.get("/readyz", { key: null })).status).toBe(200);
    world.guild.setRolePermissions(botRole, ["Administrator"]);
    world.app.cards.check();
    await shows(reviews, reference, "pending");
    expect(cardsIn(reviews, reference)).toHaveLength(1);
    await told(health, "pass");
  });

  test("of several servers each takes what was filed in it, and has a board of its own", async (context) => {
    const { world, author, reviews, boardIn, cardsIn, choose, shows, until } = await createGround(context, {
      furtherGuilds: ["Outpost"],
    });
    const [outpost] = world.furtherGuilds;
    if (outpost === undefined) throw new Error("there is no second guild");
    const far = outpost.createChannel("reviews");
    await choose({ review: far.id }, outpost);
    const filedIn = (guild: { id: string }) => ({ origin: { guild_id: guild.id, channel_id: far.id } });
    const here = await filePunishment(world, author, world.member(), filedIn(world.guild));
    const there = await filePunishment(world, author, world.member(), filedIn(outpost));
    await shows(reviews, here, "pending");
    await shows(far, there, "pending");
    await until(() => boardIn(reviews) !== undefined && boardIn(far) !== undefined);
    expect([cardsIn(far, here), cardsIn(reviews, there)]).toEqual([[], []]);
    // Without a channel of its own its requests go where there is one, and come back.
    await choose({}, outpost);
    await shows(reviews, there, "pending");
    await choose({ review: far.id }, outpost);
    await shows(far, there, "pending");
    await until(() => cardsIn(reviews, there).length === 0);
    expect([here, there].map((one) => [cardsIn(reviews, one).length, cardsIn(far, one).length])).toEqual([
      [1, 0],
      [0, 1],
    ]);
  });

  test("a card that stands in a server that is not served any more is taken away there, and nothing more of the request is shown there", async (context) => {
    const { world, author, reviews, messagesIn, shows, until, decide } = await createGround(context);
    const lost = world.sandbox.createGuild({ name: "Lost" });
    const there = lost.createChannel("reviews");
    const [open, closed] = [await filePunishment(world, author, world.member()), await filePunishment(world, author, world.member())];
    for (const reference of [open, closed]) await shows(reviews, reference, "pending");
    // As rows are that were written while the server was served.
    const { database, discord } = world.app;
    const messages = createCardMessages(discord.rest);
    for (const reference of [open, closed]) {
      const posted = await messages.post(there.id, { embeds: [{ title: reference }], components: [] }, reference);
      if (posted.outcome !== "done") throw new Error(posted.outcome);
      const { id } = await database.read.workflowRequest.findUniqueOrThrow({ where: { reference } });
      const place = { guildId: lost.id, channelId: there.id, messageId: posted.messageId };
      await database.write(systemCall("job", uuid7()), ({ db }) => db.reviewCard.update({ where: { requestId: id }, data: place }));
    }
    await decide(closed, { decision: "deny", reason: "Nobody saw it." });
    world.app.cards.check();
    await until(() => messagesIn(there).length === 0);
    const cardOf = async (reference: string) => {
      const { id } = await database.read.workflowRequest.findUniqueOrThrow({ where: { reference } });
      return await database.read.reviewCard.findUnique({ where: { requestId: id } });
    };
    await vi.waitFor(
      async () => expect(await cardOf(open)).toMatchObject({ guildId: world.guild.id, messageId: expect.any(String) }),
      20_000,
    );
    expect(await cardOf(closed)).toBeNull();
    const edits = world.sandbox.exchanges.filter(({ method, path }) => path.includes(there.id) && method === "PATCH");
    expect(edits).toEqual([]);
  });
});
