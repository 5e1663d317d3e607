import type { Wording } from "../../../commands/entry.ts";
import { textIn } from "../../../commands/input.ts";
import { unlessRefused } from "../../../commands/records.ts";
import type { Verbs } from "../../../commands/verbs.ts";
import type { Reply } from "../../../discord/command.ts";
import type { Call } from "../../../kernel/call.ts";
import { annotated } from "../../../operations/route.ts";
import { decisionText } from "./replies.ts";
import { repliedSeconds } from "../requests/watching.ts";
import type { DecisionAnswer, WorkflowView } from "../requests/workflows.schema.ts";

type Effects = DecisionAnswer["effects"];

/** What a reply reports on: a request that was decided, and what the decision did so far. */
export interface Decided {
  id: string;
  type: string;
  effects: Effects;
}

/** In milliseconds: how long the first reply waits for an outcome, and how long it is replaced. */
const waits = { first: 2000, all: repliedSeconds * 1000, poll: 2000, longestPoll: 15_000 };

/** Whether something is still to be done now, and not at a date or once a person returns. */
function isUnderWay({ status, key, due_at: due }: Effects[number]): boolean {
  return (
    status === "pending" &&
    due !== null &&
    (key.startsWith("discord.") || key.startsWith("notice.")) &&
    key !== "discord.ban_end" &&
    key !== "notice.trial_review"
  );
}

/**
 * A reply that says what has happened, and is replaced as more happens: it waits a moment for the outcome, and is edited for as long as the
 * interaction can be answered.
 * @param word the reply for the effects as they are
 */
export async function reportOutcome(
  { id, type, effects }: Decided,
  word: (effects: Effects) => Reply,
  call: Call,
  verbs: Verbs,
): Promise<Reply> {
  const begun = performance.now();
  let seen = effects;

  /** @returns whether anything is otherwise than before */
  async function changed(ms: number): Promise<boolean> {
    const end = performance.now() + ms;
    for (let poll = waits.poll; performance.now() < end; poll = Math.min(poll * 1.5, waits.longestPoll)) {
      const written = verbs.requests.changed(id, Math.min(poll, Math.max(1, end - performance.now())));
      const now = (await readEffects({ id, type }, call, verbs)) ?? seen;
      if (JSON.stringify(now) !== JSON.stringify(seen)) {
        seen = now;
        return true;
      }
      await written;
    }
    return false;
  }

  function reply(): Reply {
    return { ...word(seen), ...(seen.some(isUnderWay) && { next }) };
  }

  async function next(): Promise<Reply | undefined> {
    const left = waits.all - (performance.now() - begun);
    return left > 0 && (await changed(left)) ? reply() : undefined;
  }

  while (seen.some(isUnderWay)) {
    const left = waits.first - (performance.now() - begun);
    if (left <= 0 || !(await changed(left))) break;
  }
  return reply();
}

/** What came of a decision about a located request, until its effects have an outcome. @param verb the move that was made */
export function decidedReply(answer: DecisionAnswer, verb: string, { t, given, call }: Wording, verbs: Verbs): Promise<Reply> {
  const word = (effects: Effects): Reply => ({ content: decisionText({ ...answer, effects }, t, verb) });
  return reportOutcome({ ...answer, type: textIn(given, "type") ?? "" }, word, call, verbs);
}

/** One of several requests whose act in Discord has an outcome. */
export interface Settled {
  reference: string;
  userId: string;
  /** Why it was not done, and whether it failed: otherwise it was called off, or was so before. Absent where it was done. */
  not?: { why: string; isFailed: boolean };
}

/** One of several requests that were decided together, each about one person. */
export interface OneOfSeveral {
  id: string;
  reference: string;
  user_id: string;
}

/** How often a reply about several people is replaced, in milliseconds. */
const severalMs = 4000;

/**
 * A reply that counts the outcomes of several acts, one request after the other.
 * @param word the reply for the outcomes that are known
 */
export function reportSeveral(
  requests: readonly OneOfSeveral[],
  word: (outcomes: readonly Settled[]) => Reply,
  call: Call,
  verbs: Verbs,
): Promise<Reply> {
  const begun = performance.now();
  const left = [...requests];
  const outcomes: Settled[] = [];

  async function settleFirst([{ id, reference, user_id: userId }]: [OneOfSeveral, ...OneOfSeveral[]], ms: number): Promise<void> {
    const written = verbs.requests.changed(id, ms);
    const effects = await readEffects({ id, type: "punishment" }, call, verbs);
    if (effects === undefined || effects.some(isUnderWay)) return await written;
    outcomes.push({ reference, userId, ...notDoneOf(effects.find(({ key }) => key === "discord.punish")) });
    left.shift();
  }

  async function next(): Promise<Reply | undefined> {
    const since = performance.now();
    for (;;) {
      const [first, ...others] = left;
      const ms = severalMs - (performance.now() - since);
      if (first === undefined || ms <= 0) break;
      await settleFirst([first, ...others], ms);
    }
    if (left.length > 0 && performance.now() - begun > waits.all) return undefined;
    return { ...word(outcomes), ...(left.length > 0 && { next }) };
  }

  return Promise.resolve({ ...word(outcomes), next });
}

function notDoneOf(act: Effects[number] | undefined): Pick<Settled, "not"> {
  if (act?.status === "failed") return { not: { why: act.error?.detail ?? "", isFailed: true } };
  return act?.status === "skipped" || act?.changed === false ? { not: { why: act.detail, isFailed: false } } : {};
}

async function readEffects({ id, type }: Pick<Decided, "id" | "type">, call: Call, verbs: Verbs): Promise<Effects | undefined> {
  const view = await unlessRefused(
    async () => annotated(await verbs.run("getWorkflow", call, { params: { type, id } })).view as WorkflowView,
  );
  return view?.effects;
}
