import { createHash } from "node:crypto";
import { existsSync, mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { dirname } from "node:path";
import { fileURLToPath } from "node:url";
import { IntlMessageFormat } from "intl-messageformat";

/**
 * What has to be filled in in each text (`src/generated/texts.ts`), by the English texts: a text without one of its values does not compile.
 */

const source = fileURLToPath(new URL("../locales/en.json", import.meta.url));
const output = fileURLToPath(new URL("../src/generated/texts.ts", import.meta.url));

/** Kinds of elements of a parsed message, as `@formatjs/icu-messageformat-parser` numbers them. */
const kinds = { literal: 0, select: 5, plural: 6, pound: 7 };

interface Element {
  type: number;
  value: string;
  options?: Record<string, { value: Element[] }>;
}

/** @returns the types of the values by their names */
function valuesIn(elements: readonly Element[], found = new Map<string, string>()): Map<string, string> {
  for (const { type, value, options = {} } of elements) {
    if (type === kinds.literal || type === kinds.pound) continue;
    if (type === kinds.plural) found.set(value, "number");
    else if (!found.has(value)) found.set(value, type === kinds.select ? "string" : "V");
    for (const option of Object.values(options)) valuesIn(option.value, found);
  }
  return found;
}

function typesOf(texts: Readonly<Record<string, string>>): string {
  const lines = Object.entries(texts).flatMap(([key, text]) => {
    if (!text.includes("{")) return [];
    const values = valuesIn(new IntlMessageFormat(text, "en", undefined, { ignoreTag: true }).getAst() as readonly Element[]);
    const fields = [...values].map(([name, type]) => `readonly ${name}: ${type}`);
    return fields.length === 0 ? [] : [`  ${JSON.stringify(key)}: { ${fields.join("; ")} };`];
  });
  return `/** What is filled in, by the key of the text. @typeParam V what can be filled in */\nexport interface TextValues<V> {\n${lines.join("\n")}\n}\n`;
}

/** Does nothing where they are those of the texts. */
export function writeTextTypes(): void {
  const english = readFileSync(source, "utf8");
  const mark = `// ${createHash("sha256")
    .update(english)
    .update(readFileSync(fileURLToPath(import.meta.url)))
    .digest("hex")}\n`;
  if (existsSync(output) && readFileSync(output, "utf8").startsWith(mark)) return;
  mkdirSync(dirname(output), { recursive: true });
  writeFileSync(output, mark + typesOf(JSON.parse(english) as Record<string, string>));
}
