import { beforeAll, describe, expect, test } from "vitest";
import type { User } from "../../sandbox/index.ts";
import { createCausesGround, hour, type CausesGround } from "./causes-ground.ts";

/** What holds for a person is computed from all causes in force. Rows A4 and its siblings of the design. */
let ground: CausesGround;
beforeAll(async () => {
  ground = await createCausesGround();
  return () => ground.end();
});

describe("of two timeouts (A4)", () => {
  test("reversing the longer one shortens the timeout to the end of the other, and reversing that one frees the person", async () => {
    const user = ground.world.member();
    const short = await ground.moderate(user, { action: "timeout", duration: "PT2H" });
    const long = await ground.moderate(user, { action: "timeout", duration: "PT8H" });
    expect(ground.timeout(user)).toBe(8);
    await ground.reverse(long);
    expect(ground.timeout(user)).toBe(2);
    const [effect] = await ground.effects(long, "discord.punish");
    expect(effect).toMatchObject({
      status: "reversed",
      detail: expect.stringMatching(/It stays until 20.+Z: another approval asks for it\.$/),
    });
    await ground.reverse(short);
    expect(ground.timeout(user)).toBeNull();
  });

  test("reversing the shorter one changes nothing in Discord, whichever came first", async () => {
    for (const lengths of [
      ["PT2H", "PT8H"],
      ["PT8H", "PT2H"],
    ]) {
      const user = ground.world.member();
      const references: Record<string, string> = {};
      for (const duration of lengths) references[duration] = await ground.moderate(user, { action: "timeout", duration });
      await ground.reverse(references["PT2H"] ?? "");
      expect(ground.timeout(user)).toBe(8);
      await ground.reverse(references["PT8H"] ?? "");
      expect(ground.timeout(user)).toBeNull();
    }
  });

  test("the longer one is announced with its end, and a shorter one on top of it with the end that holds", async () => {
    const user = ground.world.member();
    await ground.moderate(user, { action: "timeout", duration: "PT8H" });
    const until = ground.guilds[0].member(user)?.timeoutUntil ?? 0;
    const body = { user_id: user.id, reason: "Insulted three people.", action: "timeout", duration: "PT2H" };
    const reference = await ground.file("punishment", { ...body, discord: { guild_ids: [ground.guilds[0].id] } });
    await ground.decide("punishment", reference, { decision: "approve" });
    expect(ground.timeout(user)).toBe(8);
    const [effect] = await ground.effects(reference, "discord.punish");
    expect(effect).toMatchObject({ status: "done" });
    expect(effect?.detail).toContain(`Timeout in Harbour until ${new Date(until).toISOString()}.`);
    const message = ground.messages(user).at(-1) ?? "";
    expect(message).toContain(`until <t:${Math.floor(until / 1000).toString()}:f>`);
    expect(message).toContain("because an earlier timeout lasts longer");
  });

  test("a timeout that somebody made longer by hand stays when ours is reversed", async () => {
    const user = ground.world.member();
    const ours = await ground.moderate(user, { action: "timeout", duration: "PT2H" });
    ground.guilds[0].timeout(user, 20 * 3600);
    await ground.settle();
    await ground.reverse(ours);
    expect(ground.timeout(user)).toBe(20);
  });

  test("nothing of ours is left where somebody had shortened the longer one by hand in between", async () => {
    const user = ground.world.member();
    const long = await ground.moderate(user, { action: "timeout", duration: "PT16H" });
    ground.guilds[0].timeout(user, 4 * 3600);
    await ground.settle();
    const short = await ground.moderate(user, { action: "timeout", duration: "PT8H" });
    expect(ground.timeout(user)).toBe(8);
    await ground.reverse(short);
    expect(ground.timeout(user)).toBe(8);
    await ground.reverse(long);
    expect(ground.timeout(user)).toBeNull();
  });

  test("what a decision lifted is no cause any more, and neither is what somebody lifted by hand", async () => {
    for (const lift of [
      (user: Parameters<CausesGround["timeout"]>[0]) => ground.moderate(user, { action: "untimeout" }),
      async (user: Parameters<CausesGround["timeout"]>[0]) => {
        ground.guilds[0].timeout(user, 0);
        await ground.settle();
      },
    ]) {
      const user = ground.world.member();
      await ground.moderate(user, { action: "timeout", duration: "PT8H" });
      await lift(user);
      expect(ground.timeout(user)).toBeNull();
      const next = await ground.moderate(user, { action: "timeout", duration: "PT2H" });
      expect(ground.timeout(user)).toBe(2);
      await ground.reverse(next);
      expect(ground.timeout(user)).toBeNull();
      expect((await ground.effects(next, "discord.punish"))[0]?.detail).not.toContain("It stays");
    }
  });

  test("one in another server is left alone", async () => {
    const user = ground.world.member();
    ground.guilds[1].addMember(user);
    const here = await ground.moderate(user, { action: "timeout", duration: "PT8H" });
    await ground.moderate(user, { action: "timeout", duration: "PT2H" }, ground.guilds[1]);
    await ground.reverse(here);
    expect([ground.timeout(user), ground.timeout(user, ground.guilds[1])]).toEqual([null, 2]);
  });
});

describe("a list and a request that ask for the same", () => {
  test("keep a ban until both are gone, in either order", async () => {
    await ground.stance(ground.guilds[0], [{ category: "raid", stance: "apply", action: "ban" }]);
    for (const first of ["list", "request"]) {
      const user = ground.world.member();
      const record = await ground.list(user);
      expect(ground.isBanned(user)).toBe(true);
      const reference = await ground.moderate(user, { action: "ban" });
      const withdraw = { list: () => ground.revoke(record), request: () => ground.reverse(reference) };
      await (first === "list" ? withdraw.list() : withdraw.request());
      expect(ground.isBanned(user)).toBe(true);
      if (first === "request") {
        const [effect] = await ground.effects(reference, "discord.punish");
        expect(effect).toMatchObject({ status: "reversed", detail: expect.stringContaining("It stays: a list asks for the same.") });
      }
      await (first === "list" ? withdraw.request() : withdraw.list());
      expect(ground.isBanned(user), first).toBe(false);
    }
  });

  test("keep a ban that the request made first, and a ban by hand stays when both are gone", async () => {
    for (const isByHand of [false, true]) {
      const user = ground.world.member();
      const { guilds } = ground;
      await ground.stance(guilds[0], []);
      if (isByHand) guilds[0].ban(user, { reason: "By hand." });
      await ground.settle();
      const reference = await ground.moderate(user, { action: "ban" });
      if (!isByHand) {
        await ground.reverse(reference);
        expect(ground.isBanned(user)).toBe(false);
        continue;
      }
      await ground.reverse(reference);
      expect(ground.isBanned(user)).toBe(true);
    }
  });

  test("time a person out until the later end", async () => {
    await ground.stance(ground.guilds[0], [{ category: "raid", stance: "apply", action: "timeout", timeout_seconds: 4 * 3600 }]);
    const user = ground.world.member();
    const record = await ground.list(user);
    expect(ground.timeout(user)).toBe(4);
    const long = await ground.moderate(user, { action: "timeout", duration: "PT8H" });
    const short = await ground.moderate(user, { action: "timeout", duration: "PT2H" });
    await ground.reverse(long);
    expect(ground.timeout(user)).toBe(4);
    await ground.revoke(record);
    expect(ground.timeout(user)).toBe(2);
    await ground.reverse(short);
    expect(ground.timeout(user)).toBeNull();
    await ground.stance(ground.guilds[0], []);
  });

  test("a timeout of a list that a longer one covered is ended by hand with it, and is not made again for the same record", async () => {
    await ground.stance(ground.guilds[0], [{ category: "raid", stance: "apply", action: "timeout", timeout_seconds: 4 * 3600 }]);
    const user = ground.world.member();
    await ground.moderate(user, { action: "timeout", duration: "PT8H" });
    await ground.list(user);
    ground.guilds[0].timeout(user, 0);
    await ground.settle();
    const later = await ground.moderate(user, { action: "timeout", duration: "PT2H" });
    await ground.reverse(later);
    expect(ground.timeout(user)).toBeNull();
    expect((await ground.effects(later, "discord.punish"))[0]?.detail).not.toContain("It stays");
    await ground.stance(ground.guilds[0], []);
  });

  test("a decision to lift a ban ends what the list asks for, too: it is not made again for the same record", async () => {
    await ground.stance(ground.guilds[0], [{ category: "raid", stance: "apply", action: "ban" }]);
    const user = ground.world.member();
    await ground.list(user);
    await ground.moderate(user, { action: "unban" });
    expect(ground.isBanned(user)).toBe(false);
    const later = await ground.moderate(user, { action: "ban" });
    await ground.reverse(later);
    expect(ground.isBanned(user)).toBe(false);
    await ground.stance(ground.guilds[0], []);
  });
});

test("a ban that ends by its length stays for a longer one, and is lifted at the later end", async () => {
  const user = ground.world.member();
  const short = await ground.moderate(user, { action: "ban", duration: "PT2H" });
  await ground.moderate(user, { action: "ban", duration: "PT8H" });
  await ground.pass(3 * hour);
  expect(ground.isBanned(user)).toBe(true);
  expect((await ground.effects(short, "discord.punish"))[0]?.detail).toContain("It stays: another approval asks for the same.");
  await ground.pass(6 * hour);
  expect(ground.isBanned(user)).toBe(false);
});

/** Two timeouts that end less than a second apart, however long it takes. */
async function alike(user: User): Promise<[string, string]> {
  const begun = Date.now();
  const first = await ground.moderate(user, { action: "timeout", duration: "PT8H" });
  ground.time.offset -= Math.max(0, Date.now() - begun - 100);
  return [first, await ground.moderate(user, { action: "timeout", duration: "PT8H" })];
}

test("two timeouts of the same end: the second finds it set, and frees the person all the same once both are reversed", async () => {
  for (const order of ["the first", "the second"]) {
    const user = ground.world.member();
    const references = await alike(user);
    if (order === "the second") references.reverse();
    for (const [place, reference] of references.entries()) {
      expect(ground.timeout(user), order).toBe(8);
      await ground.reverse(reference);
      expect(ground.timeout(user), order).toBe(place === 0 ? 8 : null);
    }
  }
});

test("so it does where an appeal shortens the first", async () => {
  const user = ground.world.member();
  const [first, second] = await alike(user);
  const more = { grounds: "The account was stolen on the day of the raid.", user_id: user.id, desired_outcome: "reduce" };
  const appeal = await ground.file("appeal", { target: first, ...more });
  await ground.decide("appeal", appeal, { decision: "reduce", new_duration: "PT2H" });
  expect(ground.timeout(user)).toBe(8);
  await ground.reverse(first);
  expect(ground.timeout(user)).toBe(8);
  await ground.reverse(second);
  expect(ground.timeout(user)).toBeNull();
});

test("nor is a longer timeout that somebody set by hand in between lifted with the first", async () => {
  const user = ground.world.member();
  const first = await ground.moderate(user, { action: "timeout", duration: "PT4H" });
  ground.guilds[0].timeout(user, 8 * 3600);
  await ground.settle();
  const second = await ground.moderate(user, { action: "timeout", duration: "PT6H" });
  await ground.reverse(first);
  await ground.reverse(second);
  expect(ground.timeout(user)).toBe(8);
});
