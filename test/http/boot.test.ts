// @module-tag sqlite
import { storedPermission } from "../../src/kernel/permissions.ts";
import { expect, test } from "vitest";
import { z } from "zod";
import { createHttpApp } from "../../src/http/http-app.ts";
import { page } from "../../src/http/pages/page.ts";
import { type Access, routesFor } from "../../src/operations/route.ts";
import { appOptions } from "./support.ts";

const { get } = routesFor();

const success = { status: 200, shape: "flat", schema: z.object({}), description: "Fine" } as const;
const made = (access: Access, path = "/one", operationId = "one") =>
  get(path, operationId, {
    summary: "One",
    access,
    success,
    handle: async () => ({}),
  });
const expansions = { type: ["poach", "alt-request"] };
const known = { permissions: new Set(["cases.read", "workflows.poach.decide", "workflows.alt-request.decide"]), expansions };
const boot = (...routes: ReturnType<typeof made>[]) => createHttpApp(appOptions({ routes, known }));

test("routes that name known permissions, or are public, let the service start", () => {
  expect(() => boot(made({ permission: "cases.read" }), made({ public: true }, "/two", "two"))).not.toThrow();
  expect(() => boot(made({ permission: "workflows.{type}.decide" }, "/workflows/{type}"))).not.toThrow();
});

/** What the compiler refuses is refused at the start as well: a permission may come from data. */
const mistyped = (permission: string): Access => ({ permission: storedPermission(permission) });

test.each<[Access, string, string]>([
  [mistyped("things.raed"), "/one", 'GET /one needs the permission "things.raed", which the catalog does not know'],
  [mistyped(""), "/one", 'GET /one needs the permission ""'],
  [mistyped("workflows.{type}.open"), "/one/{type}", 'needs the permission "workflows.poach.open"'],
  [mistyped("workflows.{kind}.decide"), "/one/{kind}", "fills its permission from {kind}, whose values are not known"],
  [{ permission: "cases.read", own: "user_id" }, "/one", 'names "user_id" as its own person, which is no parameter of its path'],
])("a route guarded by %j stops the start", (access, path, message) => {
  expect(() => boot(made(access, path))).toThrow(message);
});

test("two doors for the same requests stop the start, whatever their parameters are called", () => {
  const [one, two] = [made({ public: true }, "/a/{x}", "one"), made({ public: true }, "/a/{y}", "two")];
  expect(() => boot(one, two)).toThrow("GET /a/{y} answers the same requests as GET /a/{x}");
  const twin = page({ method: "get", path: "/a/{z}", operationId: "three", summary: "Twin" }, async (c) => c.html(""));
  expect(() => createHttpApp(appOptions({ routes: [one], pages: [twin], known }))).toThrow(
    "GET /a/{z} answers the same requests as GET /a/{x}",
  );
});

test("an operationId is used once", () => {
  expect(() => boot(made({ public: true }, "/a"), made({ public: true }, "/b"))).toThrow("GET /b has the operationId of GET /a");
});

test("the registry lists every route and what is switched off", () => {
  const app = createHttpApp(appOptions({ switchedOff: (capability) => (capability === "callsigns.next" ? "off" : undefined) }));
  expect(app.registry()).toContainEqual({ method: "POST", path: "/callsigns/next", supported: false });
  expect(app.registry()).toContainEqual({ method: "GET", path: "/things/{thing_id}", supported: true });
});
