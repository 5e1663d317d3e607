import { createHash } from "node:crypto";
import { existsSync, mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { register } from "node:module";
import { fileURLToPath } from "node:url";
import type { OpenAPI3 } from "openapi-typescript";
import { openApiDocument } from "../src/app/document.ts";

/**
 * Writes the types of the client (`src/generated/api.ts`) from the OpenAPI document. Its first line has the hash of what it is made of, by which a
 * test sees that they are of this one.
 */
const folder = fileURLToPath(new URL("../src/generated/", import.meta.url));
const file = `${folder}api.ts`;

interface Document {
  paths: Record<string, Record<string, { requestBody?: { content: Record<string, { schema: { anyOf?: { anyOf?: never }[] } }> } }>>;
}

/** Some bodies may come in a loose form, too, with fields of the client's own, which is documented first: as a type it would let anything pass. */
function keepExactBodies(document: Document): Document {
  for (const operation of Object.values(document.paths).flatMap((methods) => Object.values(methods)))
    for (const content of Object.values(operation.requestBody?.content ?? {})) {
      const exact = content.schema.anyOf?.at(-1);
      if (exact !== undefined) content.schema = exact;
    }
  return document;
}

async function typesOf(document: string): Promise<string> {
  // TypeScript 7 has no interface for programs that write code, so the library gets version 5.
  register(
    `data:text/javascript,${encodeURIComponent('export const resolve = (name, context, next) => next(name === "typescript" ? "typescript-5" : name, context);')}`,
    import.meta.url,
  );
  const { default: generate, astToString } = await import("openapi-typescript");
  // What has a default may be left out; answers have it all the same, as their schemas require it.
  const exact = keepExactBodies(JSON.parse(document) as Document);
  return astToString(await generate(exact as object as OpenAPI3, { defaultNonNullable: false }));
}

export async function writeClientTypes(): Promise<void> {
  const document = JSON.stringify(openApiDocument());
  const mark = `// ${createHash("sha256")
    .update(document)
    .update(readFileSync(fileURLToPath(import.meta.url)))
    .digest("hex")}\n`;
  if (existsSync(file) && readFileSync(file, "utf8").startsWith(mark)) return;
  mkdirSync(folder, { recursive: true });
  writeFileSync(file, mark + (await typesOf(document)));
  console.log("client-types: wrote the types of the OpenAPI document");
}
