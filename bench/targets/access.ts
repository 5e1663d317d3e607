import { collectAnswers, startCounting, takeCounts } from "../access/answers.ts";
import { measureMemberChanges, measureNextAnswers, measureRoleChanges, repeatRoleChanges } from "../access/changes.ts";
import { type DecisionOrder, checkDecisions, measureDecisions } from "../access/decisions.ts";
import { type Staffed, startStaffed } from "../access/staffed.ts";
import type { Target } from "../target.ts";

const staffCount = 10_000;
const askedCount = 1000;

let service: Awaited<ReturnType<typeof startStaffed>> | undefined;

/** The whole service with a staff of ten thousand, asked about a thousand of them; what has to be measured inside is a task. */
export const access: Target = {
  request: { paths: [], headers: {} },
  start,
  stop: async () => await service?.stop(),
  tasks: {
    collectAnswers: () => collectAnswers(staffed(), access.request.paths),
    startCounting: () => startCounting(),
    takeCounts: () => takeCounts(staffed()),
    checkDecisions: (count: number) => checkDecisions(staffed(), count),
    measureDecisions: (order: DecisionOrder) => measureDecisions(staffed(), order),
    measureRoleChanges: (count: number) => measureRoleChanges(staffed(), count),
    measureNextAnswers: (count: number) => measureNextAnswers(staffed(), count),
    repeatRoleChanges: (order: { everyMs: number; ms: number }) => repeatRoleChanges(staffed(), order),
    measureMemberChanges: (count: number) => measureMemberChanges(staffed(), count),
  },
};

async function start(): Promise<number> {
  service = await startStaffed(staffCount);
  const { app, ids, headers } = service.staffed;
  const step = staffCount / askedCount;
  access.request = { paths: ids.filter((_, index) => index % step === 0).map((id) => `/staff/${id}/access`), headers };
  return Number(new URL(app.address()).port);
}

function staffed(): Staffed {
  if (service === undefined) throw new Error("the service has not started");
  return service.staffed;
}
