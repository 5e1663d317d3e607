import { randomBytes } from "node:crypto";
import { getCookie } from "hono/cookie";
import { z } from "zod";
import type { HttpContext } from "../../../http/context.ts";
import { page, type HtmlPage, type PageInput } from "../../../http/pages/page.ts";
import { webCall } from "../../../kernel/call.ts";
import { ProblemError } from "../../../kernel/errors.ts";
import { keyedHash } from "../../../kernel/secrets.ts";
import { createRateLimiter } from "../../../operations/rate-limit.ts";
import { linkTo } from "../../../pages/reader.ts";
import { answer, isOwnForm, readerAt, redirect, requestIdOf } from "../../../pages/site.ts";
import { appealFormPage, type FormGround, type Returned } from "./appeal-form.html.ts";
import { perAddress, type AppealForm } from "./appeal-form.ts";
import { appealStatusPage } from "./appeal-status.html.ts";
import { appealResults, closedDecisionPage, overviewPage, unknownDecisionPage, type AppealResult } from "./appeals.html.ts";
import { maxQuestions } from "./questions.schema.ts";
import {
  attempt,
  filesOf,
  largestOf,
  refuse,
  sent,
  showResult,
  signedForm,
  toResult,
  visit,
  type AppealPagesDeps,
  type Gate,
  type Visit,
} from "./visit.pages.ts";

const ReferenceParams = z.object({ reference: z.string().min(1).max(64) });
const ResultParams = z.object({ kind: z.string() });
const Query = z.object({ reference: z.string().optional() });
type Named = z.output<typeof ReferenceParams>;

/** The pages where people see what was decided about them, and appeal. */
export function appealPages(deps: AppealPagesDeps): HtmlPage[] {
  const key = randomBytes(32);
  const limiter = createRateLimiter("appeal", perAddress, deps.liveNodes);
  const gate: Gate = { ...deps, takeForm: (network, now) => limiter.take(keyedHash(key, network), now) };
  return [
    overview(gate),
    start(gate),
    showDecision(gate),
    file(gate),
    showStatus(gate),
    answerStaff(gate),
    withdraw(gate),
    signOut(gate),
    result(gate),
  ];
}

function overview(deps: Gate): HtmlPage {
  const spec = { method: "get", path: "/appeal", operationId: "showAppeals", summary: "Show people what they can appeal" } as const;
  return page({ ...spec, request: { query: Query } }, async (c, { query: { reference } }) => {
    if (reference !== undefined && reference.trim() !== "" && deps.isSetUp)
      return redirect(c, deps, linkTo(readerAt(c, deps), `/appeal/decision/${encodeURIComponent(cutName(reference))}`));
    return visit(c, deps, undefined, async ({ userId }) => {
      const token = deps.appealSignIn.formToken(getCookie(c));
      return answer(c, deps, 200, overviewPage(readerAt(c, deps), userId, token, await deps.appeals.overview(userId)));
    });
  });
}

function start(deps: Gate): HtmlPage {
  const spec = { method: "post", path: "/appeal/start", operationId: "startAppeal", summary: "Go to Discord to sign in" } as const;
  return page(spec, async (c, { form }: PageInput) => {
    if (!deps.isSetUp || !isOwnForm(c, deps)) return refuse(c, deps);
    const about = typeof form["about"] === "string" ? cutName(form["about"]) : null;
    const { chosen } = readerAt(c, deps);
    const started = await deps.appealSignIn.start(webCall(requestIdOf(c)), getCookie(c), chosen, about);
    return redirect(c, deps, started.redirectTo, started.cookies);
  });
}

const decisionPath = { path: "/appeal/decision/{reference}", request: { params: ReferenceParams } } as const;

function showDecision(deps: Gate): HtmlPage {
  const spec = { method: "get", ...decisionPath, operationId: "showAppealForm", summary: "Ask for an appeal" } as const;
  return page(spec, async (c, { params: { reference } }) => visit(c, deps, reference, (one) => decisionPage(one, reference)));
}

interface NotTaken {
  typed: AppealForm;
  /** Undefined where the decision cannot be appealed any more. */
  returned: Returned | undefined;
}

/** The form for a decision, or why there is none. @param notTaken what somebody sent in vain */
async function decisionPage({ c, deps, userId }: Visit, named: string, notTaken?: NotTaken): Promise<Response> {
  const reader = readerAt(c, deps);
  const decision = await deps.appeals.decision(userId, named).catch(unlessMissing);
  if (decision === undefined) return answer(c, deps, 404, unknownDecisionPage(reader, named));
  const status = notTaken === undefined ? 200 : 409;
  if (decision.chance.is !== "free") return answer(c, deps, status, closedDecisionPage(reader, decision));
  if (notTaken !== undefined && notTaken.returned === undefined) return showResult(c, deps, "closed", [notTaken.typed.grounds]);
  const { typed, returned } = notTaken ?? {};
  const limit = notTaken === undefined ? await deps.appeals.limitOf(userId) : undefined;
  if (limit !== undefined) return answer(c, deps, 200, closedDecisionPage(reader, decision, limit));
  const questions = await deps.appeals.questions();
  return answer(c, deps, statusOf(returned), appealFormPage(ground(c, deps, returned), decision, questions, typed));
}

function file(deps: Gate): HtmlPage {
  const spec = { method: "post", ...decisionPath, operationId: "fileAppeal", summary: "File an appeal", hasFiles: true } as const;
  return page(spec, async (c, { params: { reference } }) =>
    sent(c, deps, async (one, form, limited) => {
      const { texts } = form;
      const typed: AppealForm = {
        grounds: texts["grounds"] ?? "",
        outcome: texts["outcome"] ?? "",
        answers: Array.from({ length: maxQuestions }, (_, index) => texts[`answer-${index.toString()}`] ?? ""),
        revision: Number(texts["revision"] ?? 0),
      };
      const call = webCall(requestIdOf(c), one.userId);
      const came = limited ?? (await attempt(() => deps.appeals.file(call, one.userId, reference, typed, filesOf(form, deps))));
      if ("reference" in came) return redirect(c, deps, linkTo(readerAt(c, deps), `/appeal/status/${came.reference}`));
      return decisionPage(one, reference, { typed, returned: "closed" in came ? undefined : came });
    }),
  );
}

function showStatus(deps: Gate): HtmlPage {
  const spec = {
    method: "get",
    path: "/appeal/status/{reference}",
    operationId: "showAppeal",
    summary: "Show how an appeal stands",
  } as const;
  return page({ ...spec, request: { params: ReferenceParams } }, async (c, { params: { reference } }) =>
    visit(c, deps, undefined, (one) => statusPage(one, reference)),
  );
}

async function statusPage({ c, deps, userId }: Visit, reference: string, typed?: string, returned?: Returned): Promise<Response> {
  const reader = readerAt(c, deps);
  const own = await deps.appeals.get(requestIdOf(c), userId, reference).catch(unlessMissing);
  if (own === undefined) return answer(c, deps, 404, unknownDecisionPage(reader, reference));
  const form = typed === undefined ? undefined : { answer: typed };
  return answer(c, deps, statusOf(returned), appealStatusPage(ground(c, deps, returned), own, form));
}

function answerStaff(deps: Gate): HtmlPage {
  const spec = { method: "post", path: "/appeal/status/{reference}/answer", operationId: "answerAppeal" } as const;
  return page(
    { ...spec, summary: "Answer what the staff ask", request: { params: ReferenceParams }, hasFiles: true },
    async (c, { params: { reference } }: { params: Named }) =>
      sent(c, deps, async (one, form, limited) => {
        const typed = form.texts["answer"] ?? "";
        const call = webCall(requestIdOf(c), one.userId);
        const files = filesOf(form, deps);
        const came = limited ?? (await attempt(() => deps.appeals.answer(call, one.userId, reference, { answer: typed }, files)));
        if ("reference" in came) return redirect(c, deps, linkTo(readerAt(c, deps), `/appeal/status/${came.reference}`));
        return "closed" in came ? showResult(c, deps, "over", [typed]) : statusPage(one, reference, typed, came);
      }),
  );
}

function withdraw(deps: Gate): HtmlPage {
  const spec = { method: "post", path: "/appeal/status/{reference}/withdraw", operationId: "withdrawAppeal" } as const;
  return page(
    { ...spec, summary: "Take an appeal back", request: { params: ReferenceParams } },
    async (c, { params: { reference }, form }) =>
      signedForm(c, deps, (form as Record<string, string>)["token"], async ({ userId }) => {
        if ((form as Record<string, string>)["sure"] !== "yes") return toResult(c, deps, "not-ticked");
        await deps.appeals.withdraw(webCall(requestIdOf(c), userId), reference);
        return redirect(c, deps, linkTo(readerAt(c, deps), `/appeal/status/${reference}`));
      }),
  );
}

function signOut(deps: Gate): HtmlPage {
  const spec = { method: "post", path: "/appeal/sign-out", operationId: "signOutOfAppeals", summary: "Sign out" } as const;
  return page(spec, async (c, { form }: PageInput) =>
    signedForm(c, deps, form["token"], async ({ userId }) =>
      toResult(c, deps, "signed-out", [await deps.appealSignIn.end(webCall(requestIdOf(c), userId), getCookie(c))]),
    ),
  );
}

function result(deps: Gate): HtmlPage {
  const spec = { method: "get", path: "/appeal/result/{kind}", operationId: "showAppealResult", summary: "Say how it ended" } as const;
  return page({ ...spec, request: { params: ResultParams } }, async (c, { params: { kind } }) => {
    if (!Object.hasOwn(appealResults, kind)) throw new ProblemError("route_not_found");
    return showResult(c, deps, kind as AppealResult);
  });
}

function statusOf(returned: Returned | undefined): 200 | 422 | 429 {
  if (returned === undefined) return 200;
  return returned.limit === undefined ? 422 : 429;
}

function ground(c: HttpContext, deps: Gate, returned: Returned | undefined): FormGround {
  return { reader: readerAt(c, deps), token: deps.appealSignIn.formToken(getCookie(c)), maxBytes: largestOf(deps), returned };
}

function cutName(given: string): string {
  return given.trim().slice(0, 64);
}

function unlessMissing(error: unknown): undefined {
  if (error instanceof ProblemError && error.code === "record_not_found") return undefined;
  throw error;
}
