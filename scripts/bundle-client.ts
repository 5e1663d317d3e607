import { execFileSync } from "node:child_process";
import { cpSync, mkdirSync, readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { build, type Metafile } from "esbuild";
import { licencesOf, nameSourcesFrom } from "./bundle.ts";

const root = fileURLToPath(new URL("..", import.meta.url));

/** Packages whose declarations those of the client name. */
const declared = ["openapi-fetch", "openapi-typescript-helpers"];

/**
 * Writes `provost/client`: one module that runs wherever there is `fetch`, with its packages in it, and the declarations of its types.
 * @param folder where the files go; what is in it is removed
 */
export async function bundleClient(folder: string): Promise<Metafile> {
  rmSync(folder, { recursive: true, force: true });
  mkdirSync(folder, { recursive: true });
  const { metafile } = await build({
    absWorkingDir: root,
    entryPoints: ["client/index.ts"],
    outdir: folder,
    bundle: true,
    format: "esm",
    platform: "browser",
    target: "es2022",
    minifySyntax: true,
    sourcemap: true,
    legalComments: "none",
    metafile: true,
    logLevel: "warning",
  });
  writeFileSync(join(folder, "THIRD-PARTY.txt"), licencesOf(metafile));
  nameSourcesFrom("dist/client", folder);
  declare(join(folder, "types"));
  return metafile;
}

/** The declarations, with those of libraries beside them, so that they need no package. */
function declare(folder: string): void {
  const project = join(root, "scripts/tsconfig.client.json");
  execFileSync(process.execPath, [join(root, "node_modules/typescript/bin/tsc"), "-p", project, "--outDir", folder], { stdio: "inherit" });
  for (const name of declared) cpSync(join(root, "node_modules", name, "dist/index.d.mts"), join(folder, `${name}.d.ts`));
  const files = readdirSync(folder, { recursive: true, encoding: "utf8" }).filter((file) => file.endsWith(".d.ts"));
  for (const file of files) {
    const path = join(folder, file);
    const beside = "../".repeat(file.split("/").length - 1) || "./";
    const text = readFileSync(path, "utf8").replaceAll(/from (["'])(openapi-[\w-]+)\1/g, `from "${beside}$2.js"`);
    writeFileSync(path, text.replaceAll(/(from "\.[^"]*)\.ts(?=")/g, "$1.js"));
  }
}
