import { getCookie } from "hono/cookie";
import type { HttpContext } from "../../../http/context.ts";
import { receiveForm, type SentForm } from "../../../http/request/page-form.ts";
import { ProblemError } from "../../../kernel/errors.ts";
import { linkTo } from "../../../pages/reader.ts";
import { answer, isOwnForm, readerAt, redirect, type Site } from "../../../pages/site.ts";
import type { SignInService } from "../../privacy/sign-in/sign-in.service.ts";
import type { Returned } from "./appeal-form.html.ts";
import { faultsIn, maxFileBytes, maxFiles, type Fault } from "./appeal-form.ts";
import { appealResultPage, appealResults, appealSignInPage, notSetUpPage, type AppealResult } from "./appeals.html.ts";
import type { AppealsService, Sent, SentFiles } from "./appeals.service.ts";

export interface AppealPagesDeps extends Site {
  appeals: AppealsService;
  appealSignIn: SignInService;
  /** Whether the operator has said how browsers reach the service. */
  isSetUp: boolean;
  /** How many processes divide the limits of addresses among them. */
  liveNodes: () => number;
  evidence: { maxBytes: number; arriving: string };
}

/** What a signed-in person asks for at the page. */
export interface Visit {
  c: HttpContext;
  deps: Gate;
  userId: string;
}

export interface Gate extends AppealPagesDeps {
  /** How many forms came from an address: by a hash under a key that nobody keeps, in memory alone. */
  takeForm(network: string, now: number): number;
}

/** Do something for who is signed in; anybody else is asked to sign in, with the same page whatever they came for. */
export async function visit(
  c: HttpContext,
  deps: Gate,
  about: string | undefined,
  work: (one: Visit) => Promise<Response>,
): Promise<Response> {
  const reader = readerAt(c, deps);
  if (!deps.isSetUp) return answer(c, deps, 200, notSetUpPage(reader));
  const userId = await deps.appealSignIn.who(getCookie(c));
  return userId === undefined ? answer(c, deps, 200, appealSignInPage(reader, about)) : work({ c, deps, userId });
}

/** Do what a form without files says, if it comes from our own page and the person is still signed in. */
export async function signedForm(c: HttpContext, deps: Gate, token: unknown, work: (one: Visit) => Promise<Response>): Promise<Response> {
  if (!deps.isSetUp || !isOwnForm(c, deps)) return refuse(c, deps);
  const userId = await deps.appealSignIn.who(getCookie(c));
  if (userId === undefined) return toResult(c, deps, "sign-in-again");
  if (!deps.appealSignIn.isFormToken(getCookie(c), typeof token === "string" ? token : undefined)) return refuse(c, deps);
  try {
    return await work({ c, deps, userId });
  } catch (error) {
    if (isOver(error)) return toResult(c, deps, "over");
    throw error;
  }
}

type Limited = Required<Pick<Returned, "limit">> & Returned;

/** Receive a form with files, and do what it says. Its files are dropped unless it comes from our own page, signed in and in measure. */
export async function sent(
  c: HttpContext,
  deps: Gate,
  work: (one: Visit, form: SentForm, limited: Limited | undefined) => Promise<Response>,
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
    const limited: Limited | undefined = left < 0 ? { faults: [], limit: { because: "often", seconds: -left } } : undefined;
    return await work({ c, deps, userId }, form, limited);
  } catch (error) {
    if (isOver(error)) return await showResult(c, deps, "over", typedIn(form));
    throw error;
  } finally {
    await form.discard();
  }
}

/** The files of a form, and what is wrong with those that were dropped. */
export function filesOf({ files, dropped }: SentForm, gate: Gate): SentFiles {
  const many: Fault[] = dropped.many ? [{ field: "files", says: "files-many", values: { max: maxFiles } }] : [];
  const large = dropped.large.map((name): Fault => ({ field: "files", says: "file-large", values: { name, size: largestOf(gate) } }));
  return { files, faults: [...many, ...large] };
}

/** Send a form; a refusal comes back with what was typed. */
export async function attempt(send: () => Promise<Sent>): Promise<Sent | Returned> {
  try {
    return await send();
  } catch (error) {
    const faults = faultsIn(error);
    if (faults !== undefined) return { faults };
    if (!(error instanceof ProblemError)) throw error;
    if (error.code === "rate_limited") return { faults: [], limit: { because: "often", seconds: error.retryAfter ?? 60 } };
    // Another one was filed meanwhile, or there is no more time: the page of the decision says which.
    if (["duplicate_open", "cooldown", "validation_failed", "record_not_found"].includes(error.code)) return { closed: true };
    throw error;
  }
}

/** What one file may hold. */
export function largestOf({ evidence }: Gate): number {
  return Math.min(evidence.maxBytes, maxFileBytes);
}

/** What somebody typed, to be shown again. */
function typedIn({ texts }: SentForm): string[] {
  return Object.entries(texts).flatMap(([name, text]) => (/^(answer|grounds)/.test(name) ? [text] : []));
}

/** What was decided or ended while the person looked at its page. */
function isOver(error: unknown): boolean {
  return error instanceof ProblemError && (error.code === "invalid_transition" || error.code === "already_decided");
}

export function showResult(c: HttpContext, deps: Gate, kind: AppealResult, typed: readonly string[] = []): Promise<Response> {
  return answer(c, deps, appealResults[kind], appealResultPage(readerAt(c, deps), kind, typed));
}

/** A form that is not from our own page, for this very browser. */
export function refuse(c: HttpContext, deps: Gate, typed: readonly string[] = []): Promise<Response> {
  return answer(c, deps, 403, appealResultPage(readerAt(c, deps), "failed", typed));
}

export function toResult(c: HttpContext, deps: Gate, kind: AppealResult, cookies: readonly string[] = []): Response {
  return redirect(c, deps, linkTo(readerAt(c, deps), `/appeal/result/${kind}`), cookies);
}
