import { readdirSync, readFileSync } from "node:fs";
import { fileURLToPath } from "node:url";
import { describe, expect, test } from "vitest";
import type { z } from "zod";
import { commandTable, routeTable } from "../../src/features.ts";
import { languages, translator, type Texts } from "../../src/kit/say.ts";
import { namelessFields, showLine, showView, titleFields, unshownFields } from "../../src/commands/show.ts";
import { kinds } from "../../src/features/workflows/kinds/kinds.ts";

const { entries } = commandTable();
const { de, en } = languages as Record<"de" | "en", Texts>;

/** Operations, or a field of what they answer, whose own wording makes use of the general card, by the file it stands in. */
const ownWording: Readonly<Record<string, readonly string[]>> = {
  "features/audit/audit.commands.ts": ["verifyAudit"],
  "features/callsigns/callsigns.commands.ts": ["nextCallsign", "lookUpNextCallsign"],
  "features/confirmations/confirmations.commands.ts": ["getConfirmation"],
  "features/workflows/commands/comments.ts": ["editWorkflowComment"],
};
const specs = new Map(routeTable().map(({ spec }) => [spec.operationId, spec]));

/** @param what an operation, or one and a field of what it answers */
function schemaOf(what: string): z.ZodType | undefined {
  const [operation = "", field] = what.split(" ");
  const success = specs.get(operation)?.success;
  const schema = success !== undefined && "schema" in success ? success.schema : undefined;
  return field === undefined || schema === undefined ? schema : ((schema as z.ZodObject).shape[field] as z.ZodType | undefined);
}

type Def = { type: string } & Readonly<Record<string, any>>;
type Place = "card" | "line" | "within";

/** The objects a schema allows, without what wraps them. */
function objectsIn(schema: z.ZodType): z.ZodObject[] {
  const def = schema.def as unknown as Def;
  if (def.type === "object") return [schema as z.ZodObject];
  const inner: unknown[] = [
    def["innerType"],
    def["element"],
    def["in"],
    def["left"],
    def["right"],
    ...((def["options"] as unknown[]) ?? []),
  ];
  return inner.filter((one): one is z.ZodType => one !== undefined).flatMap(objectsIn);
}

/** Names of fields that are shown of a view: those of its own, and those of what stands in it and has no name of its own. */
function fieldsOf(schema: z.ZodType, place: Place): string[] {
  return objectsIn(schema).flatMap(({ shape }) => {
    const names = Object.keys(shape);
    const isNamed = place === "within" && [...titleFields, "discord_user_id", "in_community"].some((name) => names.includes(name));
    if (isNamed) return [];
    const left = { card: unshownFields, line: namelessFields, within: unshownFields }[place];
    return names
      .filter((name) => !left.has(name))
      .flatMap((name) => {
        const inner = shape[name] as unknown as z.ZodType;
        const isObject = objectsIn(inner).length > 0;
        if (place !== "card") return isObject ? [] : [name];
        return [name, ...fieldsOf(inner, "within")];
      });
  });
}

/** Every field that some command shows by the general wording, with a command that does. */
function shown(): Map<string, string> {
  const found = new Map<string, string>();
  const note = (operation: string, place: Place): void => {
    const schema = schemaOf(operation);
    if (schema === undefined) throw new Error(`${operation} answers no view`);
    for (const field of fieldsOf(schema, place)) found.set(field, operation);
  };
  for (const { operation, show, line, answers, asFiles } of entries) {
    const shape = specs.get(operation)?.success.shape;
    if (answers !== undefined || asFiles === true) continue;
    if (shape === "list" && line === undefined) note(operation, "line");
    if (shape !== "list" && shape !== "raw" && show === undefined) note(operation, "card");
  }
  for (const operation of Object.values(ownWording).flat()) note(operation, "card");
  // The card of a request shows what was filed.
  for (const [kind, { payload }] of Object.entries(kinds)) for (const field of fieldsOf(payload, "card")) found.set(field, kind);
  return found;
}

/** Every field of what commands send, with an operation that takes it: a refusal names the one that nobody gave by its word. */
function sent(): Map<string, string> {
  const found = new Map<string, string>();
  const seen = new Set<z.ZodType>();
  const note = (schema: z.ZodType, operation: string): void => {
    if (seen.has(schema)) return;
    seen.add(schema);
    for (const { shape } of objectsIn(schema))
      for (const [field, inner] of Object.entries(shape)) {
        found.set(field, operation);
        note(inner, operation);
      }
  };
  for (const { operation } of entries) {
    const { body, query } = specs.get(operation)?.request ?? {};
    for (const schema of [body, query]) if (schema !== undefined) note(schema, operation);
  }
  return found;
}

describe.each([
  ["English", en],
  ["German", de],
])("%s", (_name, texts) => {
  test("has a word for every field that the general wording shows", () => {
    const fields = shown();
    expect(fields.size).toBeGreaterThan(50);
    expect([...fields].filter(([field]) => texts[`label ${field}`] === undefined).map((one) => one.join(" of "))).toEqual([]);
  });

  test("has a word for every field that a refusal can name", () => {
    const fields = sent();
    expect(fields.size).toBeGreaterThan(100);
    expect([...fields].filter(([field]) => texts[`label ${field}`] === undefined).map((one) => one.join(" of "))).toEqual([]);
  });
});

test("no other file makes use of the general card", () => {
  const folder = fileURLToPath(new URL("../../src/", import.meta.url));
  const users = readdirSync(folder, { recursive: true, encoding: "utf8" }).filter(
    (name) => /^(commands|features)\/.*\.ts$/.test(name) && /\bshowView\(/.test(readFileSync(`${folder}${name}`, "utf8")),
  );
  expect(users.toSorted()).toEqual(["commands/gallery.ts", "commands/runner.ts", "commands/show.ts", ...Object.keys(ownWording)]);
});

test("a card and a line are worded in the reader's language, also within a field", () => {
  // What it is called by is its title, and no field besides.
  const view = { number: "N-001", key_id: "k", loa: { until: "x", points: 3 } };
  const fields = showView(view, translator("de")).embeds?.[0]?.fields ?? [];
  expect(fields.map(({ name }) => name)).toEqual([de["label key_id"], de["label loa"]]);
  expect(fields[1]?.value).toBe(`${de["label until"] ?? ""}: x, ${de["label points"] ?? ""}: 3`);
  expect(showLine(view, translator("de"))).toContain(`${de["label key_id"] ?? ""}: k`);
  expect(showView({ never_heard_of: 1 }, translator("de")).embeds?.[0]?.fields?.[0]?.name).toBe("Never heard of");
});
