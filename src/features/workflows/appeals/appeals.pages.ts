import { randomBytes } from "node:crypto";
import { getCookie } from "hono/cookie";
import { z } from "zod";
import type { HttpContext } from "../../../http/context.ts";
import { page, type HtmlPage, type PageInput } from "../../../http/pages/page.ts";
import { receiveForm, type SentForm } from "../../../http/request/page-form.ts";
import { webCall } from "../../../kernel/call.ts";
import { ProblemError } from "../../../kernel/errors.ts";
import { keyedHash } from "../../../kernel/secrets.ts";
import { createRateLimiter, type RateLimiter } from "../../../operations/rate-limit.ts";
import { linkTo } from "../../../pages/reader.ts";
import { answer, isOwnForm, readerAt, redirect, requestIdOf, type Site } from "../../../pages/site.ts";
import type { SignInService } from "../../privacy/sign-in/sign-in.service.ts";
import { appealFormPage, type FormGround, type Returned } from "./appeal-form.html.ts";
import { faultsIn, maxFileBytes, maxFiles, perAddress, type AppealForm, type Fault } from "./appeal-form.ts";
import {
  appealResultPage,
  appealResults,
  appealSignInPage,
  appealStatusPage,
  closedDecisionPage,
  notSetUpPage,
  overviewPage,
  unknownDecisionPage,
  type AppealResult,
} from "./appeals.html.ts";
import type { AppealsService, Sent, SentFiles } from "./appeals.service.ts";
import { maxQuestions } from "./questions.schema.ts";

export interface AppealPagesDeps extends Site {
  appeals: AppealsService;
  appealSignIn: SignInService;
  /** Whether the operator has said how browsers reach the service. */
  isSetUp: boolean;
  evidence: { maxBytes: number; arriving: string };
}

const ReferenceParams = z.object({ reference: z.string().min(1).max(64) });
const ResultParams = z.object({ kind: z.string() });
const Query = z.object({ reference: z.string().optional() });
type Named = z.output<typeof ReferenceParams>;

/** What a signed-in person asks for at the page. */
interface Visit {
  c: HttpContext;
  deps: Gate;
  userId: string;
}

interface Gate extends AppealPagesDeps {
  /** How many forms came from an address: by a hash under a key that nobody keeps, in memory alone. */
  takeForm(network: string, now: number): number;
}

/** The pages where people see what was decided about them, and appeal. */
export function appealPages(deps: AppealPagesDeps): HtmlPage[] {
  const key = randomBytes(32);
  const limiter: RateLimiter = createRateLimiter("appeal", perAddress);
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

/** The form for a decision, or why there is none. @param typed what somebody sent that was not taken */
async function decisionPage({ c, deps, userId }: Visit, named: string, typed?: AppealForm, returned?: Returned): Promise<Response> {
  const reader = readerAt(c, deps);
  const decision = await deps.appeals.decision(userId, named).catch(unlessMissing);
  if (decision === undefined) return answer(c, deps, 404, unknownDecisionPage(reader, named));
  if (decision.chance.is !== "free") return answer(c, deps, returned === undefined ? 200 : 409, closedDecisionPage(reader, decision));
  const questions = await deps.appeals.questions();
  return answer(c, deps, statusOf(returned), appealFormPage(ground(c, deps, returned), decision, questions, typed));
}

function file(deps: Gate): HtmlPage {
  const spec = { method: "post", ...decisionPath, operationId: "fileAppeal", summary: "File an appeal", hasFiles: true } as const;
  return page(spec, async (c, { params: { reference } }) =>
    sent(c, deps, async (one, form, wait) => {
      const { texts } = form;
      const typed: AppealForm = {
        grounds: texts["grounds"] ?? "",
        outcome: texts["outcome"] ?? "",
        answers: Array.from({ length: maxQuestions }, (_, index) => texts[`answer-${index.toString()}`] ?? ""),
        revision: Number(texts["revision"] ?? 0),
      };
      const call = webCall(requestIdOf(c), one.userId);
      const came = wait ?? (await attempt(() => deps.appeals.file(call, one.userId, reference, typed, filesOf(form, largestOf(deps)))));
      if ("reference" in came) return redirect(c, deps, linkTo(readerAt(c, deps), `/appeal/status/${came.reference}`));
      return decisionPage(one, reference, typed, came);
    }),
  );
}

function showStatus(deps: Gate): HtmlPage {
  const spec = { method: "get", path: "/appeal/status/{reference}", operationId: "showAppeal", summary: "Show how an appeal stands" } as const;
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
      sent(c, deps, async (one, form, wait) => {
        const typed = form.texts["answer"] ?? "";
        const call = webCall(requestIdOf(c), one.userId);
        const files = filesOf(form, largestOf(deps));
        const came = wait ?? (await attempt(() => deps.appeals.answer(call, one.userId, reference, { answer: typed }, files)));
        if ("reference" in came) return redirect(c, deps, linkTo(readerAt(c, deps), `/appeal/status/${came.reference}`));
        return statusPage(one, reference, typed, came);
      }),
  );
}

function withdraw(deps: Gate): HtmlPage {
  const spec = { method: "post", path: "/appeal/status/{reference}/withdraw", operationId: "withdrawAppeal" } as const;
  return page({ ...spec, summary: "Take an appeal back", request: { params: ReferenceParams } }, async (c, { params: { reference }, form }) =>
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
    const known = Object.hasOwn(appealResults, kind) ? (kind as AppealResult) : undefined;
    return answer(c, deps, known === undefined ? 404 : appealResults[known], appealResultPage(readerAt(c, deps), known ?? "failed"));
  });
}

/** Do something for who is signed in; anybody else is asked to sign in, with the same page whatever they came for. */
async function visit(c: HttpContext, deps: Gate, about: string | undefined, work: (one: Visit) => Promise<Response>): Promise<Response> {
  const reader = readerAt(c, deps);
  if (!deps.isSetUp) return answer(c, deps, 200, notSetUpPage(reader));
  const userId = await deps.appealSignIn.who(getCookie(c));
  return userId === undefined ? answer(c, deps, 200, appealSignInPage(reader, about)) : work({ c, deps, userId });
}

/** Do what a form without files says, if it comes from our own page and the person is still signed in. */
async function signedForm(c: HttpContext, deps: Gate, token: unknown, work: (one: Visit) => Promise<Response>): Promise<Response> {
  if (!deps.isSetUp || !isOwnForm(c, deps)) return refuse(c, deps);
  const userId = await deps.appealSignIn.who(getCookie(c));
  if (userId === undefined) return toResult(c, deps, "sign-in-again");
  if (!deps.appealSignIn.isFormToken(getCookie(c), typeof token === "string" ? token : undefined)) return refuse(c, deps);
  try {
    return await work({ c, deps, userId });
  } catch (error) {
    return isOver(error) ? toResult(c, deps, "over") : Promise.reject(error);
  }
}

type Waiting = Required<Pick<Returned, "wait">> & Returned;

/** Receive a form with files, and do what it says. Its files are dropped unless it comes from our own page, signed in and in measure. */
async function sent(
  c: HttpContext,
  deps: Gate,
  work: (one: Visit, form: SentForm, wait: Waiting | undefined) => Promise<Response>,
): Promise<Response> {
  if (!deps.isSetUp || !isOwnForm(c, deps)) return refuse(c, deps);
  const userId = await deps.appealSignIn.who(getCookie(c));
  const { network, now } = c.get("request");
  const left = userId === undefined ? 0 : deps.takeForm(network, now);
  const most = userId === undefined || left < 0 ? 0 : maxFiles;
  const takes = { field: "files", most, maxBytes: largestOf(deps), folder: deps.evidence.arriving };
  let form: SentForm;
  try {
    form = await receiveForm(c, takes);
  } catch (error) {
    if (error instanceof ProblemError && error.code === "body_too_large") return showResult(c, deps, "too-large");
    throw error;
  }
  try {
    if (userId === undefined) return await showResult(c, deps, "sign-in-again", typedIn(form));
    if (!deps.appealSignIn.isFormToken(getCookie(c), form.texts["token"])) return await refuse(c, deps, typedIn(form));
    const wait: Waiting | undefined = left < 0 ? { faults: [], wait: { seconds: -left, because: "often" } } : undefined;
    return await work({ c, deps, userId }, form, wait);
  } catch (error) {
    return isOver(error) ? await showResult(c, deps, "over", typedIn(form)) : await Promise.reject(error);
  } finally {
    await form.discard();
  }
}

/** The files of a form, and what is wrong with those that were dropped. */
function filesOf({ files, dropped }: SentForm, maxBytes: number): SentFiles {
  const many: Fault[] = dropped.many ? [{ field: "files", says: "files-many", values: { max: maxFiles } }] : [];
  const large = dropped.large.map((name): Fault => ({ field: "files", says: "file-large", values: { name, size: maxBytes } }));
  return { files, faults: [...many, ...large] };
}

/** Send a form; a refusal comes back with what was typed. */
async function attempt(send: () => Promise<Sent>): Promise<{ reference: string } | Returned> {
  try {
    return await send();
  } catch (error) {
    const faults = faultsIn(error);
    if (faults !== undefined) return { faults };
    if (!(error instanceof ProblemError)) throw error;
    if (error.code === "rate_limited") return { faults: [], wait: { seconds: error.retryAfter ?? 60, because: "day" } };
    // Another one was filed meanwhile, or there is no more time: the page of the decision says which.
    if (error.code === "duplicate_open" || error.code === "cooldown" || error.code === "record_not_found") return { faults: [] };
    throw error;
  }
}

function statusOf(returned: Returned | undefined): 200 | 422 | 429 {
  if (returned === undefined) return 200;
  return returned.wait === undefined ? 422 : 429;
}

function ground(c: HttpContext, deps: Gate, returned: Returned | undefined): FormGround {
  return { reader: readerAt(c, deps), token: deps.appealSignIn.formToken(getCookie(c)), maxBytes: largestOf(deps), returned };
}

/** What one file may hold. */
function largestOf({ evidence }: Gate): number {
  return Math.min(evidence.maxBytes, maxFileBytes);
}

/** What somebody typed, to be shown again. */
function typedIn({ texts }: SentForm): string[] {
  return Object.entries(texts).flatMap(([name, text]) => (/^(answer|grounds)/.test(name) ? [text] : []));
}

function cutName(given: string): string {
  return given.trim().slice(0, 64);
}

/** What was decided or ended while the person looked at its page. */
function isOver(error: unknown): boolean {
  return error instanceof ProblemError && (error.code === "invalid_transition" || error.code === "already_decided");
}

function unlessMissing(error: unknown): undefined {
  if (error instanceof ProblemError && error.code === "record_not_found") return undefined;
  throw error;
}

function showResult(c: HttpContext, deps: Gate, kind: AppealResult, typed: readonly string[] = []): Promise<Response> {
  return answer(c, deps, appealResults[kind], appealResultPage(readerAt(c, deps), kind, typed));
}

/** A form that is not from our own page, for this very browser. */
function refuse(c: HttpContext, deps: Gate, typed: readonly string[] = []): Promise<Response> {
  return answer(c, deps, 403, appealResultPage(readerAt(c, deps), "failed", typed));
}

function toResult(c: HttpContext, deps: Gate, kind: AppealResult, cookies: readonly string[] = []): Response {
  return redirect(c, deps, linkTo(readerAt(c, deps), `/appeal/result/${kind}`), cookies);
}
