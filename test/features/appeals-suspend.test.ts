import { describe, expect, test } from "vitest";
import type { User } from "../../sandbox/index.ts";
import { systemCall } from "../../src/kernel/call.ts";
import { uuid7 } from "../../src/kernel/ids.ts";
import { community, limitMs, within } from "./stances-community.ts";
import { createAppealsGround, grounds, sendTo } from "./appeals-ground.ts";

const day = 86_400;

/** A community in which somebody is listed. */
async function createGround() {
  const ground = await createAppealsGround();
  const { world, judge } = ground;
  const ann = world.member("Ann");
  const owner = await world.staff("owner");

  async function list(more: object = {}): Promise<string> {
    const body = { kind: "user", subject_id: ann.id, category: "raid", severity: "low", reason_public: "Took part in a raid.", ...more };
    const made = await world.post("/blacklist", body, { actor: owner });
    expect(made.status, JSON.stringify(made.body)).toBe(201);
    return made.body.data.number;
  }

  const appeal = (target: string, more: object = {}, actor: User = judge) =>
    world.post("/workflows/appeal", { target, grounds, user_id: ann.id, ...more }, { actor });
  const statusOf = async (number: string) => (await world.get(`/blacklist/${number}`, { actor: judge })).body.data.status;
  const isListed = async () => (await world.post("/blacklist/check", { user_ids: [ann.id] }, { actor: judge })).body.data.users[0].listed;
  const actionsOf = async (number: string) => {
    const entries = (await world.get(`/audit?limit=200`, { actor: owner })).body.data as {
      action: string;
      target: { reference: string };
    }[];
    return entries
      .flatMap(({ action, target }) => (target.reference === number && action.startsWith("blacklist.") ? [action] : []))
      .toReversed();
  };
  const sweep = () => world.app.workflows.resumeDue(systemCall("job", uuid7()));
  return { ...ground, ann, owner, list, appeal, statusOf, isListed, actionsOf, sweep };
}

describe("a record on the blacklist that an appeal suspends", () => {
  test("does not count until the appeal is denied, and then counts again", async () => {
    const { decide, judge, list, appeal, statusOf, isListed, actionsOf, world } = await createGround();
    const number = await list();
    const filed = await appeal(number, { suspend: true });
    expect([filed.status, await statusOf(number), await isListed()]).toEqual([201, "suspended", false]);
    const shown = (await world.get("/blacklist?status=suspended", { actor: judge })).body.data;
    expect(shown.map((one: { number: string }) => one.number)).toEqual([number]);
    expect((await world.get("/blacklist?status=active", { actor: judge })).body.data).toEqual([]);
    await decide("appeal", filed.body.reference, { decision: "deny", reason: "We looked at it again: it stands." });
    expect([await statusOf(number), await isListed()]).toEqual(["active", true]);
    expect(await actionsOf(number)).toEqual(["blacklist.create", "blacklist.suspend", "blacklist.resume"]);
  });

  test("is taken back or made milder by the ruling as any other, and another cannot be made meanwhile", async () => {
    const { decide, judge, ann, owner, world, list, appeal, statusOf, actionsOf } = await createGround();
    const number = await list({ severity: "medium" });
    const first = await appeal(number, { suspend: true });
    const again = await world.post(
      "/blacklist",
      { kind: "user", subject_id: ann.id, category: "scam", severity: "low", reason_public: "Scam links." },
      { actor: owner },
    );
    expect(again.body.code).toBe("duplicate_active_record");
    await decide("appeal", first.body.reference, { decision: "reduce", new_severity: "low", reason: "It was a minor matter." });
    expect([await statusOf(number), (await world.get(`/blacklist/${number}`, { actor: judge })).body.data.severity]).toEqual([
      "active",
      "low",
    ]);
    const second = await appeal(number, { suspend: true });
    await decide("appeal", second.body.reference, { decision: "overturn", reason: "It was somebody else." });
    expect(await statusOf(number)).toBe("revoked");
    expect((await actionsOf(number)).slice(-2)).toEqual(["blacklist.suspend", "blacklist.revoke"]);
  });

  test("is suspended by staff who change an appeal that somebody filed at the page, and the page says so; withdrawn, it counts again", async () => {
    const { ann, judge, list, statusOf, signIn, send, open, appeals, world } = await createGround();
    const number = await list();
    const browser = await signIn(ann);
    expect((await send(sendTo(number), browser, { texts: { suspend: "true" } })).status).toBe(303);
    const [row] = await appeals();
    const [name, page] = [row?.reference ?? "", `/appeal/status/${row?.reference ?? ""}`];
    expect([await statusOf(number), (await open(page, browser)).text.includes("does not count")]).toEqual(["active", false]);
    const changed = await world.patch(`/workflows/appeal/${name}`, { payload: { suspend: true } }, { actor: judge });
    expect(changed.status, JSON.stringify(changed.body)).toBe(200);
    expect([await statusOf(number), (await open(page, browser)).text.includes("the record on the blacklist does not count")]).toEqual([
      "suspended",
      true,
    ]);
    await send(`${page}/withdraw`, browser, { texts: { sure: "yes" }, isPlain: true });
    expect(await statusOf(number)).toBe("active");
  });

  test("is suspended by nobody without the right to take it back, nor for oneself, nor where there is no record", async () => {
    const { ann, judge, list, punish, appeal, statusOf, appeals, world } = await createGround();
    const number = await list();
    const moderator = await world.staff("moderator");
    const refused = await appeal(number, { suspend: true }, moderator);
    expect([refused.status, refused.body.required]).toEqual([403, "blacklist.revoke"]);
    world.guild.allowCommands([world.guild.everyoneRole], "request");
    const asked = await world.sandbox.as(ann).in(world.guild).runSlashCommand("request appeal", { target: number, suspend: true });
    expect((await (await asked.submitModal({ grounds })).reply()).content).toContain(
      "the staff decide whether the record counts until then",
    );
    const nothing = await appeal(await punish(ann), { suspend: true });
    expect([nothing.status, nothing.body.errors[0].pointer]).toEqual([422, "/suspend"]);
    expect([await statusOf(number), await appeals()]).toEqual(["active", []]);
    expect((await appeal(number, { suspend: true }, judge)).status).toBe(201);
  });

  test("counts again within a minute of an appeal that nobody decides, and ends in its time all the same", async () => {
    const { judge, list, appeal, statusOf, sweep, forward, world } = await createGround();
    const number = await list();
    await appeal(number, { suspend: true });
    await sweep();
    expect(await statusOf(number)).toBe("suspended");
    forward(61 * day);
    await sweep();
    expect(await statusOf(number)).toBe("active");

    const ben = world.member("Ben");
    const ending = await list({ subject_id: ben.id, duration: "P2D" });
    await appeal(ending, { suspend: true, user_id: ben.id });
    forward(3 * day);
    expect(await statusOf(ending)).toBe("expired");
    expect((await world.get("/blacklist?status=suspended", { actor: judge })).body.data).toEqual([]);
    await world.app.blacklist.expireDue(systemCall("job", uuid7()));
    await sweep();
    expect(await statusOf(ending)).toBe("expired");
  });

  test("takes back what servers did because of it for as long, and has them do it again", async () => {
    const { world, bay, stance, list, admin, owner } = await community();
    await stance(bay, { category: "raid", stance: "apply", action: "timeout", timeout_seconds: 3600 });
    const user = world.sandbox.createUser("appellant");
    bay.addMember(user);
    const { number } = await list(user);
    const isTimedOut = () => (bay.member(user)?.timeoutUntil ?? 0) > Date.now();
    await within(isTimedOut);
    const body = { target: number, grounds, user_id: user.id, suspend: true };
    const { reference } = (await world.post("/workflows/appeal", body, { actor: admin })).body;
    expect(await within(() => !isTimedOut())).toBeLessThan(limitMs);
    const denied = { decision: "deny", reason: "We looked at it again: it stands." };
    expect((await world.post(`/workflows/appeal/${reference}/decision`, denied, { actor: owner })).status).toBe(200);
    expect(await within(isTimedOut)).toBeLessThan(limitMs);
  });
});
