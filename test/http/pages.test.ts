// @module-tag sqlite
import { getCookie, setCookie } from "hono/cookie";
import { pino } from "pino";
import { expect, test } from "vitest";
import { z } from "zod";
import { page } from "../../src/http/pages/page.ts";
import { problems, ProblemError } from "../../src/kernel/errors.ts";
import { startApp } from "./support.ts";

const secretToken = "tokentokentokentoken";

const echo = page(
  {
    method: "post",
    path: "/echo/{token}",
    operationId: "echo",
    summary: "Echo",
    request: { form: z.object({ choice: z.enum(["yes", "no"]) }) },
  },
  async (c, { params, query, form }) => {
    const { headers, remoteAddress, requestId } = c.get("request");
    c.header("Location", "/done");
    setCookie(c, "a", "1", { httpOnly: true });
    setCookie(c, "b", "2", { httpOnly: true });
    c.header("Content-Security-Policy", "default-src 'none'; form-action 'self'");
    const body = JSON.stringify({ params, query, form, cookies: getCookie(c), site: headers["sec-fetch-site"], remoteAddress, requestId });
    return c.html(body, 303);
  },
);
const failing = page({ method: "get", path: "/failing", operationId: "fail", summary: "Fail" }, async (_c, { query }) => {
  if ("known" in query) throw new ProblemError("too_many_open_sessions");
  throw new Error("the password is swordfish");
});

const form = {
  method: "POST",
  path: `/echo/${secretToken}?x=1`,
  key: null,
  headers: { "Content-Type": "application/x-www-form-urlencoded" },
};

test("a page gets its parameters, form, cookies and headers and answers what it likes", async () => {
  const { ask } = await startApp({ pages: [echo] });
  const answer = await ask({
    ...form,
    headers: { ...form.headers, Cookie: "s=abc; t=a=b", "Sec-Fetch-Site": "same-origin" },
    body: "choice=yes",
  });
  expect(answer.status).toBe(303);
  expect(answer.json).toMatchObject({
    params: { token: secretToken },
    form: { choice: "yes" },
    cookies: { s: "abc", t: "a=b" },
    site: "same-origin",
    remoteAddress: "127.0.0.1",
    requestId: answer.headers["x-request-id"],
  });
  expect(answer.headers).toMatchObject({
    location: "/done",
    "set-cookie": ["a=1; Path=/; HttpOnly", "b=2; Path=/; HttpOnly"],
    "content-security-policy": "default-src 'none'; form-action 'self'",
    "content-type": expect.stringMatching(/^text\/html; charset=utf-8$/i),
    "cache-control": "no-store",
  });
});

test.each([
  ["choice=maybe", "application/x-www-form-urlencoded", 422],
  ["", "application/x-www-form-urlencoded", 422],
  ["{}", "application/json", 415],
  [`choice=yes&pad=${"x".repeat(17_000)}`, "application/x-www-form-urlencoded", 413],
])("a form that cannot be read is a page of its own", async (body, type, status) => {
  const { ask } = await startApp({ pages: [echo] });
  const answer = await ask({ ...form, headers: { "Content-Type": type }, body });
  expect(answer).toMatchObject({ status, headers: { "content-type": expect.stringMatching(/^text\/html; charset=utf-8$/i) } });
});

test("an unexpected error is a page with the request id and without the reason", async () => {
  const lines: string[] = [];
  const { ask } = await startApp({ pages: [failing], logger: pino({}, { write: (line: string) => void lines.push(line) }) });
  const answer = await ask({ path: "/failing", key: null });
  expect(answer).toMatchObject({ status: 500, headers: { "content-type": expect.stringMatching(/^text\/html; charset=utf-8$/i) } });
  expect(answer.text).toContain(String(answer.headers["x-request-id"]));
  expect(answer.text).not.toContain("swordfish");
  expect(lines.join("")).toContain("swordfish");
});

test("a page's path stays out of the log", async () => {
  const lines: string[] = [];
  const { ask } = await startApp({ pages: [echo], accessLog: { write: (line: string) => lines.push(line) } });
  await ask({ ...form, body: "choice=yes" });
  expect(JSON.parse(lines[0] ?? "")).toMatchObject({ route: "/echo/{token}", status: 303 });
  expect(lines[0]).not.toContain(secretToken);
});

const browser = { Accept: "text/html,application/xhtml+xml,application/xml;q=0.9,*/*;q=0.8" };

test.each([
  ["a method that it has not", { method: "POST" }, {}, 405, { allow: "GET, HEAD" }],
  ["too often", {}, { limits: { read: { count: 1, seconds: 60 } } }, 429, { "retry-after": expect.stringMatching(/^\d+$/) }],
  ["and fails", {}, {}, 500, {}],
  ["while the service stops", {}, { isShuttingDown: () => true }, 503, { "retry-after": expect.stringMatching(/^\d+$/) }],
])("a browser that asks for a page %s is answered with a page", async (_how, asked, options, status, headers) => {
  const { ask } = await startApp({ pages: [failing], ...options });
  const again = { path: "/failing", key: null, headers: browser, ...asked };
  await ask(again);
  const answer = await ask(again);
  expect(answer).toMatchObject({ status, headers: { ...headers, "content-type": expect.stringMatching(/^text\/html; charset=utf-8$/i) } });
  expect(answer.text).toMatch(/<h1>[^<]+<\/h1>/);
});

test("a page is limited by address", async () => {
  const { ask } = await startApp({ pages: [echo], limits: { read: { count: 1, seconds: 3600 } } });
  expect((await ask({ ...form, body: "choice=no" })).status).toBe(303);
  expect((await ask({ ...form, body: "choice=no" })).status).toBe(429);
});

test.each([
  ["text/html,application/xhtml+xml,application/xml;q=0.9,*/*;q=0.8", "text/html; charset=utf-8"],
  ["application/json, text/html;q=0.5", "application/problem+json"],
  ["*/*", "application/problem+json"],
  [undefined, "application/problem+json"],
])("nothing at an address is said to %s as %s", async (accept, type) => {
  const { ask } = await startApp();
  const answer = await ask({ path: "/nowhere/<script>", key: null, ...(accept !== undefined && { headers: { Accept: accept } }) });
  expect([answer.status, answer.headers["content-type"]]).toEqual([404, type]);
  expect(answer.text).toContain(type.startsWith("text/html") ? "<h1>There is no such page</h1>" : "There is no such route");
  if (type.startsWith("text/html")) expect(answer.text).not.toContain("script");
  const wrong = await ask({ method: "PUT", path: "/things", headers: { Accept: "text/html" } });
  expect(wrong).toMatchObject({ status: 405, headers: { allow: "GET, HEAD, POST" }, json: { code: "method_not_allowed" } });
});

test("every problem's type leads to a page", async () => {
  const { ask } = await startApp();
  for (const code of Object.keys(problems)) {
    const answer = await ask({ path: `/problems/${code}`, key: null });
    expect(answer).toMatchObject({ status: 200, headers: { "content-type": expect.stringMatching(/^text\/html; charset=utf-8$/i) } });
    expect(answer.text).toContain(code);
  }
  const hostile = await ask({ path: "/problems/%3Cscript%3E", key: null });
  expect(hostile.status).toBe(404);
  expect(hostile.text).not.toContain("<script>");
  expect((await ask({ path: "/problems/%00", key: null })).status).toBe(404);
});
