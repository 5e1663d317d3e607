import { existsSync, readFileSync } from "node:fs";
import { SourceMap, type SourceMapPayload } from "node:module";
import { join } from "node:path";
import { text } from "node:stream/consumers";
import { fileURLToPath } from "node:url";

// `npm run -s trace < log`: every place in a file of the build becomes the place in the source it was made from. Another build than dist/ is
// named by its folder.
const [, , build = fileURLToPath(new URL("../dist", import.meta.url))] = process.argv;
const maps = new Map<string, SourceMap | undefined>();

function mapOf(file: string): SourceMap | undefined {
  if (!maps.has(file)) {
    const path = join(build, `${file}.map`);
    maps.set(file, existsSync(path) ? new SourceMap(JSON.parse(readFileSync(path, "utf8")) as SourceMapPayload) : undefined);
  }
  return maps.get(file);
}

const lines = await text(process.stdin);
process.stdout.write(
  lines.replaceAll(/[^\s("\\]*\/dist\/([\w.-]+\.js):(\d+):(\d+)/g, (place: string, file: string, line: string, column: string) => {
    const entry = mapOf(file)?.findEntry(Number(line) - 1, Number(column) - 1);
    if (entry === undefined || !("originalSource" in entry)) return place;
    const { originalSource, originalLine, originalColumn } = entry;
    return `${originalSource.replace(/^(\.\.\/)+/, "")}:${(originalLine + 1).toString()}:${(originalColumn + 1).toString()}`;
  }),
);
