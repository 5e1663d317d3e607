import { expect, test } from "vitest";
import { discordEffect } from "../../src/features/workflows/effects/discord-effect.ts";
import { systemCall } from "../../src/kernel/call.ts";
import type { DiscordActionDraft, DiscordActions } from "../../src/kernel/discord-port.ts";
import { uuid7 } from "../../src/kernel/ids.ts";
import type { User } from "../../sandbox/index.ts";
import { freshId } from "../contract/document.ts";
import { shareWorld, until } from "../contract/world.ts";
import { pauseBot } from "../support/bot.ts";
import { soonBack } from "../support/pauses.ts";
import { getWholeRequest } from "../../src/features/workflows/requests/workflows.policy.ts";

const time = { offset: 0 };
const shared = shareWorld({
  clock: { now: () => new Date(Date.now() + time.offset) },
  env: { ROSTER_STALE_SECONDS: "86400" },
  pauses: { discord: soonBack },
});
const limit = 15_000;
const system = () => systemCall("job", uuid7());
const deliver = () => shared.world.app.deliveries.deliverDue(system());
const later = (seconds: number) => void (time.offset += seconds * 1000);

interface Row {
  key: string;
  status: string;
  attempts: number;
  detail: string;
  last_error: string | null;
  due_at: string | null;
}

/** A request that one approval decides, and the people around it. */
async function scene() {
  const { world } = shared;
  const [requester, decider] = [await world.staff("moderator"), await world.staff("senior")];
  const listing = { category: "raid", severity: "medium", reason: "Led the raid of last night." };
  const filed = await world.post(
    "/workflows/blacklist-user",
    { user_id: freshId(), ...listing, server_ids: [world.guild.id] },
    { actor: requester },
  );
  const path = `/workflows/blacklist-user/${filed.body.id}`;
  const decide = async (body: object, actor: User = decider) => {
    const answer = await world.post(`${path}/decision`, body, { actor });
    expect(answer.status, JSON.stringify(answer.body)).toBe(200);
    return answer.body;
  };
  return {
    id: filed.body.id as string,
    path,
    requester,
    decider,
    decide,
    messages: () => world.sandbox.directMessages(requester).map(({ content }) => content),
    view: async () => (await world.get(path, { actor: decider })).body.data,
    effects: async (key: string): Promise<Row[]> =>
      (await world.get(path, { actor: decider })).body.data.effects.filter((effect: Row) => effect.key === key),
    /** Wait until an effect of a name has a status. */
    become: async (key: string, status: string, isMore: (effect: Row) => boolean = () => true) =>
      await until(
        () => world.get(path, { actor: decider }),
        ({ body }) => body.data.effects.some((effect: Row) => effect.key === key && effect.status === status && isMore(effect)),
        limit,
      ),
    reverse: async () => {
      for (const actor of [await world.staff("admin"), await world.staff("admin")])
        await decide({ decision: "reverse", reason: "It was somebody else, as we know now." }, actor);
    },
  };
}

/** What an approval would leave for the bot, left by hand behind the effects of a request. */
async function leave(requestId: string, key: string, action: DiscordActionDraft): Promise<void> {
  const { database, workflows } = shared.world.app;
  const left = { key, ...discordEffect(action, { id: uuid7(), detail: "The bot acts." }) };
  await database.write(system(), async (tx) => void (await workflows.effects.append(tx, await getWholeRequest(tx, requestId), [left])));
}

/** Whatever the bot is asked passes here first. */
function between(perform: (real: DiscordActions) => DiscordActions["perform"]): () => void {
  const { discord } = shared.world.app;
  const { actions } = discord;
  discord.actions = { perform: perform(actions) };
  return () => void (discord.actions = actions);
}

const onMember = (user: User) => ({ guildId: shared.world.guild.id, userId: user.id, reason: "CASE-000001" });
const effectEntries = async (id: string) =>
  await shared.world.app.database.read.auditEntry.findMany({ where: { action: "workflow.effect", targetId: id }, orderBy: { seq: "asc" } });

test("the requester of an approved request is told once, and the request stays as it was decided", async () => {
  const { id, decide, messages, effects, become, view } = await scene();
  const { reference, revision } = await decide({ decision: "approve", reason: "Three people saw it." });
  await become("notice.requester", "done");
  expect(messages()).toEqual([`**Harbour** approved your request (user blacklisting): *Three people saw it*.\nReference \`${reference}\``]);
  expect(await effects("notice.requester")).toMatchObject([{ status: "done", attempts: 1, last_error: null, due_at: null }]);
  expect(await view()).toMatchObject({ status: "approved", revision });
  const entries = await effectEntries(id);
  expect(entries).toHaveLength(1);
  const payloads = await shared.world.app.database.read.auditPayload.findMany({ where: { seq: { in: entries.map(({ seq }) => seq) } } });
  expect(JSON.stringify(payloads)).toContain("notice.requester");
  expect(JSON.stringify(payloads)).not.toContain("Three people saw it");
  expect(await deliver()).toBe(0);
  expect(messages()).toHaveLength(1);
});

test("a message that is not taken fails with its reason, the decision stands, and staff try it again", async () => {
  const { world } = shared;
  const { id, path, requester, decider, decide, messages, become, view } = await scene();
  world.sandbox.setDirectMessages(requester, false);
  await decide({ decision: "deny", reason: "There is not enough evidence." });
  await become("notice.requester", "failed");
  const failed = await view();
  expect(failed).toMatchObject({ status: "denied", revision: 2 });
  expect(failed.effects).toMatchObject([{ attempts: 1, last_error: "They don't accept messages from me.", due_at: null }]);
  const retry = (place: number, actor: User) => world.post(`${path}/effects/${place.toString()}/retry`, undefined, { actor });
  expect((await retry(1, await world.staff("viewer"))).body).toMatchObject({ code: "permission_denied" });
  expect((await retry(2, decider)).body).toMatchObject({ code: "record_not_found" });
  expect((await retry(0, decider)).body).toMatchObject({ code: "validation_failed" });
  expect(messages()).toEqual([]);
  expect(await effectEntries(id)).toHaveLength(1);
  const failures = await world.get(`/audit?outcome=failed&target=${id}`, { actor: decider });
  expect(failures.body.data).toMatchObject([{ action: "workflow.effect", outcome: "failed" }]);
  world.sandbox.setDirectMessages(requester, true);
  const again = await retry(1, decider);
  expect(again.body).toMatchObject({ success: true, status: "denied", revision: 2, effects: [{ status: "pending", attempts: 0 }] });
  await become("notice.requester", "done");
  expect(messages()).toHaveLength(1);
  expect((await retry(1, decider)).body).toMatchObject({ code: "invalid_transition", from: "done" });
  expect((await effectEntries(id)).map(({ actorId }) => actorId)).toEqual([null, decider.id, null]);
});

test("while Discord is away nothing is tried; afterwards the message arrives, once", async () => {
  const { world } = shared;
  const { decide, messages, effects, become } = await scene();
  const { status } = world.app.discord;
  const resume = pauseBot(world.app.discord);
  await decide({ decision: "approve" });
  const back = world.sandbox.faults.down(1500);
  await world.sandbox.waitFor(() => status().state !== "ready", limit);
  resume();
  await deliver();
  await back;
  await become("notice.requester", "done");
  expect(await effects("notice.requester")).toMatchObject([{ attempts: 1, last_error: null }]);
  expect(messages()).toHaveLength(1);
});

test("an answer that is lost on the way is asked for again, and the message stays one", async () => {
  const { world } = shared;
  const { decide, messages, effects, become } = await scene();
  const lost = world.sandbox.faults.rest({ route: "POST /channels/:id/messages", status: 502, late: true, times: 1 });
  await decide({ decision: "approve" });
  await become("notice.requester", "pending", ({ last_error }) => last_error !== null);
  expect(lost.hits).toBe(1);
  expect(messages()).toHaveLength(1);
  later(60);
  await deliver();
  await become("notice.requester", "done");
  expect(messages()).toHaveLength(1);
  expect(await effects("notice.requester")).toMatchObject([{ last_error: null }]);
});

test("a process that ends between the message and its note sends no second one", async () => {
  const { world } = shared;
  const { decide, messages, effects, become } = await scene();
  between((real) => async (...asked) => {
    await real.perform(...asked);
    throw new Error("the process ends here");
  });
  await decide({ decision: "approve" });
  await world.sandbox.waitFor(() => messages().length === 1, limit);
  await world.restart();
  expect(await effects("notice.requester")).toMatchObject([{ status: "pending", attempts: 1 }]);
  expect(await deliver()).toBe(0);
  later(61);
  await deliver();
  await become("notice.requester", "done");
  expect(await effects("notice.requester")).toMatchObject([{ attempts: 2 }]);
  expect(messages()).toHaveLength(1);
});

test("an approval that is taken back first leaves nothing for the bot to do", async () => {
  const { world } = shared;
  const { id, decide, reverse, effects } = await scene();
  const [person, role] = [world.member(), world.guild.createRole("never")];
  const resume = pauseBot(world.app.discord);
  await decide({ decision: "approve" });
  await leave(id, "test.role", { kind: "role_add", ...onMember(person), roleId: role.id });
  await reverse();
  resume();
  await deliver();
  expect(await effects("test.role")).toMatchObject([{ status: "skipped", attempts: 0, due_at: null }]);
  expect(await effects("test.role.undo")).toEqual([]);
  expect(world.guild.member(person)?.roles).toEqual([]);
  const wanted = world.sandbox.exchanges.filter(({ method, path }) => method === "PUT" && path.includes(person.id));
  expect(wanted).toEqual([]);
});

test("what the bot did for an approval is taken back with it, but never what stood before", async () => {
  const { world } = shared;
  const { id, decide, reverse, become } = await scene();
  const [newcomer, holder, banned] = [world.member(), world.member(), world.member()];
  const role = world.guild.createRole("given");
  world.guild.setRoles(holder, [role]);
  await decide({ decision: "approve" });
  await leave(id, "test.new", { kind: "role_add", ...onMember(newcomer), roleId: role.id });
  await leave(id, "test.held", { kind: "role_add", ...onMember(holder), roleId: role.id });
  await leave(id, "test.ban", { kind: "ban", ...onMember(banned) });
  await become("test.ban", "done");
  expect(world.guild.member(newcomer)?.roles).toEqual([role.id]);
  expect(world.guild.bans().map(({ user }) => user.id)).toEqual([banned.id]);
  await reverse();
  await become("test.ban.undo", "done");
  await become("test.new.undo", "done");
  expect(world.guild.member(newcomer)?.roles).toEqual([]);
  expect(world.guild.member(holder)?.roles).toEqual([role.id]);
  expect(world.guild.bans()).toEqual([]);
});

test.each([
  ["is noted", false],
  ["is never noted", true],
])("what is called off while the bot is at it is taken back, whether its end %s", async (_, isLost) => {
  const { world } = shared;
  const { id, decide, reverse, become, effects } = await scene();
  const [person, role] = [world.member(), world.guild.createRole("briefly")];
  await decide({ decision: "approve" });
  await become("notice.requester", "done");
  let letGo = (): void => undefined;
  const reversed = new Promise<void>((resolve) => (letGo = resolve));
  const restore = between((real) => async (action, earlier) => {
    const performed = await real.perform(action, earlier);
    if (action.kind !== "role_add") return performed;
    await reversed;
    if (isLost) throw new Error("nobody hears how it ended");
    return performed;
  });
  await leave(id, "test.role", { kind: "role_add", ...onMember(person), roleId: role.id });
  await world.sandbox.waitFor(() => world.guild.member(person)?.roles.includes(role.id) === true, limit);
  await reverse();
  expect(await effects("test.role")).toMatchObject([{ status: "skipped", attempts: 1 }]);
  letGo();
  if (isLost) {
    await deliver();
    expect(await effects("test.role.undo")).toEqual([]);
    later(61);
    await deliver();
  }
  await become("test.role.undo", "done");
  restore();
  expect(world.guild.member(person)?.roles).toEqual([]);
  expect(await effects("test.role")).toMatchObject([{ status: "reversed", due_at: null }]);
});
