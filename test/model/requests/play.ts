import { amended, bodyOf, decisionOf } from "./bodies.ts";
import { filed, hasOpenTwin, joined, judgeFiling } from "./filing.ts";
import { begin, blockersOf, carryOut, inForce, reopenedBy, takeBack } from "./force.ts";
import { sweepRoster } from "./force.people.ts";
import { runMerges } from "./force.servers.ts";
import type { Reply, RequestsGround } from "./ground.ts";
import { allowedTo, canSee, judge, lapse, mayAsk, sumOf, withVote, type Judged, type Next } from "./machine.ts";
import { emptyModel, leaseMinutes, nth, open, requiredFor, statusOf, type Model, type Request } from "./model.ts";
import { people, told, type Act, type Person, type Step } from "./steps.ts";
import { has } from "./rights.ts";

/** What happened until something disagreed, in words. */
class Disagreement extends Error {
  override name = "Disagreement";
}

/** Between two steps time passes, however little. */
const moment = 1e-5;

/** A sequence under way. */
interface Play {
  ground: RequestsGround;
  model: Model;
  /** How every step was answered, such as `approve 200`. */
  answers: string[];
  story: string[];
  /** Counts up, so that each look is another person's. */
  looks: number;
}

/** Play a sequence against the service and the model. @returns how every step was answered @throws Disagreement that tells the whole sequence */
export async function play(ground: RequestsGround, steps: readonly Step[]): Promise<string[]> {
  await ground.renew();
  const it: Play = { ground, model: emptyModel(), answers: [], story: [], looks: 0 };
  try {
    for (const step of steps) {
      it.story.push(told(step));
      await playOne(it, step);
    }
    await requireForce(it);
    return it.answers;
  } catch (error) {
    const lines = it.story.map((line, index) => `${(index + 1).toString().padStart(3)}. ${line}`);
    throw new Disagreement(`${lines.join("\n")}\n     ${error instanceof Error ? error.message : String(error)}`, { cause: error });
  }
}

async function playOne(it: Play, step: Step): Promise<void> {
  it.model.now += moment;
  switch (step.do) {
    case "file":
      return await file(it, step);
    case "act": {
      const request = nth(it.model.requests, step.which);
      if (request === undefined) return;
      const action = step.legal === null ? undefined : nth(allowedTo(it.model, request, step.by), step.legal);
      if (action !== undefined) it.story.push(`    ${action} of ${request.reference}`);
      return await act(it, request, { ...step, action: action ?? step.action });
    }
    case "try": {
      const request = nth(it.model.requests, step.which);
      return request === undefined ? undefined : await tryOut(it, request, step);
    }
    case "settle": {
      const request = nth(it.model.requests, step.which);
      return request === undefined ? undefined : await settle(it, request, step.how);
    }
    case "pass":
      return await pass(it, step);
  }
}

async function file(it: Play, { by, draft: wanted, joins }: Extract<Step, { do: "file" }>): Promise<void> {
  const { ground, model } = it;
  const targets = model.requests.filter(({ draft }) => draft.kind !== "appeal");
  const target = wanted.kind === "appeal" ? nth(targets, wanted.which) : undefined;
  if (wanted.kind === "appeal" && target === undefined) return;
  const draft = wanted.kind === "appeal" ? { ...wanted, which: target?.place ?? 0 } : wanted;
  const expected = judgeFiling(model, by, draft, joins);
  const body = { ...bodyOf(ground, model, draft), on_duplicate: joins ? "join" : "refuse" };
  const reply = await ground.ask(by, "POST", `/workflows/${draft.kind}`, body);
  note(it, `file ${draft.kind}`, reply);
  if ("refused" in expected) return requireRefused(reply, expected.refused);
  requireEqual("status", reply.status, 201, reply);
  if ("joined" in expected) {
    requireEqual(
      "joined",
      [reply.body.joined, reply.body.reference, reply.body.status],
      [true, expected.joined.reference, statusOf(model, expected.joined)],
      reply,
    );
    joined(expected.joined, by);
    return await look(it, expected.joined);
  }
  requireEqual("filed", [reply.body.joined, reply.body.status], [undefined, "pending"], reply);
  await look(it, filed(model, by, draft, reply.body));
}

async function act(it: Play, request: Request, step: Act): Promise<void> {
  const { model } = it;
  const { by, action } = step;
  const change = action === "amend" ? amended(request.draft, step).draft : request.draft;
  const isChanged = JSON.stringify(change) !== JSON.stringify(request.draft);
  const expected = judgeWhole(model, request, by, { ...step, isChanged });
  const reply = await decide(it, request, step);
  note(it, action, reply);
  if ("refused" in expected) requireRefused(reply, expected.refused);
  else {
    requireEqual("status", reply.status, 200, reply);
    const isReplay = "replayed" in expected;
    requireEqual("replayed", reply.body.replayed ?? false, isReplay, reply);
    if (!isReplay) {
      apply(model, request, step, expected.next, change);
      await requireForce(it);
    }
    const isFinal =
      isReplay || expected.next.vote === undefined
        ? !open.includes(statusOf(model, request))
        : ["approved", "denied", "reversed"].includes(expected.next.status ?? "");
    requireEqual(
      "answer",
      [reply.body.status, reply.body.final, reply.body.revision, reply.body.approvals.required],
      [statusOf(model, request), isFinal, request.revision, request.required + request.tier],
      reply,
    );
    const counted = isReplay ? lapse(model, request, by, action) : request;
    if (reply.body.approvals.have !== undefined) requireEqual("approvals", reply.body.approvals.have, Math.max(0, sumOf(counted)), reply);
  }
  await look(it, request);
}

const decide = ({ ground }: Play, request: Request, step: Act, query = ""): Promise<Reply> =>
  ground.ask(step.by, "POST", `/workflows/${request.draft.kind}/${request.reference}/decision${query}`, decisionOf(ground, request, step));

/** Whether it may be asked and is there at all; then the move itself; then what the effects need. */
function judgeWhole(model: Model, request: Request, by: Person, attempt: Act & { isChanged: boolean }): Judged {
  const refusal = unseen(model, request, by, attempt.action);
  if (refusal !== undefined) return refusal;
  const judged = judge(model, request, by, attempt);
  if (!("next" in judged)) return judged;
  if (attempt.action === "reopen" && hasOpenTwin(model, request, by)) return { refused: [409, "duplicate_open"] };
  const isStuck = judged.next.status === "reversed" && request.isStuck();
  const isBlocked = judged.next.status === "approved" && unwaived(model, request, attempt).length > 0;
  if (isStuck || isBlocked) return { refused: [409, "invalid_transition"] };
  return judged.next.status === "approved" && hasTwinReopened(model, request, attempt) ? { refused: [409, "duplicate_open"] } : judged;
}

/** Whether the request that an appeal sends back was filed once more meanwhile. */
function hasTwinReopened(model: Model, request: Request, { by, ruling }: Pick<Act, "by" | "ruling">): boolean {
  const target = reopenedBy(model, request, ruling);
  return target !== undefined && hasOpenTwin(model, target, by);
}

function unseen(model: Model, request: Request, by: Person, action: Act["action"]): Judged | undefined {
  if (!mayAsk(request, by, action)) return { refused: [403, "permission_denied"] };
  return canSee(model, request, by) ? undefined : { refused: [404, "record_not_found"] };
}

function unwaived(model: Model, request: Request, { by, ruling, override }: Act) {
  const isWaived = override && has(by, "workflows.override");
  return blockersOf(model, request, { by, ruling, isAgain: false }).filter(({ isWaivable }) => !(isWaivable && isWaived));
}

/** Write a move into the model, domain.md §2.4. */
function apply(model: Model, request: Request, step: Act, next: Next, change: Request["draft"]): void {
  const { by, action } = step;
  const before = statusOf(model, request);
  if (action === "reopen") begin(model, request);
  else {
    if (request.assignee === by) request.leaseUntil = model.now + leaseMinutes;
    if (next.assignee !== undefined)
      Object.assign(request, { assignee: next.assignee, leaseUntil: next.assignee === null ? 0 : model.now + leaseMinutes });
    if (next.vote !== undefined) request.votes = withVote(lapse(model, request, by, action), by, next.vote);
    request.status = next.status ?? before;
    request.tier = next.tier ?? request.tier;
    request.payload = next.payload ?? request.payload;
    request.revision += 1;
  }
  request.last = { action, by };
  if (action === "hold") request.held = { by };
  if (action === "release") request.held = null;
  if (action === "request_info") request.pausedAt = model.now;
  else if (request.pausedAt !== null && request.status !== "needs_info") {
    request.due += model.now - request.pausedAt;
    request.pausedAt = null;
  }
  if (action === "amend") Object.assign(request, { draft: change, required: requiredFor(change) });
  if (!open.includes(request.status) && open.includes(before)) Object.assign(request, { held: null, endedAt: model.now });
  if (action === "approve" && request.status === "approved") carryOut(model, request, { by, ruling: step.ruling, isAgain: false });
  if (action === "reverse" && request.status === "reversed") takeBack(request);
}

/** Have it approved or reversed by as many as it needs. */
async function settle(it: Play, request: Request, how: "approve" | "reverse"): Promise<void> {
  const { model } = it;
  const plain = {
    do: "act",
    which: request.place,
    action: how,
    legal: null,
    steal: false,
    override: false,
    revision: "none",
    assignee: "owner",
    words: 0,
    severity: "low",
    ruling: null,
  } as const;
  for (const by of people.toReversed()) {
    it.model.now += moment;
    const before = statusOf(model, request);
    const step: Act = { ...plain, by };
    if (!canSee(model, request, by) || !mayAsk(request, by, how) || !("next" in judge(model, request, by, { ...step, isChanged: true })))
      continue;
    it.story.push(`    ${how} by ${by}`);
    await act(it, request, step);
    if (statusOf(model, request) !== before && !open.includes(statusOf(model, request))) return;
  }
}

/** A dry run says what is in the way, and changes nothing. */
async function tryOut(it: Play, request: Request, { by, override }: Extract<Step, { do: "try" }>): Promise<void> {
  const { model } = it;
  const step: Act = {
    do: "act",
    by,
    which: 0,
    action: "approve",
    legal: null,
    steal: false,
    override,
    revision: "none",
    assignee: by,
    words: 0,
    severity: "low",
    ruling: null,
  };
  const refusal = unseen(model, request, by, "approve");
  const reply = await decide(it, request, step, "?dry_run=true");
  note(it, "try", reply);
  if (refusal !== undefined && "refused" in refusal) return requireRefused(reply, refusal.refused);
  const judged = judge(model, request, by, { ...step, isChanged: true });
  requireEqual("dry run", [reply.status, reply.body.dry_run], [200, true], reply);
  const codes: string[] = reply.body.blockers.map(({ code }: { code: string }) => code);
  if ("refused" in judged) requireEqual("blockers", codes, [judged.refused[1]], reply);
  else if ("replayed" in judged) requireEqual("replayed", [reply.body.replayed, codes], [true, []], reply);
  else {
    const isBlocked =
      judged.next.status === "approved" && (unwaived(model, request, step).length > 0 || hasTwinReopened(model, request, step));
    requireEqual("blocked", codes.length > 0, isBlocked, reply);
    if (!isBlocked) requireEqual("status", reply.body.status, judged.next.status, reply);
  }
  await look(it, request);
  await requireForce(it);
}

async function pass({ ground, model, story }: Play, { minutes, sweeps }: Extract<Step, { do: "pass" }>): Promise<void> {
  ground.pass(minutes * 60);
  model.now += minutes;
  await ground.endListings();
  if (!sweeps) return;
  await ground.sweep(model.requests.some(({ merge }) => merge?.state === "pending" && merge.dueAt <= model.now));
  for (const request of model.requests) {
    if (statusOf(model, request) !== "expired" || request.status === "expired") continue;
    Object.assign(request, { status: "expired", endedAt: model.now, held: null, last: null });
    request.revision += 1;
    story.push(`    ${request.reference} expires`);
  }
  sweepRoster(model);
  runMerges(model);
}

/** One person after the other looks at what was done. */
async function look(it: Play, request: Request): Promise<void> {
  const { ground, model } = it;
  it.looks += 1;
  const by = people[(it.looks * 5 + request.place) % people.length] ?? "owner";
  const reply = await ground.ask(by, "GET", `/workflows/${request.draft.kind}/${request.id}`);
  if (!canSee(model, request, by)) return requireRefused(reply, [404, "record_not_found"]);
  requireEqual("status of the view", reply.status, 200, reply);
  const found = reply.body.data;
  const status = statusOf(model, request);
  const { assignee, held } = request;
  const due = Math.round(request.due / 10) * 10;
  const wanted: Record<string, unknown> = {
    status,
    payload_revision: request.payload,
    revision: request.revision,
    allowed_actions: allowedTo(model, request, by),
    required: request.required + request.tier,
    assignment: assignee === null ? null : [ground.idOf(assignee), request.leaseUntil > model.now],
    hold: held === null || !open.includes(status) ? null : held.by === null ? (held.requests[0]?.reference ?? null) : ground.idOf(held.by),
    tier: request.tier,
    due: open.includes(status) ? due : undefined,
  };
  const shown: Record<string, unknown> = {
    ...found,
    required: found.approvals?.required,
    assignment:
      found.assignment === null || found.assignment === undefined ? found.assignment : [found.assignment.user.id, found.assignment.live],
    hold: found.hold === null || found.hold === undefined ? found.hold : (found.hold.reference ?? found.hold.by),
    tier: found.escalation === undefined ? undefined : (found.escalation?.tier ?? 0),
    due: found.timers === undefined || wanted["due"] === undefined ? undefined : ground.minutesAt(new Date(found.timers.due_decision_at)),
  };
  for (const [field, value] of Object.entries(wanted)) {
    // Whoever filed a request sees less of it than those who decide.
    if (shown[field] !== undefined) requireEqual(`${request.reference} as ${by} sees it: ${field}`, shown[field], value, reply);
  }
}

async function requireForce({ ground, model }: Play): Promise<void> {
  const references = new Map(model.requests.map((request) => [request.reference, request.reference]));
  const found = await ground.inForce(references);
  const wanted = inForce(model);
  const extra = found.filter((line) => !wanted.includes(line));
  const absent = wanted.filter((line) => !found.includes(line));
  if (extra.length + absent.length > 0 || found.length !== wanted.length)
    throw new Error(`in force: too much ${JSON.stringify(extra)}, too little ${JSON.stringify(absent)}; all: ${JSON.stringify(found)}`);
}

function note({ answers, story }: Play, what: string, reply: Reply): void {
  answers.push(`${what} ${reply.status.toString()}`);
  story.push(
    `${story.pop() ?? ""} -> ${reply.status.toString()} ${reply.body.code ?? reply.body.reference ?? ""} ${reply.body.status ?? ""}`,
  );
}

function requireRefused(reply: Reply, [status, code]: readonly [number, string]): void {
  requireEqual("refusal", [reply.status, reply.body.code], [status, code], reply);
}

function requireEqual(what: string, found: unknown, wanted: unknown, reply: Reply): void {
  if (JSON.stringify(found) === JSON.stringify(wanted)) return;
  throw new Error(
    `${what}: ${JSON.stringify(found)} instead of ${JSON.stringify(wanted)}\n     answer: ${JSON.stringify(reply.body).slice(0, 1500)}`,
  );
}
