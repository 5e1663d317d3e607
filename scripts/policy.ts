import { readFileSync, writeFileSync } from "node:fs";
import { fileURLToPath } from "node:url";
import { openApiDocument } from "../src/app/document.ts";
import { tableOf } from "../src/commands/doors.ts";
import { catalog, type CatalogEntry } from "../src/kernel/permissions.ts";

/**
 * The tables of routes and permissions in `docs/permissions.md` come from the code; everything else on the page stays.
 *
 * Two things are decided on the page because the document does not tell them: which limit a route counts against, and whether
 * even a key with `system.act` has to name somebody (`always`), or only who wants a change (`to change`). What the page says of a known route stays.
 */
interface Operation {
  summary: string;
  security?: object[];
  responses: Record<string, Response>;
  "x-permission"?: string;
  "x-also-permission"?: string;
  "x-or-permission"?: string[];
  "x-own-data-of"?: string;
  "x-own-matters"?: true;
}

interface Response {
  $ref?: string;
  content?: Record<string, { schema: { allOf?: { properties?: { code: { enum: string[] } } }[] } }>;
}

const { paths, components } = openApiDocument() as {
  paths: Record<string, Record<string, Operation>>;
  components: { responses: Record<string, Response> };
};
const path = fileURLToPath(new URL("../docs/permissions.md", import.meta.url));
const none = "–";

const code = (text: string): string => `\`${text}\``;

function routesTable(page: string): string {
  const rows = Object.entries(paths).flatMap(([path, methods]) =>
    Object.entries(methods).map(([method, operation]) => routeRow(page, `${method.toUpperCase()} ${path}`, operation)),
  );
  const byPath = ([route = ""]: readonly string[]): string => route.replace(/^`(\S+) (\S+)`$/, "$2 $1");
  return tableOf(
    ["Route", "Permission", "Own", "Acting user", "Limit", "What it does"],
    rows.toSorted((a, b) => (byPath(a) < byPath(b) ? -1 : 1)),
  );
}

function routeRow(page: string, route: string, operation: Operation): string[] {
  const { summary, security, "x-permission": permission, "x-also-permission": also, "x-own-data-of": own } = operation;
  const { "x-or-permission": either = [], "x-own-matters": isPersonal = false } = operation;
  const asked = permission === undefined ? [] : [permission, ...(also === undefined ? [] : [also])];
  const others = either.length === 0 ? "" : ` or ${either.map(code).join(", ")}`;
  const isOpen = security?.length === 0 ? "public" : "public, key optional";
  const isWrite = refusalsOf(operation, "403").includes("acting_user_required");
  const [, , , , actor, limit] =
    page
      .split("\n")
      .find((line) => line.startsWith(`| ${code(route)} `))
      ?.split("|") ?? [];
  const kept = (cell: string | undefined, otherwise: string): string =>
    cell === undefined || cell.trim() === none ? otherwise : cell.trim();
  return [
    code(route),
    permission === undefined ? isOpen : asked.map(code).join(" and ") + others,
    own === undefined ? (isPersonal ? "matters" : none) : code(own),
    isWrite ? kept(actor, "required") : none,
    isLimited(operation) ? kept(limit, isWrite ? "write" : "read") : none,
    summary,
  ];
}

/** JSON routes document the headers of their limit, pages that there is one. */
function isLimited({ responses }: Operation): boolean {
  return "429" in responses;
}

function refusalsOf({ responses }: Operation, status: string): readonly string[] {
  const said = responses[status];
  const shared = said?.$ref === undefined ? said : components.responses[said.$ref.split("/").at(-1) ?? ""];
  const parts = shared?.content?.["application/problem+json"]?.schema.allOf ?? [];
  return parts.flatMap(({ properties }) => properties?.code.enum ?? []);
}

function permissionRow({ key, default_level, danger, scopes, description }: CatalogEntry): string[] {
  return [code(key), default_level === "none" ? "nobody" : default_level, danger ? "yes" : none, scopes.join(", "), description];
}

/** The page with another table under a heading. */
function withTable(page: string, heading: string, table: string): string {
  const place = new RegExp(`(\n## ${heading}\n[^#]*?\n)\\|[^\n]*(?:\n\\|[^\n]*)*`);
  if (!place.test(page)) throw new Error(`docs/permissions.md has no table under "${heading}"`);
  return page.replace(place, (_whole, before: string) => before + table);
}

export function writePermissionsPage(): void {
  const page = readFileSync(path, "utf8");
  const permissions = tableOf(["Permission", "From level", "Danger", "Scopes", "What it allows"], catalog.map(permissionRow));
  writeFileSync(path, withTable(withTable(page, "Routes", routesTable(page)), "Permissions", permissions));
}
