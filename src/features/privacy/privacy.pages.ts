import { inJson } from "../../kit/say.ts";
import { getCookie } from "hono/cookie";
import { z } from "zod";
import type { HttpContext } from "../../http/context.ts";
import { takeToken } from "../../http/middleware/admit.ts";
import { page, type HtmlPage, type PageInput } from "../../http/pages/page.ts";
import { ownExportBudget, type RateLimiters } from "../../operations/rate-limit.ts";
import type { GuildState } from "../../discord/guild-state.ts";
import { linkTo } from "../../pages/reader.ts";
import { answer, attachment, isOwnForm, readerAt, redirect, requestIdOf, type Site } from "../../pages/site.ts";
import { type Call, webCall } from "../../kernel/call.ts";
import { ProblemError } from "../../kernel/errors.ts";
import type { AuthorizationService } from "../authorization/authorization.service.ts";
import { ownDataPage, privacyResultPage, privacyResults, signInPage, type PrivacyResult } from "./privacy.html.ts";
import type { PrivacyService } from "./privacy.service.ts";
import type { SignInService } from "./sign-in/sign-in.service.ts";

export interface PrivacyPagesDeps extends Site {
  privacy: Pick<PrivacyService, "export" | "erase">;
  limiters: RateLimiters;
  authorization: Pick<AuthorizationService, "revoke">;
  signIn: Pick<SignInService, "start" | "who" | "end">;
  guildState: Pick<GuildState, "guilds">;
}

/** What a signed-in person does with a form, and where it leads. */
interface Action {
  path: string;
  operationId: string;
  summary: string;
  run(deps: PrivacyPagesDeps, call: Call, userId: string, input: PageInput): Promise<Done>;
}

/** How an action ended, and whether the person is signed out by it. */
interface Done {
  result: PrivacyResult;
  isLeaving?: boolean;
}

const actions: readonly Action[] = [
  {
    path: "/privacy/revoke",
    operationId: "revokeOwnConsent",
    summary: "Take one's consent back",
    async run({ authorization }, call, userId) {
      try {
        await authorization.revoke(call, userId, {});
        return { result: "revoked" };
      } catch (error) {
        if (error instanceof ProblemError && error.code === "invalid_transition") return { result: "nothing-shared" };
        throw error;
      }
    },
  },
  {
    path: "/privacy/delete",
    operationId: "deleteOwnData",
    summary: "Delete what one shared",
    async run({ privacy }, call, userId, { form }) {
      if (form["sure"] !== "yes") return { result: "not-ticked" };
      await privacy.erase(call, userId);
      return { result: "deleted", isLeaving: true };
    },
  },
  {
    path: "/privacy/sign-out",
    operationId: "signOutOfPrivacy",
    summary: "Sign out",
    run: () => Promise.resolve({ result: "signed-out", isLeaving: true }),
  },
];

const ResultParams = z.object({ kind: z.string() });

/** The pages where people see, take with them, take back and delete what is stored of them. */
export function privacyPages(deps: PrivacyPagesDeps): HtmlPage[] {
  return [showPage(deps), startPage(deps), downloadPage(deps), ...actions.map((action) => actionPage(deps, action)), resultPage(deps)];
}

function showPage(deps: PrivacyPagesDeps): HtmlPage {
  return page({ method: "get", path: "/privacy", operationId: "showPrivacy", summary: "Show people what is stored of them" }, async (c) => {
    const reader = readerAt(c, deps);
    const userId = await deps.signIn.who(getCookie(c));
    if (userId === undefined) return answer(c, deps, 200, signInPage(reader));
    const data = await deps.privacy.export(webCall(requestIdOf(c), userId), userId);
    const guilds = deps.guildState.guilds();
    return answer(
      c,
      deps,
      200,
      ownDataPage(reader, data, (guildId) => guilds.find(({ id }) => id === guildId)?.name),
    );
  });
}

function startPage(deps: PrivacyPagesDeps): HtmlPage {
  return page({ method: "post", path: "/privacy/start", operationId: "startPrivacy", summary: "Go to Discord to sign in" }, async (c) => {
    if (!isOwnForm(c, deps)) return refuseForm(c, deps);
    const started = await deps.signIn.start(webCall(requestIdOf(c)), getCookie(c), readerAt(c, deps).chosen);
    return redirect(c, deps, started.redirectTo, started.cookies);
  });
}

function downloadPage(deps: PrivacyPagesDeps): HtmlPage {
  return page(
    { method: "get", path: "/privacy/data.json", operationId: "downloadOwnData", summary: "Take one's data along" },
    async (c) => {
      const userId = await deps.signIn.who(getCookie(c));
      if (userId === undefined) return toResult(c, deps, "sign-in-again");
      takeToken(deps.limiters.export, ownExportBudget(userId), c.get("request"));
      const data = await deps.privacy.export(webCall(requestIdOf(c), userId), userId);
      const body = `${inJson(data, 2)}\n`;
      return attachment(c, deps, { name: `provost-${userId}.json`, type: "application/json; charset=utf-8", body });
    },
  );
}

function actionPage(deps: PrivacyPagesDeps, { path, operationId, summary, run }: Action): HtmlPage {
  return page({ method: "post", path, operationId, summary }, async (c, input) => {
    if (!isOwnForm(c, deps)) return refuseForm(c, deps);
    const userId = await deps.signIn.who(getCookie(c));
    if (userId === undefined) return toResult(c, deps, "sign-in-again");
    const call = webCall(requestIdOf(c), userId);
    const { result, isLeaving = false } = await run(deps, call, userId, input);
    return toResult(c, deps, result, isLeaving ? [await deps.signIn.end(call, getCookie(c))] : []);
  });
}

function resultPage(deps: PrivacyPagesDeps): HtmlPage {
  return page(
    {
      method: "get",
      path: "/privacy/result/{kind}",
      operationId: "showPrivacyResult",
      summary: "Say how it ended",
      request: { params: ResultParams },
    },
    async (c, { params }) => {
      const { kind } = params;
      const reader = readerAt(c, deps);
      if (!isResult(kind)) return answer(c, deps, 404, privacyResultPage(reader, "failed"));
      return answer(c, deps, privacyResults[kind], privacyResultPage(reader, kind));
    },
  );
}

function isResult(kind: string): kind is PrivacyResult {
  return Object.hasOwn(privacyResults, kind);
}

function toResult(c: HttpContext, deps: PrivacyPagesDeps, result: PrivacyResult, cookies: readonly string[] = []): Response {
  return redirect(c, deps, linkTo(readerAt(c, deps), `/privacy/result/${result}`), cookies);
}

async function refuseForm(c: HttpContext, deps: PrivacyPagesDeps): Promise<Response> {
  return answer(c, deps, 403, privacyResultPage(readerAt(c, deps), "failed"));
}
