// @module-tag sqlite
import { createHash } from "node:crypto";
import { readFile } from "node:fs/promises";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { expect, test } from "vitest";
import { openApiDocument } from "../../src/app/document.ts";

const root = fileURLToPath(new URL("../..", import.meta.url));

test("the types of the client are those of the document: `npm run generate` writes them", async () => {
  const types = await readFile(join(root, "src/generated/api.ts"), "utf8");
  const script = await readFile(join(root, "scripts/client-types.ts"));
  const mark = createHash("sha256").update(JSON.stringify(openApiDocument())).update(script).digest("hex");
  expect(types.slice(0, types.indexOf("\n"))).toBe(`// ${mark}`);
});
