// @module-tag sqlite
// @module-tag slow
import { mkdir, readFile, rm, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { beforeAll, describe, expect, test } from "vitest";
import { commandTable } from "../../src/features.ts";
import { commandLine, messages, pages } from "./areas/elsewhere.ts";
import { moderation } from "./areas/moderation.ts";
import { follows } from "./areas/follows.ts";
import { staff } from "./areas/people.ts";
import { records } from "./areas/records.ts";
import { work } from "./areas/work.ts";
import { tier } from "../support/size.ts";
import { findings, readingEase, type Reading } from "./lint.ts";
import { createStage, steady, type Exhibit, type Stage } from "./stage.ts";

const folder = fileURLToPath(new URL("../../docs/gallery", import.meta.url));
const isWriting = process.env["GALLERY"] === "write";
/** Flesch's 50 to 60 is what a newspaper has. */
const leastEase = 50;

/** The quick tier plays the community once, in German: a reply without its German text shows there alone. */
const languages = (
  [
    ["en", "en-US"],
    ["de", "de"],
  ] as const
).filter(([language]) => isWriting || tier !== "quick" || language === "de");

describe.each(languages)("the gallery (%s)", (language: Reading["language"], locale) => {
  let stage: Stage;
  let exhibits: readonly Exhibit[] = [];

  beforeAll(async () => {
    let end = (): Promise<void> => Promise.resolve();
    stage = await createStage(locale, (way) => (end = way));
    await staff(stage);
    await records(stage);
    await work(stage);
    await moderation(stage);
    await follows(stage);
    await messages(stage);
    await pages(stage, language);
    if (language === "en") await commandLine(stage);
    exhibits = stage.exhibits;
    return end;
  });

  test("shows every command", () => {
    const shown = new Set(exhibits.flatMap(({ title }) => /^@\w+: \/([^:]+?)(?: [\w-]+:|: |$)/.exec(title)?.[1] ?? []));
    const missing = commandTable()
      .entries.map(({ command, path }) => `${command} ${path}`.trim())
      .filter((name) => !shown.has(name));
    expect(missing).toEqual([]);
  });

  test("has nothing in it that only programs read", () => {
    const found = exhibits.flatMap(({ title, lines }) =>
      findings({ lines, language }, stage.quoted).map((finding) => `${title} — ${finding}`),
    );
    expect(found).toEqual([]);
  });

  test("is read easily", () => {
    const ease = readingEase(
      exhibits.flatMap(({ lines }) => lines),
      language,
    );
    expect(ease).toBeGreaterThan(leastEase);
  });

  test("is the one in docs/gallery", async () => {
    const areas = [...new Set(exhibits.map(({ area }) => area))];
    if (isWriting) {
      await rm(join(folder, language), { recursive: true, force: true });
      await mkdir(join(folder, language), { recursive: true });
    }
    for (const area of areas) {
      const path = join(folder, language, `${area}.md`);
      const text = pageOf(area, exhibits, stage);
      if (isWriting) await writeFile(path, text);
      else expect(await readFile(path, "utf8").catch(() => ""), `${area}: npm run generate -- gallery writes it anew`).toBe(text);
    }
  });
});

function pageOf(area: string, exhibits: readonly Exhibit[], stage: Stage): string {
  const parts = exhibits
    .filter((one) => one.area === area)
    .map(
      ({ title, lines }) =>
        `## ${steady(title, stage)}\n\n\`\`\`text\n${lines
          .map((line) => steady(line, stage))
          .join("\n")
          .replaceAll("```", "'''")}\n\`\`\`\n`,
    );
  return `# ${area}\n\n${parts.join("\n")}`;
}
