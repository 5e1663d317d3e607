import { createHash } from "node:crypto";
import { existsSync, readFileSync, writeFileSync } from "node:fs";
import { fileURLToPath } from "node:url";

/**
 * Writes what has to be filled in in each text (`src/generated/texts.ts`), from the English texts: a text without one of its values does not
 * compile.
 */
const source = fileURLToPath(new URL("../locales/en.json", import.meta.url));
const output = fileURLToPath(new URL("../src/generated/texts.ts", import.meta.url));

/** Kinds of elements of a parsed message, as `@formatjs/icu-messageformat-parser` numbers them. */
const kinds = { literal: 0, select: 5, plural: 6, pound: 7 };

/** @typedef {{ type: number, value: string, options?: Record<string, { value: Element[] }> }} Element */

/**
 * @param {readonly Element[]} elements
 * @param {Map<string, string>} found
 * @returns {Map<string, string>} the types of the values by their names
 */
function valuesIn(elements, found = new Map()) {
  for (const { type, value, options = {} } of elements) {
    if (type === kinds.literal || type === kinds.pound) continue;
    if (type === kinds.plural) found.set(value, "number");
    else if (!found.has(value)) found.set(value, type === kinds.select ? "string" : "V");
    for (const option of Object.values(options)) valuesIn(option.value, found);
  }
  return found;
}

/** @param {Readonly<Record<string, string>>} texts */
async function typesOf(texts) {
  const { IntlMessageFormat } = await import("intl-messageformat");
  const lines = Object.entries(texts).flatMap(([key, text]) => {
    if (!text.includes("{")) return [];
    const values = valuesIn(new IntlMessageFormat(text, "en", undefined, { ignoreTag: true }).getAst());
    const fields = [...values].map(([name, type]) => `readonly ${name}: ${type}`);
    return fields.length === 0 ? [] : [`  ${JSON.stringify(key)}: { ${fields.join("; ")} };`];
  });
  return `/** What is filled in, by the key of the text. @typeParam V what can be filled in */\nexport interface TextValues<V> {\n${lines.join("\n")}\n}\n`;
}

if (existsSync(source)) {
  const english = readFileSync(source, "utf8");
  const mark = `// ${createHash("sha256")
    .update(english)
    .update(readFileSync(fileURLToPath(import.meta.url)))
    .digest("hex")}\n`;
  if (!existsSync(output) || !readFileSync(output, "utf8").startsWith(mark))
    writeFileSync(output, mark + (await typesOf(JSON.parse(english))));
}
