import { catalog } from "../../src/kernel/permissions.ts";
import type { AccessView } from "../../src/features/staff/staff.schema.ts";
import { type DriverTrace, type Statements, startDriverTrace } from "./driver-trace.ts";
import { createNaiveModel } from "./naive.ts";
import type { Staffed } from "./staffed.ts";

/** What reached the database and Discord since it was last asked. */
export interface Counts extends Statements {
  discordRequests: number;
  /** Questions over the gateway link; heartbeats are none. */
  gatewayRequests: number;
}

const requestMembers = 8;
const keys = catalog.map((entry) => entry.key).toSorted();

let trace: DriverTrace | undefined;
let seen = { exchanges: 0, gateway: 0 };

/** Ask each path once over HTTP. @throws Error unless every answer is what the naive model says */
export async function collectAnswers({ app, community, ids, headers }: Staffed, paths: readonly string[]): Promise<Record<string, object>> {
  const decide = createNaiveModel(community, ids);
  const answers: Record<string, object> = {};
  for (const path of paths) {
    const response = await fetch(app.address() + path, { headers });
    const answer = (await response.json()) as { data: AccessView };
    const wanted = keys.filter((key) => decide(answer.data.user_id, key).allowed);
    const isRight = path.includes(answer.data.user_id) && JSON.stringify(answer.data.permissions) === JSON.stringify(wanted);
    if (response.status !== 200 || !isRight) throw new Error(`${path} answered ${response.status}: ${JSON.stringify(answer)}`);
    answers[path] = answer;
  }
  return answers;
}

export function startCounting(): void {
  trace = startDriverTrace();
}

export function takeCounts({ sandbox }: Staffed): Counts {
  if (trace === undefined) throw new Error("nothing is counted yet");
  const gateway = sandbox.gatewayLog.filter(({ direction, op }) => direction === "in" && op === requestMembers).length;
  const now = { exchanges: sandbox.exchanges.length, gateway };
  const counts = { ...trace.take(), discordRequests: now.exchanges - seen.exchanges, gatewayRequests: now.gateway - seen.gateway };
  seen = now;
  return counts;
}

/** When the last transaction was committed, on the clock of `performance`. */
export function committedAt(): number {
  return trace?.committedAt() ?? Number.NaN;
}
