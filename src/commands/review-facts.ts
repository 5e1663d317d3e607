import type { VerbInput, Verbs } from "./verbs.ts";
import { escapeText } from "../discord/replies.ts";
import type { StepView } from "../features/workflows/history/history.schema.ts";
import type { DecisionAnswer, WorkflowView } from "../features/workflows/requests/workflows.schema.ts";
import { annotated } from "../operations/route.ts";
import type { Call } from "../kernel/call.ts";
import type { Page } from "../kernel/page.ts";
import type { Given } from "./entry.ts";
import { textIn } from "./given.ts";
import { unlessRefused } from "./records.ts";
import { cut, momentOf } from "./show.ts";
import type { Say } from "./texts.ts";

const most = 900;

/** What is counted of a person or server. */
const counted = [
  { name: "records", operation: "listBlacklist", kinds: ["user", "server"], input: (id: string) => ({ query: { subject: id } }) },
  { name: "cases", operation: "listCases", kinds: ["user", "server"], input: (id: string) => ({ query: { subject: id } }) },
  { name: "strikes", operation: "listUserStrikes", kinds: ["user"], input: (id: string) => ({ params: { discord_user_id: id } }) },
] as const satisfies readonly { name: string; operation: string; kinds: readonly string[]; input(id: string): VerbInput }[];

/** The address of a request that was located, as reading routes name it. */
export const addressOf = (given: Given) => ({ type: textIn(given, "type") ?? "", id: textIn(given, "id") ?? "" });
/** The same, as routes that decide name it. */
export const decisionAddress = (given: Given) => ({ type: textIn(given, "type") ?? "", website_id: textIn(given, "id") ?? "" });

/** The parts of the address of a request that was named by reference; one that is not there is told by the verb, as over HTTP. */
export async function locateRequest(given: Given, call: Call, verbs: Verbs): Promise<Given["values"]> {
  const id = (textIn(given, "reference") ?? "").trim();
  // Of any kind, so that whoever may not is told so, and not whether it is there.
  return { type: (await verbs.requests.kindOf(id, call)) ?? "poach", id };
}

/** The request as its reader sees it; undefined for whoever may decide about it without reading it. */
export async function readRequest(verbs: Verbs, call: Call, params: { type: string; id: string }): Promise<WorkflowView | undefined> {
  return await unlessRefused(async () => {
    const answer = await verbs.run("getWorkflow", call, { params, query: { why_not: "true" } });
    return annotated(answer).view as WorkflowView;
  });
}

/** What is known of the subjects of a request, as far as the reader may see it; empty when there is nothing to tell. */
export async function subjectHistory(verbs: Verbs, call: Call, { subjects }: Pick<WorkflowView, "subjects">, say: Say): Promise<string> {
  const lines = await Promise.all(
    subjects.slice(0, 5).map(async ({ kind, id }) => {
      const counts = await Promise.all(
        counted
          .filter(({ kinds }) => kinds.some((one) => one === kind))
          .map(async ({ name, operation, input }) => {
            const asked: VerbInput = input(id);
            const query = { ...asked.query, limit: 1, count: "true" };
            const page = await unlessRefused(async () => (await verbs.run(operation, call, { ...asked, query })) as Page<unknown>);
            return page === undefined ? undefined : say(`history ${name}`, { count: page.total ?? page.data.length });
          }),
      );
      const told = counts.filter((one) => one !== undefined);
      return told.length === 0 ? undefined : `${kind === "user" ? `<@${id}>` : `\`${id}\``}: ${told.join(", ")}`;
    }),
  );
  return lines.filter((line) => line !== undefined).join("\n");
}

/** What came of a decision. */
export function decisionText({ reference, status, final, approvals, effects, replayed }: DecisionAnswer, say: Say): string {
  const name = escapeText(reference);
  const head = final
    ? say("decided final", { name, status: say(`= ${status}`) })
    : say("decided vote", { name, have: approvals.have, required: approvals.required });
  const lines = effects.map(
    ({ key, target, detail }) =>
      `- ${[key, target?.reference].flatMap((part) => (part === undefined ? [] : [escapeText(part)])).join(" ")}: ${escapeText(detail)}`,
  );
  return [replayed === true ? say("decided before", { head }) : head, ...lines].join("\n");
}

/** One step of a history. */
export function stepLine({ action, actor, at, to, note_public: note }: StepView, say: Say): string {
  const who = actor === null ? say("history service") : `<@${actor.id}>`;
  const why = note === null || note === undefined ? "" : ` · ${escapeText(note)}`;
  return cut(`• ${momentOf(at, "R")} ${say(`= ${action}`)} · ${who} → ${say(`= ${to}`)}${why}`, 300);
}

/** What was done to a request since somebody saw it. */
export async function changesSince(
  verbs: Verbs,
  call: Call,
  { params, revision, say }: { params: { type: string; id: string }; revision: number; say: Say },
): Promise<string> {
  const query = { limit: 200 };
  const page = await unlessRefused(async () => (await verbs.run("listWorkflowHistory", call, { params, query })) as Page<StepView>);
  const lines = (page?.data ?? []).filter((step) => step.revision > revision).map((step) => stepLine(step, say));
  return cut(lines.join("\n"), most);
}
