import fc from "fast-check";
import { freshId, type DocumentedRoute } from "../document.ts";
import { bodiesOf } from "./bodies.ts";
import type { Records } from "./records.ts";
import { fitting, often, oneOf, type Text } from "./values.ts";

/** A request as it goes over the wire. */
export interface WildRequest {
  /** The documented path it was made from. */
  template: string;
  method: string;
  path: string;
  headers: Record<string, string>;
  body: Buffer | undefined;
}

/** Steps of an address, as they stand there. */
const oddSteps: Text = fc.oneof(
  oneOf("%00", "%", "%zz", "%2e%2e", "..", ".", "%2F", "%5C", "\\", "a%0d%0aX-Evil:%201", "%ED%A0%80", "%F0%9F%98%80", "%C3%A9", "\u00e9"),
  oneOf("__proto__", "constructor", "null", "[object%20Object]", "a'b\"c", "{id}", ";a=b", "*", "@me", "-1", "0", "99999999999999999999"),
  oneOf("18446744073709551615", "18446744073709551616", "80351110224678912", "0199F3A0-0000-7000-8000-00000000000F"),
  oneOf("BL-999999999", "CASE-000001", "PUN-REQ-000001"),
  oneOf("x".repeat(300), "9".repeat(5000), "%F0%9F%98%80".repeat(400), "%00".repeat(100)),
);
const oddValues: Text = oneOf("", "%", "%00", "+", "true", "-1", "0", "1e3", "1.5", "999999999999", "a,b,,c", "%E0%A4%A", "%25", "'", "[]");
const oddSearches: Text = oneOf(
  `q=${"x".repeat(6000)}`,
  `cursor=${"A".repeat(3000)}`,
  "limit=5&".repeat(600),
  "&&=&",
  "#part",
  "?",
  "limit=5?limit=6",
);
const oddHeaders: Text = oneOf("", " ", "\xff\xfe", "a\tb", "x".repeat(3000), ",,,", "*", "null", '"', "W/");

/** Headers by how seldom they are sent, with values that are right or nearly so. */
const optional: Record<string, [seldom: number, ...values: string[]]> = {
  "idempotency-key": [3, "again-and-again", "again-and-again-2", "short", "x".repeat(255), "x".repeat(256)],
  "if-match": [4, '"v1"', '"v2"', '"v1-abc"', "*", 'W/"v1"', '"v999999999999999"', '"v1", "v2"', "v1"],
  "if-none-match": [4, "*", '"v1"', 'W/"v1"', '"v1", "v2"', "v1"],
  accept: [
    4,
    "application/json",
    "*/*",
    "text/html",
    "text/csv",
    "application/x-ndjson",
    "image/png",
    "application/json;q=0",
    "application/json;q=x",
  ],
  "accept-encoding": [2, "gzip", "deflate", "br", "identity", "gzip;q=0", "*", "gzip, deflate, br, zstd"],
  "api-version": [8, "1", "1.7", "2", "one", "1.", ".1"],
  "x-request-id": [6, "request-00000001", "x", "a b", "x".repeat(64), "x".repeat(65)],
  "x-acting-assertion": [20, "a.b.c", "e30.e30.e30", "x"],
  "x-forwarded-for": [20, "203.0.113.7", "[::1", ",,"],
  traceparent: [20, `00-${"a".repeat(32)}-${"b".repeat(16)}-01`, "00-x"],
  "last-event-id": [20, "1", "-1", "99999999999", "x"],
  expect: [40, "100-continue", "a miracle"],
  "content-encoding": [40, "gzip", "identity"],
};

/** @param keys a key that may do everything, and others that may not */
export function requestsOf(route: DocumentedRoute, records: Records, keys: readonly string[]): fc.Arbitrary<WildRequest> {
  const ids = often(
    3,
    fc.nat().map((pick) => records.ids[pick % records.ids.length] ?? ""),
    fc.nat().map(() => freshId()),
  );
  const usual = fc.constant(route.method);
  const method = route.method === "GET" ? often(12, usual, oneOf("HEAD", "POST")) : often(30, usual, oneOf("OPTIONS", "PUT", "TRACE"));
  return fc
    .record({
      method,
      address: addressesOf(route, records),
      search: searchesOf(route, records, ids),
      headers: headersOf(records, keys),
      body: bodiesOf(route, ids),
    })
    .map(({ method, address, search, headers, body }) => {
      const about = {
        ...(body !== undefined && { "content-length": body.content.length.toString() }),
        ...(body?.type && { "content-type": body.type }),
      };
      return { template: route.path, method, path: address + search, headers: { ...headers, ...about }, body: body?.content };
    });
}

/** The address of something that is there, or one with a step of it exchanged. */
function addressesOf({ path: template }: DocumentedRoute, records: Records): Text {
  const places = template.split("/").flatMap((step, index) => (step.startsWith("{") ? [index] : []));
  const exchange = fc.tuple(fc.constantFrom(...places, template.split("/").length), oddSteps);
  return fc.tuple(fc.nat(), often(5, fc.constant(undefined), exchange)).map(([pick, exchanged]) => {
    const steps = records.fill(template, pick).split("/");
    if (exchanged !== undefined) steps[exchanged[0]] = exchanged[1];
    return steps.join("/");
  });
}

function searchesOf({ operation }: DocumentedRoute, { cursors }: Records, ids: Text): Text {
  const documented = (operation.parameters ?? []).filter(({ in: where }) => where === "query");
  const known = fc.nat().map((pick) => cursors[pick % Math.max(cursors.length, 1)] ?? "none_of_ours");
  const right = documented.map(({ name = "", schema = {} }) =>
    (name === "cursor" ? known : fitting(schema, ids)).map(
      (value) => `${name}=${encodeURIComponent(Buffer.from(String(value)).toString())}`,
    ),
  );
  const names = ["unknown", "__proto__", "a[b]", "%00", "", ...documented.map(({ name = "" }) => name)];
  const wrong = fc.tuple(oneOf(...names), oddValues).map(([name, value]) => `${name}=${value}`);
  const one = right.length === 0 ? wrong : often(8, fc.oneof(...right), wrong);
  const some = fc.array(one, { maxLength: right.length === 0 ? 1 : 3 });
  return often(
    20,
    some.map((pairs) => pairs.join("&")),
    oddSearches,
  ).map((search) => (search === "" ? "" : `?${search}`));
}

function headersOf({ owner, actors }: Records, [key = "", ...others]: readonly string[]): fc.Arbitrary<Record<string, string>> {
  const lesser = oneOf(`bearer  ${key}`, ...others.map((one) => `Bearer ${one}`), "Bearer");
  const authorization = often(40, fc.constant(`Bearer ${key}`), often(3, lesser, oddHeaders));
  const stranger = fc.nat().map(() => freshId());
  const actor = often(
    20,
    fc.constant(owner.id),
    often(3, oneOf(...actors), stranger),
    oneOf("me", "1", "18446744073709551616"),
    oddHeaders,
  );
  const none = fc.constant<string | undefined>(undefined);
  const rest = Object.entries(optional).map(([name, [seldom, ...values]]) => [
    name,
    often(seldom * 8, none, often(6, oneOf(...values), oddHeaders)),
  ]);
  return fc
    .record({
      authorization: often(40, authorization, none),
      "x-acting-user": often(12, actor, none),
      ...(Object.fromEntries(rest) as Record<string, fc.Arbitrary<string | undefined>>),
    })
    .map((all) => Object.fromEntries(Object.entries(all).filter((pair): pair is [string, string] => pair[1] !== undefined)));
}
