import { quantile, median } from "../benchmark.ts";
import { ask, load } from "../processes.ts";
import type { RoleChanges } from "./changes.ts";
import type { Findings, Setting } from "./part.ts";

const roleChanges = 40;
const nextAnswers = 200;
const memberChanges = 200;
/** Between two role changes while others ask. */
const everyMs = 100;
const limitMs = 50;

/**
 * How soon answers show a change of the role everybody holds. None is ever older than the change; asking all ten thousand at once
 * makes all of their standings anew, which is shown without a goal.
 */
export async function measureRoleChanges({ service, options: { progress } }: Setting): Promise<Findings> {
  const times = await ask<RoleChanges>(service.child, "measureRoleChanges", roleChanges);
  progress(`${roleChanges} role changes; ${times.outdated} answers were older than the change before them`);
  return {
    rows: [
      timeRow("role change: until the first decision shows it", times.first),
      timeRow("role change: until 10,000 decisions show it", times.decisions),
      timeRow("  processor time of that", times.decisionsCpu),
      timeRow("  each of them", times.oneDecision),
      timeRow("role change: until 10,000 access answers show it", times.answers),
      timeRow("  processor time of that", times.answersCpu),
      timeRow("  each of them", times.oneAnswer),
    ],
    goals: [
      { text: "answers older than the role change committed before them", wanted: 0, measured: times.outdated, bound: "most" },
      {
        text: "ms, p99, from a role change's commit to the first decision by it",
        wanted: limitMs,
        measured: quantile(times.first, 0.99),
        bound: "most",
      },
    ],
  };
}

/** How soon the next answer over HTTP is there, alone and while 32 clients ask. */
export async function measureNextAnswers({ client, service, options: { seconds, progress } }: Setting): Promise<Findings> {
  const next = await ask<number[]>(service.child, "measureNextAnswers", nextAnswers);
  const repeating = ask<number>(service.child, "repeatRoleChanges", { everyMs, ms: seconds * 1000 });
  const busy = await load(client, service, { seconds });
  const count = await repeating;
  progress(`${nextAnswers} next answers; ${count} changes under load`);
  return {
    rows: [
      timeRow("role change: until the next answer over HTTP", next),
      [`answers during ${count} role changes, 32 clients`, "ms", busy.p50.toFixed(2), busy.p99.toFixed(2), ""],
    ],
    goals: [
      {
        text: "ms, p99, from a role change's commit to the end of the next answer",
        wanted: limitMs,
        measured: quantile(next, 0.99),
        bound: "most",
      },
    ],
  };
}

/** How soon a role given in Discord is in an answer. */
export async function measureMemberChanges({ service, options: { progress } }: Setting): Promise<Findings> {
  const times = await ask<number[]>(service.child, "measureMemberChanges", memberChanges);
  progress(`${times.length} members were given a role in Discord`);
  return {
    rows: [timeRow("member update: until an answer over HTTP shows it", times)],
    goals: [
      {
        text: "ms, p99, from Discord telling of a member's role to an answer with it",
        wanted: limitMs,
        measured: quantile(times, 0.99),
        bound: "most",
      },
    ],
  };
}

function timeRow(name: string, times: readonly number[]): string[] {
  return [name, "ms", median(times).toFixed(3), quantile(times, 0.99).toFixed(3), quantile(times, 1).toFixed(3)];
}
