import { z } from "zod";

/** Texts that would change what others read, alert somebody, or break a client that is not careful. */
export const hostileTexts: readonly string[] = [
  "@everyone **bold** __u__ ~~s~~ ||spoiler|| `code` [link](https://evil.example)",
  "<@&1> <@1> <#1> </cmd:1> <:e:1> <t:0:R>",
  "\u202eevil\u202c \u2066x\u2069 \u200f",
  `Z\u0300\u0301\u0302\u0303\u0304${"\u0335\u0336".repeat(100)}`,
  "😀".repeat(2000),
  "```js\nalert(1)\n``` ```",
  "# Heading\n> quote\n- list\n1. one\n-# small",
  "\\\\\\`*_",
  "\ud83d half \udc00",
  "\ufdd0 half a sentence",
  `\ufdd0["kernel.number-most",{"count":7}]\ufdd1`,
  "   ",
  "\u200b",
  `https://evil.example/${"x".repeat(5000)}`,
  "x".repeat(10_000),
  `=HYPERLINK("https://evil.example")`,
];

type Json = Record<string, any>;

const samples = [
  "2026-01-02T03:04:05.678Z",
  "123456789012345678",
  "123456789012345678:123456789012345678",
  "0190f3c4-7e4a-7c3e-9a53-1c2d3e4f5a6b",
  "a".repeat(64),
  "BLU-2026-00001",
  "CASE-2026-00001",
  "north",
  "staff.view",
  "NORTH-001",
  "abcdefgh",
  "https://example.org/a",
];

/** Closed lists and ids of which the schema of the answer does not say so. */
const closed = new Set([
  "permission",
  "permissions",
  "scopes",
  "allow",
  "deny",
  "gains",
  "loses",
  "role_id",
  "key",
  "code",
  "number",
  "case_number",
  "supersedes",
  "team",
  "type",
  "kind",
]);

/** Characters of one value: lists in lists of lists would make more than any answer has. */
const mostCharacters = 300_000;

/** A value of a schema in which every text is as long and as hostile as the schema lets it be, as long as there is room for all of it. */
export function hostileValue(schema: z.ZodType, seed = 0): unknown {
  const document = z.toJSONSchema(schema, { io: "output", unrepresentable: "any" }) as Json;
  let count = seed;
  let left = mostCharacters;
  const hostile = (most: number): string => {
    const text = hostileTexts[count++ % hostileTexts.length] ?? "";
    const length = Math.min(most, left > 0 ? 6000 : 40);
    left -= length;
    return text.repeat(Math.ceil(length / text.length)).slice(0, length);
  };
  const textFor = ({ pattern, format, maxLength = 3000, minLength = 0 }: Json): string => {
    const fits = (text: string): boolean =>
      (pattern === undefined || new RegExp(pattern, "u").test(text)) && text.length <= maxLength && text.length >= minLength;
    if (format === "date-time") return samples[0] ?? "";
    if (format === "uri") return `https://example.org/${"x".repeat(Math.min(maxLength, 2000) - 30)}`;
    if (pattern === undefined) return hostile(maxLength);
    return [hostile(maxLength), ...samples].find(fits) ?? "x";
  };
  const build = (given: Json, depth: number): unknown => {
    const part = given["$ref"] === undefined ? given : ((document["$defs"] as Json)[given["$ref"].split("/").at(-1)] ?? document);
    if (part["const"] !== undefined) return part["const"];
    if (part["enum"] !== undefined) return part["enum"][count++ % part["enum"].length];
    const options = (part["anyOf"] ?? part["oneOf"]) as Json[] | undefined;
    if (options !== undefined) {
      const real = options.filter(({ type }) => type !== "null");
      return depth > 6 && real.length < options.length ? null : build(real[count++ % real.length] ?? {}, depth);
    }
    if (part["allOf"] !== undefined) return Object.assign({}, ...part["allOf"].map((one: Json) => build(one, depth)));
    const type = Array.isArray(part["type"]) ? part["type"].find((one: string) => one !== "null") : part["type"];
    if (type === "string") return textFor(part);
    if (type === "boolean") return count++ % 2 === 0;
    if (type === "number" || type === "integer") return part["maximum"] ?? part["minimum"] ?? 1_234_567;
    if (type === "array") {
      const length = depth > 6 || left <= 0 ? (part["minItems"] ?? 0) : Math.min(part["maxItems"] ?? 12, 12);
      return Array.from({ length }, () => build((part["items"] ?? {}) as Json, depth + 1));
    }
    if (type === "object" || part["properties"] !== undefined) {
      const own = Object.entries((part["properties"] ?? {}) as Json).map(([name, one]) => {
        const value = build(one as Json, depth + 1);
        return [name, closed.has(name) ? tamed(value) : value];
      });
      const rest = part["additionalProperties"];
      const keys = typeof rest === "object" && own.length === 0 ? keysFor(part) : [];
      const more = keys.map((key) => [key, build(rest as Json, depth + 1)]);
      return Object.fromEntries([...own, ...more]);
    }
    return hostile(500);
  };
  const keysFor = ({ propertyNames }: Json): string[] => {
    if (propertyNames === undefined) return ["**k** @everyone"];
    return (propertyNames["enum"] as string[] | undefined) ?? [String(build(propertyNames, 9))];
  };
  return build(document, 0);
}

function tamed(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(tamed);
  return typeof value === "string" && hostileTexts.some((text) => value.startsWith(text.slice(0, 20))) ? "staff.view" : value;
}
