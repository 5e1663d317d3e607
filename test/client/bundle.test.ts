// @module-tag sqlite
// @module-tag slow
import { execFile } from "node:child_process";
import { readFile, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { promisify } from "node:util";
import { gzipSync } from "node:zlib";
import { expect, test } from "vitest";
import { installClient } from "./installed.ts";

const run = promisify(execFile);
const root = fileURLToPath(new URL("../..", import.meta.url));

test("the built client imports nothing, holds nothing of the server, and has at most 90 kB", async () => {
  await using installed = await installClient();
  const text = await readFile(installed.module, "utf8");
  const outputs = Object.values(installed.metafile.outputs).flatMap(({ imports }) => imports);
  expect(outputs).toEqual([]);
  expect(text.match(/\bimport\s*[({*"'].*|\brequire\(.*|["']node:.*/g) ?? []).toEqual([]);
  const inputs = Object.keys(installed.metafile.inputs).filter((path) => path.startsWith("src/"));
  expect(inputs.filter((path) => !path.startsWith("client/"))).toEqual([]);
  const packages = [
    ...new Set(Object.keys(installed.metafile.inputs).flatMap((path) => /node_modules\/((?:@[^/]+\/)?[^/]+)/.exec(path)?.[1] ?? [])),
  ];
  expect(packages.toSorted()).toEqual([
    "@stablelib/base64",
    "eventsource-parser",
    "fast-sha256",
    "jose",
    "openapi-fetch",
    "standardwebhooks",
  ]);
  const sizes = { kB: text.length / 1000, zipped: gzipSync(text).length / 1000 };
  expect(sizes.kB).toBeLessThan(90);
  expect(sizes.zipped).toBeLessThan(25);
  const notice = await readFile(join(installed.folder, "node_modules/provost/dist/client/THIRD-PARTY.txt"), "utf8");
  for (const name of packages) expect(notice).toContain(`${name} `);
});

const program = `import { createProvostClient, ifMatch, type ProvostClient, type Schema } from "provost/client";
const client: ProvostClient = createProvostClient({ baseUrl: "http://127.0.0.1:1", key: "prv_live_x", retries: { attempts: 1 } });
export async function change(id: string): Promise<Schema<"BlacklistRecord">["severity"] | undefined> {
  const path = { id };
  const { data } = await client.GET("/blacklist/{id}", { params: { path } });
  const changed = await client.PATCH("/blacklist/{id}", { params: { path, header: ifMatch(data.data) }, body: { severity: "high" } });
  for await (const { number } of client.paginate("/blacklist", { params: { query: { category: "raid" } } })) console.log(number.length);
  return "code" in changed.data ? undefined : changed.data.data.severity;
}
`;
const mistakes = {
  "a field that no record has": 'const { data } = await client.GET("/staff"); data.data[0]?.nothing;',
  "a value that is none": 'await client.POST("/blacklist", { body: { kind: "person", subject_id: "1", category: "raid" } });',
  "a category of people for a server":
    'await client.POST("/workflows/blacklist-server", { body: { server_id: "1", reason: "r", category: "raid", severity: "low", member_policy: "flag" } });',
  "a filter that the list does not have": 'client.paginate("/blacklist", { params: { query: { sort: "x" } } });',
  "a path that does not exist": 'await client.GET("/blacklists");',
  "a list that is none": 'client.paginate("/health");',
};

test("a program that has only the built client compiles, runs, and has its mistakes shown", async () => {
  await using installed = await installClient();
  const wrong = Object.values(mistakes).map((line) => `export async function f() { ${line} }\n`);
  const written = [program, ...wrong.map((text) => program + text)];
  const files = written.map((_, index) => `program${index.toString()}.ts`);
  await Promise.all(written.map((text, index) => writeFile(join(installed.folder, files[index] ?? ""), text)));
  const compilerOptions = {
    module: "nodenext",
    target: "es2022",
    lib: ["es2023", "dom"],
    types: [],
    strict: true,
    noEmit: true,
    skipLibCheck: false,
  };
  await writeFile(join(installed.folder, "tsconfig.json"), JSON.stringify({ compilerOptions, files }));
  for (const compiler of ["typescript", "typescript-5"]) {
    const said = await run(
      process.execPath,
      [join(root, "node_modules", compiler, "bin/tsc"), "-p", installed.folder, "--pretty", "false"],
      { cwd: installed.folder },
    ).catch((error: unknown) => error as { stdout: string });
    const faulty = [...said.stdout.matchAll(/^(\w+\.ts)\(/gm)].map(([, file]) => file);
    expect([compiler, ...new Set(faulty)], said.stdout).toEqual([compiler, ...files.slice(1)]);
  }
  const main = 'import { createProvostClient } from "provost/client"; console.log(typeof createProvostClient);';
  await writeFile(join(installed.folder, "main.js"), main);
  expect((await run(process.execPath, [join(installed.folder, "main.js")])).stdout).toBe("function\n");
});
