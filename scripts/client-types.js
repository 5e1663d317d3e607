import { createHash } from "node:crypto";
import { existsSync, mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { createRequire, register } from "node:module";
import { fileURLToPath } from "node:url";

/**
 * Writes the types of the client (`src/generated/api.ts`) from the OpenAPI document. Its first line has the hash of what it is made of, by which a
 * test sees that they are of this one.
 */
const folder = fileURLToPath(new URL("../src/generated/", import.meta.url));
const file = `${folder}api.ts`;
const names = ["openapi-typescript", "tsx/esm/api"];

/** @returns {boolean} false when only the production packages are installed, or only the build */
function isPossible() {
  const { resolve } = createRequire(import.meta.url);
  try {
    return names.every((name) => resolve(name) !== "") && existsSync(new URL("../src/app/document.ts", import.meta.url));
  } catch {
    return false;
  }
}

/**
 * Some bodies may come in a loose form, too, with fields of the client's own, which is documented first: as a type it would let anything pass.
 * @param {{ paths: Record<string, Record<string, { requestBody?: { content: Record<string, { schema: { anyOf?: object[] } }> } }>> }} document
 */
function keepExactBodies(document) {
  for (const operation of Object.values(document.paths).flatMap((methods) => Object.values(methods)))
    for (const content of Object.values(operation.requestBody?.content ?? {})) {
      const exact = content.schema.anyOf?.at(-1);
      if (exact !== undefined) content.schema = exact;
    }
  return document;
}

/** @param {string} document */
async function typesOf(document) {
  // TypeScript 7 has no interface for programs that write code, so the library gets version 5.
  register(
    `data:text/javascript,${encodeURIComponent('export const resolve = (name, context, next) => next(name === "typescript" ? "typescript-5" : name, context);')}`,
    import.meta.url,
  );
  const { default: generate, astToString } = await import("openapi-typescript");
  // What has a default may be left out; answers have it all the same, as their schemas require it.
  return astToString(await generate(keepExactBodies(JSON.parse(document)), { defaultNonNullable: false }));
}

if (isPossible()) {
  const { tsImport } = await import("tsx/esm/api");
  const { openApiDocument } = await tsImport("../src/app/document.ts", import.meta.url);
  const document = JSON.stringify(openApiDocument());
  const mark = `// ${createHash("sha256")
    .update(document)
    .update(readFileSync(fileURLToPath(import.meta.url)))
    .digest("hex")}\n`;
  if (!existsSync(file) || !readFileSync(file, "utf8").startsWith(mark)) {
    mkdirSync(folder, { recursive: true });
    writeFileSync(file, mark + (await typesOf(document)));
    console.log("client-types: wrote the types of the OpenAPI document");
  }
} else console.log("client-types: openapi-typescript is not installed here, the types of the client are kept as they are");
