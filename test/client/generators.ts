import { execFile } from "node:child_process";
import { createHash } from "node:crypto";
import { existsSync } from "node:fs";
import { mkdir, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath, pathToFileURL } from "node:url";
import { promisify } from "node:util";
import { build } from "esbuild";

const run = promisify(execFile);
const root = fileURLToPath(new URL("../..", import.meta.url));

/** Generators that others use for their clients, and what they need. */
const dependencies = { "@hey-api/openapi-ts": "0.99.0", "quicktype-core": "26.0.0", typescript: "5.9.3", zod: "4.6.7" };

const programs = {
  "typescript.mjs": `import { createClient } from "@hey-api/openapi-ts";
await createClient({ input: "./openapi.json", output: { path: "./typescript", postProcess: [] }, plugins: ["@hey-api/typescript", "zod", "@hey-api/sdk"] });`,
  "python.mjs": `import { readFileSync, writeFileSync } from "node:fs";
import { InputData, JSONSchemaInput, quicktype } from "quicktype-core";
const { components } = JSON.parse(readFileSync("openapi.json", "utf8"));
const properties = Object.fromEntries(Object.keys(components.schemas).map((name) => [name, { $ref: "#/components/schemas/" + name }]));
const input = new JSONSchemaInput(undefined);
await input.addSource({ name: "Provost", schema: JSON.stringify({ type: "object", properties, components }) });
const inputData = new InputData();
inputData.addInput(input);
const { lines } = await quicktype({ inputData, lang: "python", inferMaps: false, inferEnums: false, combineClasses: false });
writeFileSync("provost.py", lines.join("\\n"));`,
  "tsconfig.json": JSON.stringify({
    compilerOptions: {
      module: "esnext",
      moduleResolution: "bundler",
      lib: ["es2023", "dom", "dom.iterable"],
      types: [],
      strict: true,
      noEmit: true,
    },
    include: ["typescript"],
  }),
};

/** What the generator makes of a schema: a validator of zod. */
export interface Validator {
  safeParse(value: unknown): { success: boolean; error?: { message: string } };
}

/** @returns a folder with the generators, which stays for later runs, and the document in it */
export async function prepareGenerators(document: object): Promise<string> {
  const version = createHash("sha256").update(JSON.stringify(dependencies)).digest("hex").slice(0, 16);
  const folder = join(tmpdir(), `provost-generators-${(process.getuid?.() ?? 0).toString()}-${version}`);
  await mkdir(folder, { recursive: true, mode: 0o700 });
  const mark = join(folder, "installed");
  if (!existsSync(mark)) {
    await writeFile(join(folder, "package.json"), JSON.stringify({ private: true, type: "module", dependencies }));
    await run("npm", ["install", "--no-audit", "--no-fund", "--ignore-scripts"], { cwd: folder });
    await writeFile(mark, "");
  }
  for (const [name, text] of Object.entries(programs)) await writeFile(join(folder, name), text);
  await writeFile(join(folder, "openapi.json"), JSON.stringify(document));
  return folder;
}

/** Types, a client and validators in TypeScript. @returns what the compiler says, and the validators by their names */
export async function generateTypeScript(folder: string) {
  await run(process.execPath, ["typescript.mjs"], { cwd: folder });
  const compiler = join(root, "node_modules/typescript/bin/tsc");
  const { stdout: faults } = await run(process.execPath, [compiler, "-p", folder, "--pretty", "false"]).catch(
    (error: unknown) => error as { stdout: string },
  );
  const outfile = join(folder, "validators.mjs");
  await build({ entryPoints: [join(folder, "typescript/zod.gen.ts")], outfile, bundle: true, format: "esm", logLevel: "silent" });
  const validators = (await import(`${pathToFileURL(outfile).href}?${Date.now().toString()}`)) as Record<string, Validator>;
  return { faults, validators };
}

/** Classes in Python. @returns what its compiler says */
export async function generatePython(folder: string): Promise<string> {
  await run(process.execPath, ["python.mjs"], { cwd: folder });
  const { stderr } = await run("python3", ["-m", "py_compile", "provost.py"], { cwd: folder }).catch(
    (error: unknown) => error as { stderr: string },
  );
  return stderr;
}
