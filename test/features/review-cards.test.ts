import { beforeAll, beforeEach, describe, expect, onTestFinished, test } from "vitest";
import { staffAtConsole } from "../contract/world.ts";
import type { User } from "../../sandbox/index.ts";
import { createWorld, type World } from "../support/world.ts";
import { shortPauses } from "./review-cards-ground.ts";
import { auditOf, filePunishment } from "./review-ground.ts";

describe("review cards", () => {
  let world: World;
  let author: User;
  let admin: User;
  let channel: { id: string };
  const setUp = async (onEnd: (end: () => Promise<void>) => void): Promise<void> => {
    world = await createWorld({ pauses: shortPauses, onEnd });
    [author, admin] = [await staffAtConsole(world, "moderator"), await staffAtConsole(world, "admin")];
    channel = world.guild.createChannel("reviews");
    const chosen = await world.put(`/channels/${world.guild.id}`, { review: channel.id }, { actor: await world.staff("owner") });
    expect(chosen.status, JSON.stringify(chosen.body)).toBe(200);
  };
  const posted = () => world.guild.messages().filter(({ channelId }) => channelId === channel.id);
  const cardOf = (reference: string) => posted().find(({ embeds }) => embeds[0]?.title?.includes(reference));
  const shown = (reference: string) => JSON.stringify(cardOf(reference)?.embeds ?? "");
  const until = (fits: () => boolean) => world.sandbox.waitFor(fits, 60_000);
  const press = async (user: User, reference: string, label: string) => {
    const card = cardOf(reference);
    if (card === undefined) throw new Error("there is no card");
    return await world.sandbox.as(user).in(world.guild).press(card, label);
  };
  const decide = (reference: string, body: object, actor = admin) =>
    world.post(`/workflows/punishment/${reference}/decision`, body, { actor });

  describe("each of its own request", () => {
    beforeAll(async () => {
      let end = (): Promise<void> => Promise.resolve();
      await setUp((way) => (end = way));
      return () => end();
    });

    test("a request that is filed has a card, which follows every move and ends without buttons", async () => {
      const reference = await filePunishment(world, author);
      await until(() => shown(reference).includes("pending"));
      const moves: [body: object, shows: string, actor?: User][] = [
        [{ decision: "claim" }, "in review"],
        [{ decision: "request_info", questions: ["Who saw it?"] }, "waiting for an answer"],
        [{ decision: "provide_info", answer: "Ann did." }, "in review", author],
        [{ decision: "hold", reason: "Waits for another case." }, "Hold"],
        [{ decision: "release", reason: "It is closed." }, "in review"],
        [{ decision: "escalate", reason: "Too grave for us." }, "escalated"],
        [{ decision: "void", reason: "Filed twice." }, '"void"'],
      ];
      for (const [body, shows, actor] of moves) {
        expect((await decide(reference, body, actor)).status).toBe(200);
        await until(() => shown(reference).includes(shows));
      }
      // Why it was held and handed on is for staff, and who sees the channel need not be.
      for (const hidden of ["Waits for another case", "Too grave"]) expect(shown(reference)).not.toContain(hidden);
      expect(cardOf(reference)?.components).toEqual([]);
      expect(posted().filter(({ embeds }) => embeds[0]?.title?.includes(reference))).toHaveLength(1);
    });

    test("an approval by button asks for the reason, ends as over HTTP, and counts once however often it is sent", async () => {
      const reference = await filePunishment(world, author);
      await until(() => cardOf(reference) !== undefined);
      const run = await press(admin, reference, "Approve");
      expect((await run.reply()).ephemeral).toBe(true);
      const forms = [await run.clickButton("Continue …"), await run.clickButton("Continue …")];
      await Promise.allSettled(forms.map((form) => form.submitModal({})));
      await until(() => shown(reference).includes("approved"));
      const read = (await world.get(`/workflows/punishment/${reference}`, { actor: admin })).body.data;
      expect(read).toMatchObject({ status: "approved", revision: 2, decision: { by: admin.id } });
      const entries = await auditOf(world, reference);
      expect(entries.filter(({ action }) => action === "workflow.approve")).toMatchObject([{ via: "slash" }]);
      expect(await world.app.database.read.workflowVote.count()).toBe(1);
    });

    test("an approval of what was changed before it was sent does nothing, and what was typed can be sent again", async () => {
      const reference = await filePunishment(world, author);
      await until(() => cardOf(reference) !== undefined);
      const run = await press(admin, reference, "Approve");
      await run.reply();
      await decide(reference, { decision: "claim" });
      const said = await (await run.clickButton("Continue …")).submitModal({});
      await until(() => said.followups().length > 0);
      expect(said.followups()[0]?.content).toContain("precondition_failed");
      expect(JSON.stringify(said.followups()[0]?.components)).toContain("Change and send again");
      const read = (await world.get(`/workflows/punishment/${reference}`, { actor: admin })).body.data;
      expect([read.status, read.revision]).toEqual(["in_review", 2]);
      await until(() => shown(reference).includes("in review"));
    });

    test("a denial by button asks for its reason, and what the presser may not do is refused privately", async () => {
      const reference = await filePunishment(world, author);
      await until(() => cardOf(reference) !== undefined);
      const refused = await (await press(author, reference, "Approve")).reply();
      expect(refused.content).toContain("permission_denied");
      expect(refused.ephemeral).toBe(true);
      const run = await press(admin, reference, "Deny");
      await run.modal();
      const said = await (await run.submitModal({ reason: "The evidence does not show it." })).reply();
      expect([said.content.includes("is denied"), said.ephemeral]).toEqual([true, true]);
      await until(() => cardOf(reference)?.components.length === 0);
    });

    test("a deleted card comes back, at the next change or at the next check", async () => {
      const reference = await filePunishment(world, author);
      await until(() => cardOf(reference) !== undefined);
      const remove = () =>
        world.sandbox
          .as(admin)
          .in(world.guild)
          .deleteMessage(cardOf(reference) as never);
      remove();
      await decide(reference, { decision: "claim" });
      await until(() => shown(reference).includes("in review"));
      remove();
      expect(cardOf(reference)).toBeUndefined();
      world.app.cards.check();
      await until(() => cardOf(reference) !== undefined);
      expect(posted().filter(({ embeds }) => embeds[0]?.title?.includes(reference))).toHaveLength(1);
    });
  });

  describe("with nothing else in the channel, or with the service stopped", () => {
    beforeEach(() => setUp(onTestFinished));

    test("a card that nobody has brought up to date yet says so at the first press, and asks nothing", async () => {
      const reference = await filePunishment(world, author);
      await until(() => cardOf(reference) !== undefined);
      await world.app.cards.stop();
      await decide(reference, { decision: "claim" });
      const said = await (await press(admin, reference, "Approve")).reply();
      expect(said.content).toContain("was old");
      expect([said.components, said.ephemeral]).toEqual([[], true]);
      const denial = await press(admin, reference, "Deny");
      const denied = await denial.reply();
      expect(denied.content).toContain("was old");
      expect(denial.interaction.modal).toBeNull();
      expect((await auditOf(world, reference)).map(({ action }) => action)).toEqual(["workflow.claim", "workflow.create"]);
    });

    test("what happened while the service was away is caught up, in the same message, and old buttons still work", async () => {
      const [first, second] = [await filePunishment(world, author), await filePunishment(world, author)];
      await until(() => cardOf(first) !== undefined && cardOf(second) !== undefined);
      const before = cardOf(first)?.id;
      await world.app.cards.stop();
      await decide(first, { decision: "void", reason: "Filed twice." });
      const third = await filePunishment(world, author);
      await world.restart();
      await until(() => shown(first).includes('"void"') && cardOf(third) !== undefined);
      expect(cardOf(first)).toMatchObject({ id: before, components: [] });
      await (await press(admin, second, "Claim")).reply();
      await until(() => shown(second).includes("in review"));
    });

    test("a confidential request has no card, no place on the board, and loses the card it had", async () => {
      const body = { allegation: "Sold the keys of the house.", title: "The keys" };
      const about = () => ({ subject: { kind: "user", id: world.member("suspect").id } });
      const file = async (more: object) =>
        (await world.post("/workflows/investigation", { ...body, ...about(), ...more }, { actor: admin })).body.reference as string;
      const board = () => posted().find(({ embeds }) => embeds[0]?.title?.startsWith("Open requests"));
      await filePunishment(world, author);
      const [secret, open] = [await file({ confidential: true }), await file({})];
      await until(() => cardOf(open) !== undefined);
      world.app.cards.check();
      await world.sandbox.waitFor(() => board()?.embeds[0]?.title === "Open requests: 2", 60_000);
      expect(cardOf(secret)).toBeUndefined();
      const amended = await world.patch(`/workflows/investigation/${open}`, { payload: { confidential: true } }, { actor: admin });
      expect(amended.status, JSON.stringify(amended.body)).toBe(200);
      await until(() => cardOf(open) === undefined);
      world.app.cards.check();
      await world.sandbox.waitFor(() => board()?.embeds[0]?.title === "Open requests: 1", 60_000);
      expect(JSON.stringify(posted())).not.toMatch(new RegExp(`${secret}|${open}|The keys`));
      // What is kept of a message to compare it with is a keyed hash: nobody finds the words by trying.
      const kept = await world.app.database.read.reviewCard.findMany();
      expect(kept.filter(({ shown: hashed }) => hashed !== null && !/^[\w-]{43}$/.test(hashed))).toEqual([]);
      for (const reference of [secret, open]) {
        expect((await world.get(`/workflows/investigation/${reference}`, { actor: admin })).status).toBe(200);
        expect(await world.slash(admin, "review show", { reference })).toContain("The keys");
      }
    });

    test("the board counts what is open, by kind and state, and is pinned", async () => {
      await filePunishment(world, author);
      await filePunishment(world, author);
      const board = () => posted().find(({ embeds }) => embeds[0]?.title?.startsWith("Open requests"));
      world.app.cards.check();
      await world.sandbox.waitFor(() => board()?.embeds[0]?.title === "Open requests: 2", 60_000);
      expect(board()?.embeds[0]?.description).toContain("**punishment** · pending: 2");
      await until(() => typeof board()?.pinnedAt === "number");
    });
  });
});

test("a channel that takes no messages keeps no request waiting", async () => {
  const lines: string[] = [];
  const silent = await createWorld({ log: (line) => lines.push(line) });
  const moderator = await silent.staff("moderator");
  const channels = { review: "80351110224678912" };
  const chosen = await silent.put(`/channels/${silent.guild.id}`, channels, { actor: await silent.staff("owner") });
  expect(chosen.status).toBe(200);
  await filePunishment(silent, moderator);
  await filePunishment(silent, moderator);
  await silent.sandbox.waitFor(() => lines.some((line) => line.includes("takes no messages of the bot")), 60_000);
  expect(await silent.app.database.read.workflowRequest.count()).toBe(2);
  expect(lines.filter((line) => line.includes("takes no messages of the bot"))).toHaveLength(1);
});
