import { existsSync, readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { jobs } from "./jobs.ts";
import { phrases } from "./phrases.ts";

/** By what is weighed. Less is better. */
export type Weights = Readonly<Record<string, number>>;

interface Source {
  /** Relative to the root. */
  path: string;
  text: string;
}

/** What is no part of the service: in earlier checkouts a stand-in for Discord and a client of ours. */
const beside = /^src\/(?:sandbox|demo|client)\//;
const texts = /^src\/commands\/locales\/|\.(?:texts|sentences|labels)\.ts$/;
const operation = /(?<![\w.])(?:get|post|put|patch|del)\(/g;
const comment = /^(?:\/\/|\/?\*)/;

/** Scripts that change nothing in the repository, or that the checks run. */
const remembered = /^(?!postinstall$|dev$|build$|release:|start$|trace$|demo$|bench$|weigh$|check|test|verify$|format$)/;

/** Weigh a checkout. @returns what may grow with what the service does, and what may not grow */
export function measure(root: string): { sizes: Weights; weights: Weights } {
  const sources = filesIn(root, "src", /\.ts$/).filter(({ path }) => !path.startsWith("src/generated/"));
  const documents = filesIn(root, "docs", /\.md$/);
  const tests = filesIn(root, "test", /\.ts$/);
  const operations = total(sources, ({ path, text }) => (path.endsWith("routes.ts") ? count(text, operation) : 0));
  const service = sources.filter(({ path }) => !beside.test(path) && !texts.test(path));
  const { scripts } = JSON.parse(readFileSync(join(root, "package.json"), "utf8")) as { scripts: Record<string, string> };
  const steps = (scripts["postinstall"] ?? "").split("&&").filter((step) => step.trim() !== "");
  const phrasesIn = (some: readonly Source[]): number => total(some, ({ text }) => count(text, phrases));
  return {
    sizes: { operations, "lines in src": total(sources, linesIn), "lines in test": total(tests, linesIn) },
    weights: {
      ...mechanisms(sources),
      "places of one field, member_policy": total(sources, ({ text }) => count(text, /\bmember_policy\b/g)),
      "files with one field, member_policy": sources.filter(({ text }) => /\bmember_policy\b/.test(text)).length,
      ...Object.fromEntries(Object.entries(walks(root)).map(([name, hops]) => [`files to open: ${name}`, hops.length])),
      "lines for each operation": Math.round(total(service, linesIn) / Math.max(1, operations)),
      "files in src": sources.length,
      "files with one importer and at most 80 lines": singles(sources),
      "files with the name of one above or below them": twins(sources),
      "types of the kind ReturnType<typeof create…>": total(sources, ({ text }) => count(text, /ReturnType<typeof create/g)),
      "comment lines in src": total(sources, ({ text }) => text.split("\n").filter((line) => comment.test(line.trim())).length),
      "steps after an installation": steps.length,
      "commands to remember after a change": Object.keys(scripts).filter((name) => remembered.test(name)).length,
      "files that another language concerns": sources.filter(({ text }) => /[äöüßÄÖÜ]/.test(text)).length,
      "words of documents": total(documents, ({ text }) => count(text, /\S+/g)),
      "translated phrases in src and test": phrasesIn([...sources, ...tests]),
      "translated phrases in documents": phrasesIn(documents),
    },
  };
}

/** By the name of what is followed: the files that one opens on the way, each with what is looked for in it. */
export function walks(root: string): Readonly<Record<string, readonly (readonly [file: string, symbol: string])[]>> {
  const path = join(root, "scripts/weigh/walks.json");
  return existsSync(path) ? (JSON.parse(readFileSync(path, "utf8")) as ReturnType<typeof walks>) : {};
}

const linesIn = ({ text }: Source): number => text.split("\n").length - 1;
const total = (sources: readonly Source[], weight: (source: Source) => number): number =>
  sources.reduce((sum, source) => sum + weight(source), 0);

/** For each job by how many mechanisms it is done, and in how many files by other ones than the first. */
function mechanisms(sources: readonly Source[]): Weights {
  return Object.fromEntries(
    Object.entries(jobs).flatMap(([job, ways]) => {
      const users = ways.map((way) => sources.filter(({ text }) => way.test(text)).length);
      return [
        [`mechanisms: ${job}`, users.filter((files) => files > 0).length],
        [`files that do it otherwise than by the first: ${job}`, users.slice(1).reduce((sum, files) => sum + files, 0)],
      ];
    }),
  );
}

function filesIn(root: string, folder: string, name: RegExp): Source[] {
  if (!existsSync(join(root, folder))) return [];
  return readdirSync(join(root, folder), { recursive: true, encoding: "utf8" })
    .filter((path) => name.test(path))
    .toSorted()
    .map((path) => ({ path: `${folder}/${path}`, text: readFileSync(join(root, folder, path), "utf8") }));
}

const count = (text: string, what: RegExp): number => [...text.matchAll(what)].length;

/** Files that could be part of the only one that imports them. */
function singles(sources: readonly Source[]): number {
  const importers = new Map<string, Set<string>>();
  for (const { path, text } of sources)
    for (const [, target = ""] of text.matchAll(/from "(\.[^"]+\.ts)"/g)) {
      const imported = join(path, "..", target);
      importers.set(imported, (importers.get(imported) ?? new Set()).add(path));
    }
  return sources.filter(({ path, text }) => importers.get(path)?.size === 1 && text.split("\n").length <= 80).length;
}

/** Files of which another one with the same name is in a folder above or below. */
function twins(sources: readonly Source[]): number {
  const folders = new Map<string, string[]>();
  for (const { path } of sources) {
    const [name = "", ...above] = path.split("/").toReversed();
    folders.set(name, [...(folders.get(name) ?? []), above.toReversed().join("/")]);
  }
  const isTwin = (folder: string, all: readonly string[]): boolean =>
    all.some((other) => other !== folder && (`${folder}/`.startsWith(`${other}/`) || `${other}/`.startsWith(`${folder}/`)));
  return [...folders].reduce(
    (sum, [name, all]) => sum + (name === "feature.ts" ? 0 : all.filter((folder) => isTwin(folder, all)).length),
    0,
  );
}

/** A table of all weights, with what changed. */
export function tableOf(now: Weights, before: Weights): string[] {
  const names = Object.keys(now);
  const width = Math.max(...names.map((name) => name.length));
  return names.map((name) => {
    const [is = 0, was] = [now[name], before[name]];
    const change = was === undefined || was === is ? "" : `  (${is > was ? "+" : ""}${(is - was).toString()})`;
    return `${name.padEnd(width)}  ${is.toString().padStart(7)}${change}`;
  });
}
