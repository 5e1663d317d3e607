import { cpSync, mkdirSync, readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { basename, join, relative, resolve } from "node:path";
import { fileURLToPath, pathToFileURL } from "node:url";
import { build, type Metafile, type Plugin } from "esbuild";
import { builtDocumentName, openApiDocument } from "../src/app/document.ts";

const root = fileURLToPath(new URL("..", import.meta.url));

/** What an operator runs. */
export const program = ["src/main.ts", "src/cli.ts"] as const;

/** What stays a package: the addon, and what the libraries use only where an operator has installed it. */
const external = ["better-sqlite3", "bufferutil", "pg-native", "utf-8-validate", "zlib-sync"];

/** What is read as a file at run time, and the package that it comes from. */
const copied = { files: ["generated/api-reference.js.gz"], folders: ["node_modules/@scalar/fastify-api-reference"] };

/**
 * Writes the program as few files, with the packages it needs in them: a start that reads a thousand files takes twice as long. What is
 * imported dynamically stays a file of its own that is read on first use.
 * @param folder where the files go, all of them at its top; what is in it is removed
 * @param sources files whose names the built ones have, absolute or from the project's root
 * @returns what is in each file, and what it imports
 */
export async function bundle(folder: string, sources: readonly string[]): Promise<Metafile> {
  rmSync(folder, { recursive: true, force: true });
  mkdirSync(folder, { recursive: true });
  const { metafile } = await build({
    absWorkingDir: root,
    entryPoints: [...sources],
    outdir: folder,
    entryNames: "[name]",
    bundle: true,
    splitting: true,
    format: "esm",
    platform: "node",
    target: "node20.19",
    external,
    plugins: [compilersAsFiles(folder), textsAsJson],
    // discord.js finds the limits of its caches by the names of its classes.
    keepNames: true,
    minifySyntax: true,
    minifyWhitespace: true,
    sourcemap: true,
    sourcesContent: false,
    legalComments: "none",
    metafile: true,
    logLevel: "warning",
    // Packages in the older module format ask for Node's modules by it.
    banner: { js: 'import { createRequire as __createRequire } from "node:module"; const require = __createRequire(import.meta.url);' },
  });
  for (const file of copied.files) cpSync(join(root, "src", file), join(folder, file));
  for (const status of [501, 404] as const)
    writeFileSync(join(folder, "generated", builtDocumentName(status)), JSON.stringify(openApiDocument(status)));
  writeFileSync(join(folder, "THIRD-PARTY.txt"), licencesOf(metafile));
  nameSourcesFrom("dist", folder);
  return metafile;
}

/** Lets source maps name sources as a build in the project itself would: an archive says nothing of the folder that it was made in. */
export function nameSourcesFrom(place: string, folder: string): void {
  for (const file of readdirSync(folder).filter((name) => name.endsWith(".map"))) {
    const path = join(folder, file);
    const map = JSON.parse(readFileSync(path, "utf8")) as { sources: string[] };
    const sources = map.sources.map((source) => (source.includes(":") ? source : relative(join(root, place), resolve(folder, source))));
    writeFileSync(path, JSON.stringify({ ...map, sources }));
  }
}

/**
 * Prisma's query compilers are modules that hold WebAssembly as base64, 2.2 MB of text that V8 keeps as the source and as the value. Here the
 * bytes are a file beside them: `Buffer.from(wasm, "base64")`, which the generated client calls, takes bytes as they are.
 */
function compilersAsFiles(folder: string): Plugin {
  return {
    name: "compilers-as-files",
    setup({ onLoad }) {
      onLoad({ filter: /\.wasm-base64\.mjs$/ }, async ({ path }) => {
        const { wasm } = (await import(pathToFileURL(path).href)) as { wasm: string };
        const name = basename(path, "-base64.mjs");
        writeFileSync(join(folder, name), Buffer.from(wasm, "base64"));
        return {
          contents: `import { readFileSync } from "node:fs"; export const wasm = readFileSync(new URL(${JSON.stringify(name)}, import.meta.url));`,
        };
      });
    },
  };
}

/** Texts are thousands of fields: V8 reads them as JSON in a part of the time that it takes for an object in the code. */
const textsAsJson: Plugin = {
  name: "texts-as-json",
  setup({ onLoad }) {
    onLoad({ filter: /[\\/]locales[\\/]\w+\.json$/ }, ({ path }) => {
      const texts = JSON.stringify(JSON.parse(readFileSync(path, "utf8")));
      return { contents: `export default JSON.parse(${JSON.stringify(texts)});` };
    });
  },
};

/** Every package of which something is in the files, with its licence: who passes the files on has to pass that on, too. */
export function licencesOf({ inputs }: Metafile): string {
  const folders = Object.keys(inputs).flatMap((file) => /^.*node_modules\/(?:@[^/]+\/)?[^/]+/.exec(file) ?? []);
  return [...new Set([...folders, ...copied.folders])]
    .toSorted()
    .map(licenceOf)
    .join(`\n${"-".repeat(80)}\n\n`);
}

function licenceOf(folder: string): string {
  const { name, version, license } = JSON.parse(readFileSync(join(root, folder, "package.json"), "utf8")) as Record<string, string>;
  const files = readdirSync(join(root, folder)).filter((file) => /^(licen[cs]e|notice|copying)/i.test(file));
  const texts = files.map((file) => readFileSync(join(root, folder, file), "utf8").trim());
  return `${[`${name} ${version} (${license})`, ...texts].join("\n\n")}\n`;
}
