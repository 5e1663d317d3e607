// @module-tag slow
import { describe, expect, test } from "vitest";
import type { Sandbox } from "../../sandbox/index.ts";
import { createGround, lacking, posting, shortPauses, told } from "./review-cards-ground.ts";
import { filePunishment } from "./review-ground.ts";

describe.concurrent("cards while Discord fails", () => {
  test("while Discord answers with errors a card is due, then it comes, once, as the request is by then", async (context) => {
    const { world, author, reviews, cardsIn, decide, shows, until } = await createGround(context);
    const fault = world.sandbox.faults.rest({ route: posting, status: 503, times: Infinity });
    const reference = await filePunishment(world, author);
    await until(() => fault.hits > 0);
    await decide(reference, { decision: "claim" });
    expect(cardsIn(reviews, reference)).toEqual([]);
    fault.clear();
    await shows(reviews, reference, "in review");
    expect(cardsIn(reviews, reference)).toHaveLength(1);
  });

  test.for([
    ["is refused", { status: 403, body: lacking }],
    ["fails", { status: 503 }],
  ] as const)("a pin that %s is told as that, and the board and the cards are there", async ([, fault], context) => {
    const lines: string[] = [];
    const pinning = "PUT /channels/:channel/messages/pins/:message";
    const faults = (world: { sandbox: Sandbox }) =>
      ["PUT /channels/:channel/pins/:message", pinning].map((route) => world.sandbox.faults.rest({ route, ...fault, times: Infinity }));
    const { world, author, reviews, boardIn, shows, until, health, choose } = await createGround(context, {
      log: (line) => lines.push(line),
    });
    await until(() => boardIn(reviews) !== undefined);
    const others = world.guild.createChannel("board");
    faults(world);
    await choose({ review: reviews.id, board: others.id });
    await shows(reviews, await filePunishment(world, author), "pending");
    await until(() => boardIn(others) !== undefined);
    await until(() => lines.some((line) => line.includes("does not pin the board")));
    expect(lines.filter((line) => line.includes("takes no messages of the bot"))).toEqual([]);
    expect((await told(health, "pass")).reason).toBeUndefined();
  });

  test("a card whose answer was lost on the way is not posted again", async (context) => {
    const { world, author, reviews, cardsIn, decide, shows } = await createGround(context);
    const fault = world.sandbox.faults.rest({ route: posting, status: 502, late: true, times: 1 });
    const reference = await filePunishment(world, author);
    await shows(reviews, reference, "pending");
    await decide(reference, { decision: "claim" });
    await shows(reviews, reference, "in review");
    expect([fault.hits, cardsIn(reviews, reference).length]).toEqual([1, 1]);
    const again = world.sandbox.faults.rest({ route: posting, status: 502, late: true, times: 1 });
    const decided = await filePunishment(world, author);
    await shows(reviews, decided, "pending");
    await decide(decided, { decision: "void", reason: "Filed twice." });
    await shows(reviews, decided, '"void"');
    expect([again.hits, cardsIn(reviews, decided).map(({ components }) => components)]).toEqual([1, [[]]]);
  });

  /** From now on the service cannot write down what it does by itself, once there is a message more. @returns how often it could not */
  function failAfterPost({ world, messagesIn, reviews }: Awaited<ReturnType<typeof createGround>>, times: number) {
    const { database } = world.app;
    const { write } = database;
    const before = messagesIn(reviews).length;
    let failures = 0;
    const failing: typeof write = (call, ...rest) => {
      if (call.via !== "job" || failures === times || messagesIn(reviews).length === before) return write(call, ...rest);
      failures += 1;
      return Promise.reject(new Error("the disk is full"));
    };
    Object.assign(database, { write: failing });
    return () => failures;
  }

  test("a card that was posted and not written down before the service ended is brought up to date by the next start", async (context) => {
    const ground = await createGround(context);
    const { world, author, reviews, cardsIn, decide, shows, until, boardIn } = ground;
    await until(() => boardIn(reviews) !== undefined);
    const failures = failAfterPost(ground, Infinity);
    const reference = await filePunishment(world, author);
    await until(() => failures() > 0);
    await world.app.cards.stop();
    await decide(reference, { decision: "claim" });
    expect(JSON.stringify(cardsIn(reviews, reference))).toContain("pending");
    await world.restart();
    await shows(reviews, reference, "in review");
    expect(cardsIn(reviews, reference)).toHaveLength(1);
  });

  test("a card that was posted and could not be written down is found again, not posted twice", async (context) => {
    const ground = await createGround(context);
    const { world, author, reviews, cardsIn, decide, shows } = ground;
    const { database } = world.app;
    const reference = await filePunishment(world, author);
    await shows(reviews, reference, "pending");
    const failures = failAfterPost(ground, 1);
    const second = await filePunishment(world, author);
    await shows(reviews, second, "pending");
    await decide(second, { decision: "claim" });
    await shows(reviews, second, "in review");
    expect([failures(), cardsIn(reviews, second).length]).toEqual([1, 1]);
    expect(await database.read.reviewCard.count({ where: { requestId: { not: { startsWith: "board:" } } } })).toBe(2);
  });

  test("while there is no way to Discord nothing is lost: one card, with the newest state", async (context) => {
    const { world, author, admin, reviews, cardsIn, decide, shows } = await createGround(context);
    const first = await filePunishment(world, author);
    await shows(reviews, first, "pending");
    const back = world.sandbox.faults.down(1500);
    const second = await filePunishment(world, author);
    await decide(first, { decision: "claim" });
    await decide(first, { decision: "void", reason: "Filed twice." });
    await decide(second, { decision: "claim" }, admin);
    await back;
    await shows(reviews, first, '"void"');
    await shows(reviews, second, "in review");
    expect([first, second].map((one) => cardsIn(reviews, one).length)).toEqual([1, 1]);
    expect(cardsIn(reviews, first)[0]?.components).toEqual([]);
  });

  test("a card that was deleted by hand is posted again once, however often it is looked for", async (context) => {
    const { world, author, admin, reviews, cardsIn, shows, until } = await createGround(context);
    const reference = await filePunishment(world, author);
    await shows(reviews, reference, "pending");
    const [card] = cardsIn(reviews, reference);
    if (card === undefined) throw new Error("there is no card");
    world.sandbox.as(admin).in(world.guild).deleteMessage(card);
    for (let n = 0; n < 5; n += 1) world.app.cards.check();
    await until(() => cardsIn(reviews, reference).length > 0);
    const looked = () => world.sandbox.exchanges.filter(({ method, path }) => method === "GET" && path.includes("/messages/")).length;
    const before = looked();
    world.app.cards.check();
    await until(() => looked() > before);
    expect(cardsIn(reviews, reference)).toHaveLength(1);
    expect(cardsIn(reviews, reference)[0]?.id).not.toBe(card.id);
  });
});

describe.concurrent("what is told of the queue and of late cards", () => {
  test("many changes are few edits of the board, and the last state is shown", async (context) => {
    const board = 1000;
    const pauses = { ...shortPauses, cards: { ...shortPauses.cards, board } };
    const { world, author, reviews, boardIn, decide, until } = await createGround(context, { pauses });
    await until(() => boardIn(reviews)?.embeds[0]?.title === "Open requests: 0");
    const edits = () => {
      const id = boardIn(reviews)?.id ?? "";
      return world.sandbox.exchanges.filter(({ method, path }) => method === "PATCH" && path.endsWith(id)).length;
    };
    const began = performance.now();
    for (let n = 0; n < 8; n += 1) {
      const reference = await filePunishment(world, author);
      await decide(reference, { decision: n % 2 === 0 ? "claim" : "approve" });
    }
    // Four may be open on the way there as well.
    await until(() => boardIn(reviews)?.embeds[0]?.description?.includes("in review: 4") === true);
    await until(() => boardIn(reviews)?.embeds[0]?.title === "Open requests: 4");
    expect(boardIn(reviews)?.embeds[0]?.description).toContain("in review: 4");
    // One, and on a machine so busy that the changes take longer than the pause, one more for each pause.
    expect(edits()).toBeGreaterThan(0);
    expect(edits()).toBeLessThanOrEqual(1 + Math.floor((performance.now() - began) / board));
  });

  test("the health answer warns once cards have been due for a minute, and says for how long", async (context) => {
    let ahead = 0;
    const clock = { now: () => new Date(Date.now() + ahead) };
    const { world, author, reviews, shows, until, health } = await createGround(context, { clock });
    const fault = world.sandbox.faults.rest({ route: posting, status: 503, times: Infinity });
    const reference = await filePunishment(world, author);
    await until(() => fault.hits > 0);
    expect((await health()).checks.review_cards).toEqual({ status: "pass" });
    ahead = 90_000;
    const said = (await health()).checks.review_cards;
    expect(said).toEqual({ status: "warn", reason: expect.stringContaining("could not be brought"), age_seconds: expect.any(Number) });
    expect([said.age_seconds >= 90, said.age_seconds < 150]).toEqual([true, true]);
    expect((await health(null)).checks.review_cards).toEqual({ status: "warn" });
    fault.clear();
    await shows(reviews, reference, "pending");
    await told(health, "pass");
  });
});
