import { systemCall } from "../../src/kernel/call.ts";
import { uuid7 } from "../../src/kernel/ids.ts";
import type { Ground, Reply } from "./ground.ts";
import { requireWhole } from "./invariants.ts";
import * as blacklist from "./model.blacklist.ts";
import * as cases from "./model.cases.ts";
import { emptyModel, type Expected, type Model, type Plan } from "./model.ts";
import { told, type Step } from "./steps.ts";

/** What happened until something disagreed, in words. */
class Disagreement extends Error {
  override name = "Disagreement";
}

function planOf(model: Model, step: Exclude<Step, { do: "pass" }>, ground: Ground): Plan | undefined {
  switch (step.do) {
    case "list":
      return blacklist.list(model, step, ground);
    case "change":
      return blacklist.change(model, step, ground);
    case "revoke":
      return blacklist.revoke(model, step);
    case "read":
      return blacklist.read(model, step);
    case "check":
      return blacklist.check(model, step, ground);
    case "open":
      return cases.open(model, step, ground);
    case "note":
      return cases.note(model, step, ground);
    case "edit":
      return cases.edit(model, step);
    case "close":
      return cases.close(model, step, ground);
    case "reopen":
      return cases.reopen(model, step, ground);
    case "see":
      return cases.see(model, step, ground);
    case "find":
      return cases.find(model, step, ground);
  }
}

/** How a sequence went: what it left, and how every step was answered, such as `note 201`. */
export interface Played {
  model: Model;
  answers: string[];
}

/** Play a sequence against the service and the model, with people nobody knows yet. @throws Disagreement that tells the whole sequence */
export async function play(ground: Ground, steps: readonly Step[]): Promise<Played> {
  ground.renew();
  const model = emptyModel();
  const story: string[] = [];
  const answers: string[] = [];
  try {
    for (const step of steps) {
      story.push(told(step));
      const reply = await playOne(ground, model, step);
      answers.push(`${step.do} ${reply?.status.toString() ?? "-"}`);
      if (reply !== undefined)
        story.push(`${story.pop() ?? ""} -> ${reply.status.toString()} ${reply.body.code ?? reply.body.data?.number ?? ""}`.trimEnd());
    }
    story.push("afterwards");
    await sweep(ground);
    await requireWhole(ground, model);
    return { model, answers };
  } catch (error) {
    const lines = story.map((line, index) => `${(index + 1).toString().padStart(3)}. ${line}`);
    throw new Disagreement(`${lines.join("\n")}\n     ${error instanceof Error ? error.message : String(error)}`, { cause: error });
  }
}

/** @returns the answer; undefined: time passed, or there was nothing to do it to */
async function playOne(ground: Ground, model: Model, step: Step): Promise<Reply | undefined> {
  if (step.do === "pass") {
    ground.clock.pass(step.units);
    model.now += step.units;
    blacklist.notePassing(model);
    if (step.sweeps) await sweep(ground);
    return undefined;
  }
  const plan = planOf(model, step, ground);
  if (plan === undefined) return undefined;
  const reply = await ground.ask(plan.by, plan.asked);
  requireAgreement(reply, plan.expected);
  if (reply.body.success === true) plan.learn?.(reply.body.data);
  return reply;
}

async function sweep({ world }: Ground): Promise<void> {
  await world.app.blacklist.expireDue(systemCall("job", uuid7()));
}

function requireAgreement(reply: Reply, { status, body = {}, absent = [], holds }: Expected): void {
  const off = differences(body, reply.body, "");
  if (reply.status !== status) off.unshift(`status is ${reply.status.toString()} instead of ${status.toString()}`);
  for (const field of absent) if (reply.body.data?.[field] !== undefined) off.push(`${field} is shown`);
  if (off.length > 0) throw new Error(`${off.join("; ")}\n     answer: ${JSON.stringify(reply.body).slice(0, 600)}`);
  holds?.(reply.body.data);
}

/** Where an answer lacks what it should have. */
function differences(wanted: unknown, found: unknown, path: string): string[] {
  if (typeof wanted !== "object" || wanted === null) {
    return wanted === found ? [] : [`${path} is ${JSON.stringify(found)} instead of ${JSON.stringify(wanted)}`];
  }
  if (typeof found !== "object" || found === null) return [`${path} is ${JSON.stringify(found)}`];
  const sizes =
    Array.isArray(wanted) && Array.isArray(found) && wanted.length !== found.length
      ? [`${path} has ${found.length.toString()} entries`]
      : [];
  const fields = new Map(Object.entries(found));
  return [...sizes, ...Object.entries(wanted).flatMap(([field, value]) => differences(value, fields.get(field), `${path}/${field}`))];
}
