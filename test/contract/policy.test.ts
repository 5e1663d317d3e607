// @module-tag sqlite
import { expect, test } from "vitest";
import { documentedCodes, documentedRoutes, type DocumentedRoute, type Operation } from "./document.ts";
import { permissionsOf, policyPermissions, policyRoutes } from "./policy.ts";
import { shareWorld } from "./world.ts";

interface GuardedOperation extends Operation {
  summary: string;
  security?: object[];
  "x-also-permission"?: string;
  "x-or-permission"?: string[];
  "x-own-data-of"?: string;
  "x-own-matters"?: true;
}

const shared = shareWorld();
const refresh = "docs/permissions.md is behind the code: npm run generate";

test("the page of the policy names exactly the routes there are, with what they ask for", () => {
  const documented = documentedRoutes.map((route) => {
    const operation = route.operation as GuardedOperation;
    const {
      "x-permission": permission = null,
      "x-also-permission": also = null,
      "x-or-permission": either = [],
      "x-own-data-of": own = null,
      "x-own-matters": isPersonal = false,
      security,
      summary,
    } = operation;
    const readsKey = security?.length !== 0;
    return {
      method: route.method,
      path: route.path,
      permission,
      also,
      either,
      isPersonal,
      readsKey,
      own,
      needsActor: needsActor(route),
      summary,
    };
  });
  const byRoute = (a: { method: string; path: string }, b: { method: string; path: string }): number =>
    `${a.path} ${a.method}` < `${b.path} ${b.method}` ? -1 : 1;
  expect(policyRoutes.map(({ limit: _, alwaysActor: _always, someActor: _some, ...route }) => route).toSorted(byRoute), refresh).toEqual(
    documented.toSorted(byRoute),
  );
});

function needsActor(route: DocumentedRoute): boolean {
  return documentedCodes(route).includes("acting_user_required");
}

test("the page of the policy names exactly the permissions that are served, with the levels that hold them", async () => {
  const { body } = await shared.world.get("/permissions/catalog?limit=200");
  expect(body.page.has_more).toBe(false);
  const served = body.data.map(({ key, default_level, danger, scopes, description }: Record<string, unknown>) => ({
    key,
    level: default_level === "none" ? null : default_level,
    danger,
    scopes,
    description,
  }));
  expect(policyPermissions, refresh).toEqual(served);
});

test("every permission a route asks for is one of the page, and only the person of a path can be its owner", () => {
  const known = new Set(policyPermissions.map(({ key }) => key));
  for (const route of policyRoutes) {
    const asked = permissionsOf(route).map(({ permission }) => permission);
    expect(
      asked.filter((permission) => permission !== null && !known.has(permission)),
      route.path,
    ).toEqual([]);
    expect(asked.length, route.path).toBeGreaterThan(0);
    if (route.own !== null) expect(route.path).toContain(`{${route.own}}`);
  }
  const decision = policyRoutes.find(({ permission }) => permission === "workflows.{type}.decide");
  expect(decision === undefined ? [] : permissionsOf(decision).map(({ values }) => values["type"])).toHaveLength(9);
});
