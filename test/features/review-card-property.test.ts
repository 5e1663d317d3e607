import type { APIEmbed } from "discord.js";
import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { queueBoard, personalCard, sharedCard } from "../../src/features/workflows/commands/card.ts";
import { translator, type Translate } from "../../src/kit/say.ts";
import type { CardMessage } from "../../src/discord/rest/cards.ts";
import { actions, openStatuses, statuses } from "../../src/features/workflows/state/table.ts";
import { WorkflowView } from "../../src/features/workflows/requests/workflows.schema.ts";
import { workflowKinds } from "../../src/kernel/vocabulary.ts";
import { hostileTexts, hostileValue } from "../support/hostile.ts";
import { messageProblems } from "../support/openapi-limits.ts";
import { sizeOf } from "../support/size.ts";

const say = fc.constantFrom(...["en-GB", "de"].map(translator));
const openStates = new Set<string>(openStatuses);

const text = (most: number): fc.Arbitrary<string> =>
  fc
    .oneof(
      fc.constantFrom(...hostileTexts),
      fc.constantFrom(...hostileTexts).map((one) => one.repeat(Math.ceil(most / one.length))),
      fc.string({ unit: "binary", maxLength: most }),
      fc.constantFrom("", " ", "\n\n", "plain"),
    )
    .map((one) => one.slice(0, most));
const snowflake = fc.bigInt({ min: 10n ** 16n, max: 2n ** 63n - 1n }).map(String);
const reference = fc
  .tuple(
    fc.stringMatching(/^[A-Z]{2,8}$/),
    fc.constantFrom("-", "-REQ-"),
    fc.integer({ min: 0, max: 999_999_999 }).map((n) => n.toString().padStart(6, "0")),
  )
  .map((parts) => parts.join(""));
const moment = fc
  .date({ min: new Date("2015-01-01T00:00:00Z"), max: new Date("2100-01-01T00:00:00Z"), noInvalidDate: true })
  .map((at) => at.toISOString());
const person = fc.record({
  id: snowflake,
  username: text(32),
  display_name: text(32),
  avatar_url: fc.constant(null),
  in_community: fc.boolean(),
});
const orNull = <T>(one: fc.Arbitrary<T>) => fc.option(one, { nil: null });
const orAbsent = <T>(one: fc.Arbitrary<T>) => fc.option(one, { nil: undefined });
const many = <T>(one: fc.Arbitrary<T>, most: number) => fc.array(one, { maxLength: most, size: "max" });
const said = { by: fc.oneof(snowflake, text(40)), at: moment, reason_public: orNull(text(1000)), reason_internal: orNull(text(2000)) };

/** What may be in a payload: whatever JSON holds, under the names that the kinds use and under others. */
const payload = fc.dictionary(
  fc.oneof(fc.constantFrom("user_id", "reason", "servers", "evidence_links", "duration"), text(60)),
  fc.oneof(text(4000), fc.jsonValue({ maxDepth: 3 }), many(text(300), 30), person, moment, fc.constant(null)),
  { maxKeys: 30, size: "max" },
);

/** Any request with everything in it as long and as hostile as it can get, or not there at all. */
const anyView = fc
  .record({
    seed: fc.nat(500),
    reference,
    type: fc.constantFrom(...workflowKinds),
    status: fc.constantFrom(...statuses),
    revision: fc.oneof(fc.integer({ min: 1, max: 50 }), fc.constant(2 ** 31 - 1)),
    urgent: fc.boolean(),
    title: text(120),
    summary: text(2000),
    payload,
    requester: orNull(person),
    subjects: many(
      fc.oneof(
        fc.record({ kind: fc.constantFrom("user", "server"), id: snowflake }),
        fc.record({ kind: fc.constant("record"), id: text(100) }),
      ),
      40,
    ),
    assignment: orNull(fc.record({ user: person, by: orNull(snowflake), since: moment, expires_at: orNull(moment), live: fc.boolean() })),
    hold: orNull(
      fc.record({ by: orNull(snowflake), at: moment, reason: fc.option(text(1000), { nil: undefined }), reference: orNull(reference) }),
    ),
    escalation: orNull(fc.record({ tier: fc.integer({ min: 1, max: 9 }), by: orNull(snowflake), at: moment, reason: orNull(text(1000)) })),
    questions: many(text(500), 30),
    checks: orAbsent(
      many(fc.record({ key: text(60), result: fc.constantFrom("pass", "warn", "fail"), detail: text(500), at: moment }), 30),
    ),
    approvals: fc.record({
      have: orAbsent(fc.integer({ min: -5, max: 99 })),
      required: fc.integer({ min: 1, max: 99 }),
      reversals_required: fc.integer({ min: 1, max: 9 }),
      votes: fc.constant([]),
    }),
    decision: orNull(fc.record({ outcome: fc.constantFrom("approved", "denied"), ...said, policy_refs: many(text(60), 9) })),
    effects: many(
      fc.record({
        key: text(60),
        status: fc.constantFrom("planned", "applied", "pending", "done", "failed", "skipped", "reversed"),
        detail: text(500),
        attempts: fc.nat(9),
        last_error: orNull(text(500)),
        due_at: orNull(moment),
      }),
      30,
    ),
    timers: fc.record({
      due_first_touch_at: orNull(moment),
      due_decision_at: orNull(moment),
      expires_at: orNull(moment),
      info_due_at: orNull(moment),
      paused_at: orNull(moment),
    }),
  })
  .map(({ seed, ...view }) => ({ ...(hostileValue(WorkflowView, seed) as WorkflowView), ...view }) as unknown as WorkflowView);

const problemsOf = (card: CardMessage) =>
  messageProblems({ ...card, allowed_mentions: { parse: [] } } as unknown as Parameters<typeof messageProblems>[0]);

type Control = { type: number; custom_id: string; disabled?: boolean; options?: { value: string }[] };
const controlsOf = ({ components }: CardMessage): Control[] => components.flatMap((row) => row.components as unknown as Control[]);
const fieldIn = (card: CardMessage, name: string) => (card.embeds[0] as APIEmbed).fields?.find((field) => field.name === name)?.value;
const acts: Readonly<Record<string, string>> = {
  claim: "claim",
  approve: "approve",
  deny: "deny",
  ask: "request_info",
  escalate: "escalate",
  hold: "hold",
  release: "release",
  reverse: "reverse",
  reopen: "reopen",
  void: "void",
};

/** A custom id as the control that is pressed reads it: parts between colons. */
function expectPressable(
  card: CardMessage,
  { reference: name, revision }: Pick<WorkflowView, "reference" | "revision">,
  mode: string[],
): void {
  for (const { type, custom_id: id, options = [] } of controlsOf(card)) {
    expect(id.length).toBeLessThanOrEqual(100);
    const [wf, verb = "", ...rest] = id.split(":");
    expect([wf, ...rest]).toEqual(["wf", name, revision.toString(), ...mode]);
    if (type === 2) expect(acts).toHaveProperty(verb);
    else expect(verb).toBe("more");
    for (const { value } of options) expect([...Object.keys(acts), "evidence", "history"]).toContain(value);
  }
}

function expectState(card: CardMessage, view: WorkflowView, words: Translate): void {
  expect(fieldIn(card, words("card state"))).toBe(words(`= ${view.status}`));
  const { have, required } = view.approvals;
  const votes = have === undefined ? words("card votes-hidden", { required }) : `${have.toString()}/${required.toString()}`;
  expect(fieldIn(card, words("card votes"))).toBe(votes);
}

const runs = { numRuns: sizeOf({ quick: 80, all: 150, long: 4000 }) };

describe("the card of a request", () => {
  test("in a channel is within every limit, always tells state and votes, and its buttons say what they mean", () => {
    fc.assert(
      fc.property(anyView, say, (view, words) => {
        const isOpen = openStates.has(view.status);
        const card = sharedCard({ isOpen, view }, words);
        expect(problemsOf(card)).toEqual([]);
        expectState(card, view, words);
        expectPressable(card, view, []);
        expect(card.components.length).toBe(isOpen ? 2 : 0);
        expect(card.embeds[0]?.title).toContain(view.reference);
        const lines = (card.embeds[0]?.description ?? "").split("\n");
        const filed = words("line filed", { user: `<@${view.requester?.id ?? ""}` });
        expect(lines.some((line) => line.startsWith(filed))).toBe(view.requester !== null);
      }),
      runs,
    );
  });

  test("for one person offers exactly what they may do, and keeps state and votes beside the longest history", () => {
    const allowed = fc.uniqueArray(fc.constantFrom(...actions)).map((some) => new Set<string>(some));
    fc.assert(
      fc.property(anyView, say, allowed, orAbsent(text(3000)), (view, words, may, history) => {
        const card = personalCard(view, { t: words, allowed: may, ...(history !== undefined && { history }) });
        expect(problemsOf(card)).toEqual([]);
        expectState(card, view, words);
        expectPressable(card, view, ["me"]);
        const controls = controlsOf(card);
        const buttons = controls.filter(({ type }) => type === 2);
        const usable = ["claim", "approve", "deny", "ask"].filter((verb) => may.has(acts[verb] ?? ""));
        expect(buttons.map(({ custom_id: id }) => id.split(":")[1])).toEqual(openStates.has(view.status) ? usable : []);
        const offered = (controls.at(-1)?.options ?? []).map(({ value }) => value).filter((value) => acts[value] !== undefined);
        const further = ["escalate", "hold", "release", "reverse", "reopen", "void"];
        expect(offered).toEqual(further.filter((verb) => may.has(verb)));
      }),
      runs,
    );
  });

  test("has nothing of what people wrote in effect", () => {
    fc.assert(
      fc.property(anyView, say, (view, words) => {
        const embed = personalCard(view, { t: words, allowed: new Set() }).embeds[0] as APIEmbed;
        const texts = [embed.title ?? "", embed.description ?? "", ...(embed.fields ?? []).flatMap(({ name, value }) => [name, value])];
        for (const shown of texts)
          expect(shown.replaceAll(/\\[\s\S]/g, "").replaceAll(/^\*\*|\*\*(?=\n|$|…)/g, "")).not.toMatch(
            /@everyone|<@&|<@!|\]\(|\*\*|https?:|```|\|\|/,
          );
      }),
      runs,
    );
  });
});

test("the board is within every limit and counts all that waits, whatever waits", () => {
  const count = fc.record({ type: fc.constantFrom(...workflowKinds), status: fc.constantFrom(...openStatuses), count: fc.nat(1e6) });
  const queue = fc.record({
    counts: fc.uniqueArray(count, { selector: (one) => `${one.type} ${one.status}`, maxLength: 36, size: "max" }),
    oldest: orNull(fc.record({ reference, at: moment.map((at) => new Date(at)) })),
    overdue: fc.nat(1e6),
  });
  fc.assert(
    fc.property(queue, say, (shown, words) => {
      const card = queueBoard(shown, words);
      expect(problemsOf(card)).toEqual([]);
      const total = shown.counts.reduce((sum, one) => sum + one.count, 0);
      expect(card.embeds[0]?.title).toBe(words("board title", { total }));
      for (const one of total === 0 ? [] : shown.counts)
        expect(card.embeds[0]?.description).toContain(`${words(`= ${one.status}`)}: ${one.count.toString()}`);
    }),
    runs,
  );
});
