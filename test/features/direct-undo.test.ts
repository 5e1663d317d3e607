import { beforeAll, describe, expect, test } from "vitest";
import { staffAtConsole } from "../contract/world.ts";
import type { User } from "../../sandbox/index.ts";
import { systemCall } from "../../src/kernel/call.ts";
import { uuid7 } from "../../src/kernel/ids.ts";
import { createWorld, type World } from "../support/world.ts";
import { auditOf } from "./review-ground.ts";

const reason = "Insulted two people in #general.";
const minute = 60_000;

describe("taking back one's own act", () => {
  let offset = 0;
  let world: World;
  let mod: User;
  let colleague: User;
  let admin: User;
  let owner: User;
  beforeAll(async () => {
    let end = (): Promise<void> => Promise.resolve();
    world = await createWorld({ clock: { now: () => new Date(Date.now() + offset) }, onEnd: (way) => (end = way) });
    mod = await staffAtConsole(world, "moderator");
    colleague = await staffAtConsole(world, "moderator");
    admin = await staffAtConsole(world, "admin");
    owner = await staffAtConsole(world, "owner");
    await allow({});
    return () => end();
  });

  const allow = async (more: object) => {
    const level = { level: "moderator" };
    const rules = { warning: level, note: level, timeout: { level: "moderator", max: "P1D" }, kick: level, ban: level, ...more };
    expect((await world.put(`/guilds/${world.guild.id}/direct`, rules, { actor: owner })).status).toBe(200);
  };
  const act = async (body: object, actor = mod) => {
    const answer = await world.post(`/guilds/${world.guild.id}/moderation`, { reason, ...body }, { actor });
    expect([answer.status, answer.body.direct], JSON.stringify(answer.body)).toEqual([201, true]);
    return answer.body;
  };
  const undo = (reference: string, { actor = mod, ...body }: { actor?: User; reason?: string } = {}) =>
    world.post(`/workflows/punishment/${reference}/undo`, body, { actor });
  const standing = async (reference: string) => {
    const { status, revision, look } = await read(reference);
    return { status, revision, look };
  };
  const read = async (reference: string) => (await world.get(`/workflows/punishment/${reference}`, { actor: owner })).body.data;
  const deliver = () => world.app.deliveries.deliverDue(systemCall("job", uuid7()));
  const messagesTo = (user: User) => world.sandbox.directMessages(user).map(({ content }) => content);
  const points = async (user: User) => (await world.get(`/users/${user.id}/strikes`, { actor: owner })).body.meta.points_in_force;
  const later = async (ms: number, work: () => Promise<void>) => {
    offset += ms;
    await work().finally(() => (offset -= ms));
  };

  test("E6: the button of the reply takes a warning back: points, case action, a correction to the person, history and audit", async () => {
    const user = world.member();
    const run = await world.sandbox.as(mod).in(world.guild).runSlashCommand("warn", { user, reason, points: 2 });
    const said = (await run.reply()).content;
    const reference = /PUN-REQ-\d+/.exec(said.replaceAll("\\", ""))?.[0] ?? said;
    await world.sandbox.waitFor(() => messagesTo(user).length === 1);
    await deliver();
    const pressed = await run.clickButton("Undo");
    expect((await pressed.reply()).content.replaceAll("\\", "")).toContain(`✓ Undone: **${reference}**`);
    await world.sandbox.waitFor(() => messagesTo(user).length === 2);
    expect(messagesTo(user)[1]).toContain("Taken back by the moderator who issued it.");
    const view = await read(reference);
    expect(view).toMatchObject({
      status: "reversed",
      decision: { reversal: { by: mod.id, break_glass: false } },
      look: { due_at: null, by: null },
    });
    const { data: cases } = (await world.get(`/cases?subject=${user.id}`, { actor: owner })).body;
    const { data: actions } = (await world.get(`/cases/${cases[0].id}/actions`, { actor: owner })).body;
    expect(actions).toMatchObject([{ kind: "warning", voided: { by: mod.id } }]);
    const entries = (await auditOf(world, reference)).filter(({ action }) => action === "workflow.reverse");
    expect(entries).toMatchObject([
      { actor: { id: mod.id }, permission_used: "workflows.punishment.create", after: { status: "reversed", direct: true } },
    ]);
    // Pressed once more it changes nothing.
    const again = await run.clickButton("Undo");
    expect((await again.reply()).content).toContain("was already undone");
    await deliver();
    expect(messagesTo(user)).toHaveLength(2);
    expect((await read(reference)).revision).toBe(view.revision);
  });

  test("a timeout is lifted; one that somebody else has set meanwhile stays", async () => {
    const [user, other] = [world.member(), world.member()];
    const until = (one: User) => world.guild.member(one)?.timeoutUntil ?? 0;
    const first = await act({ action: "timeout", user_id: user.id, duration: "PT2H" });
    const second = await act({ action: "timeout", user_id: other.id, duration: "PT2H" });
    expect(Date.parse(first.undo_until) - Date.now()).toBeGreaterThan(14 * minute);
    await world.sandbox.waitFor(() => until(user) > Date.now() && until(other) > Date.now());
    await deliver();
    world.guild.timeout(other, 86_400);
    const { body } = await undo(first.reference, { reason: "Meant for somebody of a similar name." });
    expect(body).toMatchObject({ undone: true, status: "reversed", refused: null, deciders: [] });
    expect((await undo(second.reference)).body.undone).toBe(true);
    await world.sandbox.waitFor(() => until(user) <= Date.now());
    await deliver();
    expect(until(other)).toBeGreaterThan(Date.now() + 20 * 3_600_000);
    expect((await read(first.reference)).decision.reversal.reason_public).toBe("Meant for somebody of a similar name.");
  });

  test("after 15 minutes the button names who may reverse it, and changes nothing", async () => {
    const user = world.member();
    const run = await world.sandbox.as(mod).in(world.guild).runSlashCommand("note", { user, reason });
    const reference = /PUN-REQ-\d+/.exec((await run.reply()).content.replaceAll("\\", ""))?.[0] ?? "none";
    const before = await read(reference);
    await later(15 * minute, async () => {
      const said = (await (await run.clickButton("Undo")).reply()).content;
      expect(said).toContain("was not undone");
      expect(said).toContain("The 15 minutes in which you take it back alone are over.");
      expect(said).toContain(`<@${admin.id}>`);
      expect(said).not.toContain(`<@${mod.id}>`);
      const { body } = await undo(reference);
      expect(body).toMatchObject({ undone: false, status: "approved", refused: { code: "late" } });
      expect(body.deciders).toContain(admin.id);
    });
    expect(await read(reference)).toEqual(before);
    await later(14.5 * minute, async () => {
      expect((await undo(reference)).body.undone).toBe(true);
    });
  });

  test("not what somebody else did, a kick or a ban, what waited for others, or what the rules no longer let them do", async () => {
    const refused = async (reference: string, code: string, actor = mod) => {
      const before = await standing(reference);
      const { status, body } = await undo(reference, { actor });
      expect([status, body.undone, body.refused?.code], JSON.stringify(body)).toEqual([200, false, code]);
      expect(await standing(reference)).toEqual(before);
    };
    const warned = await act({ action: "warning", user_id: world.member().id });
    await refused(warned.reference, "not_own", colleague);
    await refused(warned.reference, "not_own", admin);
    for (const action of ["kick", "ban"]) {
      const done = await act({ action, user_id: world.member().id });
      expect(done.undo_until).toBeNull();
      await refused(done.reference, "action");
    }
    const run = await world.sandbox.as(mod).in(world.guild).runSlashCommand("kick", { user: world.member(), reason });
    expect(JSON.stringify((await run.reply()).components)).not.toContain("Undo");
    const filed = (await world.post("/workflows/punishment", { user_id: world.member().id, action: "warning", reason }, { actor: mod }))
      .body;
    await world.post(`/workflows/punishment/${filed.reference as string}/decision`, { decision: "approve", reason }, { actor: admin });
    await refused(filed.reference, "not_direct");
    await allow({ warning: { level: "admin" } });
    await refused(warned.reference, "right");
    await allow({});
    // By the usual way its sole author still reverses nothing.
    const own = await act({ action: "warning", user_id: world.member().id }, admin);
    const decision = { decision: "reverse", reason: "It was somebody else." };
    expect((await world.post(`/workflows/punishment/${own.reference as string}/decision`, decision, { actor: admin })).body.code).toBe(
      "conflict_of_interest",
    );
    expect((await undo(own.reference, { actor: await staffAtConsole(world, "viewer") })).status).toBe(403);
    expect((await undo("PUN-REQ-999999")).status).toBe(404);
    expect((await world.post(`/workflows/appeal/${own.reference as string}/undo`, {}, { actor: admin })).status).toBe(404);
  });

  test("not once others have acted on it: an appeal against it, or a request that its points suggested", async () => {
    const [appellant, struck, plain] = [world.member(), world.member(), world.member()];
    const appealed = await act({ action: "warning", user_id: appellant.id });
    const grounds = "The account was stolen on the day of the raid.";
    const appeal = { target: appealed.reference, grounds, user_id: appellant.id };
    expect((await world.post("/workflows/appeal", appeal, { actor: admin })).status).toBe(201);
    expect((await undo(appealed.reference)).body.refused?.code).toBe("built_on");
    const suggesting = await act({ action: "warning", user_id: struck.id, points: 10 });
    const draftOf = async (user: User) =>
      (await world.get("/workflows/drafts", { actor: owner })).body.data.find(
        (one: { subject: { id: string } }) => one.subject.id === user.id,
      );
    const draft = await draftOf(struck);
    expect((await world.post(`/workflows/drafts/${draft.id as string}/file`, {}, { actor: admin })).status).toBe(201);
    expect((await undo(suggesting.reference)).body.refused?.code).toBe("built_on");
    // What is merely suggested goes with it.
    const alone = await act({ action: "warning", user_id: plain.id, points: 10 });
    expect(await draftOf(plain)).toMatchObject({ status: "open" });
    expect((await undo(alone.reference)).body.undone).toBe(true);
    expect([await draftOf(plain), await points(plain)]).toEqual([undefined, 0]);
  });
});
