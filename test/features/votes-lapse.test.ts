import { beforeAll, describe, expect, test } from "vitest";
import type { User } from "../../sandbox/index.ts";
import { shareWorld, staffAtConsole } from "../contract/world.ts";
import { shortPauses } from "./review-cards-ground.ts";

const shared = shareWorld({ pauses: shortPauses });
const cast: Record<"owner" | "requester", User> = {} as never;
const reviews = { id: "" };
beforeAll(async () => {
  const { world } = shared;
  [cast.owner, cast.requester] = [await world.staff("owner"), await world.staff("moderator")];
  reviews.id = world.guild.createChannel("reviews").id;
  const chosen = await world.put(`/channels/${world.guild.id}`, { review: reviews.id }, { actor: cast.owner });
  expect(chosen.status, JSON.stringify(chosen.body)).toBe(200);
});

const reason = "It was looked into by two people.";
const kind = "blacklist-user";
const voter = () => shared.world.staff("admin");

/** A request that two approvals decide. */
async function file(subject: User = shared.world.member()): Promise<string> {
  const body = { discordUserId: subject.id, category: "raid", severity: "critical", reason: "Led the raid of last night." };
  const filed = await shared.world.post(`/workflows/${kind}`, body, { actor: cast.requester });
  expect(filed.status, JSON.stringify(filed.body)).toBe(201);
  return filed.body.reference as string;
}

const decide = (reference: string, actor: User, decision = "approve", query = "") =>
  shared.world.post(`/workflows/${kind}/${reference}/decision${query}`, { decision, reason }, { actor });
const view = async (reference: string) => (await shared.world.get(`/workflows/${kind}/${reference}`, { actor: cast.owner })).body.data;
const lapsedIn = async (reference: string): Promise<string[]> =>
  (await view(reference)).approvals.votes.flatMap((vote: any) => (vote.lapsed_at === null ? [] : [vote.actor.id]));

/** One vote of somebody. */
async function vote(reference: string, actor: User, decision = "approve") {
  const answer = await decide(reference, actor, decision);
  expect(answer.status, JSON.stringify(answer.body)).toBe(200);
  return answer.body;
}

async function link(one: User, other: User): Promise<void> {
  const basis = [{ type: "admission", note: "Said so in a ticket." }];
  const body = { user_id: other.id, confidence: "confirmed", kind: "declared_alt", basis };
  const linked = await shared.world.post(`/users/${one.id}/links`, body, { actor: cast.owner });
  expect(linked.status, JSON.stringify(linked.body)).toBe(201);
}

const deny = (person: User, key: string, effect: "deny" | "clear" = "deny") =>
  shared.world.patch(`/permissions/users/${person.id}`, { overrides: [{ key, effect, reason }] }, { actor: cast.owner });

/** What keeps somebody from voting who has voted. */
const losses: Readonly<Record<string, (voter: User, subject: User) => unknown>> = {
  "was suspended": ({ id }) => shared.world.post(`/staff/${id}/suspend`, { reason }, { actor: cast.owner }),
  "left the server": (person) => shared.world.guild.leave(person),
  "lost their roles": (person) => shared.world.guild.setRoles(person, []),
  "was denied the permission": (person) => deny(person, `workflows.${kind}.decide`),
  "turned out to be the subject": (person, subject) => link(person, subject),
  "turned out to be the requester": (person) => link(person, cast.requester),
  "is outranked by the subject now": (_person, subject) => shared.world.guild.setRoles(subject, [shared.world.roles.owner]),
};

describe("the vote of somebody who", () => {
  test.for(Object.keys(losses))("%s does not count when the next one arrives", async (what) => {
    const { world } = shared;
    const subject = world.member();
    const [first, second] = [await voter(), await voter()];
    const reference = await file(subject);
    expect((await vote(reference, first)).approvals).toEqual({ have: 1, required: 2 });
    await losses[what]?.(first, subject);
    // Whom the subject outranks by now is as little fit as the one who has voted.
    const decider = what.startsWith("is outranked") ? cast.owner : second;
    const answer = await vote(reference, decider);
    expect(answer).toMatchObject({ final: false, status: "in_review", approvals: { have: 1, required: 2, lapsed: [first.id] } });
    expect(answer.effects).toEqual([]);
    expect(await lapsedIn(reference)).toEqual([first.id]);
    const { id, approvals, decision } = await view(reference);
    expect([approvals.have, decision]).toEqual([1, null]);
    expect(await world.app.database.read.blacklistRecord.count({ where: { subjectId: subject.id } })).toBe(0);
    const [entry] = (await world.get(`/audit?target=${reference}&action_prefix=workflow.vote`)).body.data;
    expect(entry.after).toMatchObject({ lapsed: [first.id], have: 1 });
    const events = await world.app.database.read.outboxEvent.findMany({ where: { type: "workflow.voted" }, orderBy: { seq: "asc" } });
    const told = events.map(({ data }) => data as any).filter(({ request_id: of }) => of === id);
    expect(told.map(({ lapsed }) => lapsed)).toEqual([undefined, [first.id]]);
  });
});

test("a third person who may decides, and the answer and the card in Discord name whose vote lapsed", async () => {
  const { world } = shared;
  const [first, second, third] = [await voter(), await staffAtConsole(world, "admin"), await voter()];
  const reference = await file();
  await vote(reference, first);
  await deny(first, `workflows.${kind}.decide`);
  const run = await world.sandbox.as(second).in(world.guild).runSlashCommand("review approve", { reference, reason });
  await run.reply();
  await run.clickButton("Yes, do it");
  await world.sandbox.waitFor(() => run.current()?.components.length === 0);
  expect(run.current()?.content).toContain("1 of 2 approvals");
  expect(run.current()?.content).toContain(`The vote of <@${first.id}> no longer counts`);
  const cards = () => [...(world.sandbox.inside.world.channels.get(reviews.id)?.messages.values() ?? [])];
  const field = { name: "Votes that no longer count", value: `<@${first.id}>` };
  await world.sandbox.waitFor(() =>
    cards().some(
      ({ embeds: [card] }) =>
        card?.title === reference && card.fields?.some((one) => one.name === field.name && one.value === field.value) === true,
    ),
  );
  expect(await vote(reference, third)).toMatchObject({ final: true, status: "approved", approvals: { have: 2, required: 2 } });
  const { data } = (await world.get(`/workflows/${kind}/${reference}/history`, { actor: cast.owner })).body;
  expect(data.map(({ action, data: { lapsed } }: any) => [action, lapsed])).toEqual([
    ["create", undefined],
    ["approve", undefined],
    ["approve", [first.id]],
    ["approve", undefined],
  ]);
});

test("whose vote lapsed votes again once they may, and decides", async () => {
  const [first, second] = [await voter(), await voter()];
  const reference = await file();
  await vote(reference, first);
  await deny(first, `workflows.${kind}.decide`);
  expect((await vote(reference, second)).approvals.lapsed).toEqual([first.id]);
  expect((await decide(reference, first)).status).toBe(403);
  await deny(first, `workflows.${kind}.decide`, "clear");
  const again = await vote(reference, first);
  expect([again.final, again.replayed, again.approvals]).toEqual([true, undefined, { have: 2, required: 2 }]);
  expect(await lapsedIn(reference)).toEqual([]);
});

test("a vote whose author only lost something else still counts, also one from before an escalation", async () => {
  const [first, second, third] = [await shared.world.staff("senior"), await voter(), await voter()];
  const reference = await file();
  await vote(reference, first);
  await deny(first, "workflows.claim");
  await deny(first, "workflows.decide_escalated");
  expect((await decide(reference, cast.owner, "escalate")).status).toBe(200);
  expect((await vote(reference, second)).approvals).toEqual({ have: 2, required: 3 });
  expect(await vote(reference, third)).toMatchObject({ status: "approved", approvals: { have: 3, required: 3 } });
  expect(await lapsedIn(reference)).toEqual([]);
});

test("a vote that was cast on a higher tier lapses with the right to decide there", async () => {
  const [first, second] = [await voter(), await voter()];
  const reference = await file();
  expect((await decide(reference, cast.owner, "escalate")).status).toBe(200);
  await vote(reference, first);
  await deny(first, "workflows.decide_escalated");
  expect((await vote(reference, second)).approvals).toEqual({ have: 1, required: 3, lapsed: [first.id] });
});

describe("two accounts of one person", () => {
  test("have one vote: the later one counts", async () => {
    const [first, twin, other] = [await voter(), await voter(), await voter()];
    const reference = await file();
    await link(first, twin);
    await vote(reference, first);
    expect(await vote(reference, twin)).toMatchObject({ final: false, approvals: { have: 1, lapsed: [first.id] } });
    expect((await vote(reference, first)).approvals).toEqual({ have: 1, required: 2, lapsed: [twin.id] });
    expect((await vote(reference, other)).final).toBe(true);
    expect(await lapsedIn(reference)).toEqual([twin.id]);
  });

  test("have one vote, too, where it is found out after both have voted", async () => {
    const [first, twin, other, last] = [await voter(), await voter(), await voter(), await voter()];
    const reference = await file();
    expect((await decide(reference, cast.owner, "escalate")).status).toBe(200);
    await vote(reference, first);
    await vote(reference, twin);
    await link(twin, first);
    expect(await vote(reference, other)).toMatchObject({ final: false, approvals: { have: 2, required: 3, lapsed: [first.id] } });
    expect((await vote(reference, last)).final).toBe(true);
  });

  test("do not take back alone what one of them decided", async () => {
    const [first, twin, other] = [await voter(), await voter(), await voter()];
    const filed = await shared.world.post(
      "/workflows/punishment",
      { user_id: shared.world.member().id, action: "warning", reason: "Led the raid of last night." },
      { actor: cast.requester },
    );
    const path = `/workflows/punishment/${filed.body.reference}/decision`;
    const say = (decision: string, actor: User) => shared.world.post(path, { decision, reason }, { actor });
    expect((await say("approve", first)).body.status).toBe("approved");
    await link(first, twin);
    const refused = await say("reverse", twin);
    expect([refused.status, refused.body.code]).toEqual([403, "conflict_of_interest"]);
    expect((await say("reverse", other)).body.status).toBe("reversed");
  });
});

test("the objection of somebody who may not decide any more cancels no approval", async () => {
  const [first, second, third] = [await voter(), await voter(), await voter()];
  const reference = await file();
  await vote(reference, first, "object");
  await vote(reference, second);
  await deny(first, `workflows.${kind}.decide`);
  expect(await vote(reference, third)).toMatchObject({ status: "approved", approvals: { have: 2, lapsed: [first.id] } });
});

test("a vote to take an approval back is judged as well", async () => {
  const [first, second, third, fourth, fifth] = [await voter(), await voter(), await voter(), await voter(), await voter()];
  const reference = await file();
  for (const person of [first, second]) await vote(reference, person);
  expect((await vote(reference, third, "reverse")).final).toBe(false);
  await shared.world.post(`/staff/${third.id}/suspend`, { reason }, { actor: cast.owner });
  expect(await vote(reference, fourth, "reverse")).toMatchObject({ final: false, status: "approved", approvals: { lapsed: [third.id] } });
  // The approvals stand, whoever gave them: they have had their effect.
  await deny(first, `workflows.${kind}.decide`);
  expect((await vote(reference, fifth, "reverse")).status).toBe("reversed");
});

test("a dry run says that the vote would not decide, and lets nothing lapse", async () => {
  const [first, second] = [await voter(), await voter()];
  const reference = await file();
  await vote(reference, first);
  await deny(first, `workflows.${kind}.decide`);
  const tried = await decide(reference, second, "approve", "?dry_run=true");
  expect(tried.body).toMatchObject({ dry_run: true, final: false, approvals: { have: 1, lapsed: [first.id] } });
  expect(await lapsedIn(reference)).toEqual([]);
});

test("where votes are blind, nobody learns of a lapsed one who has not voted", async () => {
  const { world } = shared;
  const policy = await world.patch(`/workflows/policies/${kind}`, { blind_votes: true }, { actor: cast.owner });
  expect(policy.status, JSON.stringify(policy.body)).toBe(200);
  try {
    const [first, second] = [await voter(), await voter()];
    const reference = await file();
    await vote(reference, first);
    await deny(first, `workflows.${kind}.decide`);
    expect((await decide(reference, second, "approve", "?dry_run=true")).body.approvals.lapsed).toBeUndefined();
    expect((await vote(reference, second)).approvals.lapsed).toEqual([first.id]);
    expect(await lapsedIn(reference)).toEqual([]);
    const { id } = await view(reference);
    const events = await world.app.database.read.outboxEvent.findMany({ where: { type: "workflow.voted" } });
    const told = events.map(({ data }) => data as any).filter(({ request_id: of }) => of === id);
    expect(told.map(({ lapsed }) => lapsed)).toEqual([undefined, undefined]);
  } finally {
    await world.delete(`/workflows/policies/${kind}`, undefined, { actor: cast.owner });
  }
});
