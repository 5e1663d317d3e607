import { expect } from "vitest";
import { translator } from "../../src/kit/say.ts";
import { catalog } from "../../src/kernel/permissions.ts";
import type { User } from "../../sandbox/index.ts";
import type { World } from "../support/world.ts";

export type Language = "en-US" | "de";

type Options = Parameters<ReturnType<ReturnType<World["sandbox"]["as"]>["in"]>["runSlashCommand"]>[1];

/** A command that is refused, with what is filled into its form. */
export interface Attempt {
  world: World;
  person: User;
  words: string;
  given?: Options;
  form?: Readonly<Record<string, string>>;
}

/** Gives a command in somebody's language, fills its form in, and says yes where it asks. @returns what the last answer says */
export async function give({ world, person, words, given = {}, form = {} }: Attempt, language: Language): Promise<string> {
  world.sandbox.inside.world.users.get(person.id)!.locale = language;
  let run = await world.sandbox.as(person).in(world.guild).runSlashCommand(words, given);
  if ((await run.acked).type === 9) run = await run.submitModal(form);
  const { content, components } = await run.reply();
  const yes = translator(language)("button go");
  if (!JSON.stringify(components).includes(yes)) return content;
  const pressed = await run.clickButton(yes);
  await world.sandbox.waitFor(() => pressed.followups().length > 0 || run.current()?.components.length === 0);
  return pressed.followups().at(-1)?.content ?? run.current()?.content ?? "";
}

/** Sentences of a library about its own types. */
export const ofLibrary =
  /Invalid (?:input|option|string|ISO|UUID|URL|key)|Too (?:big|small)|expected (?:string|number|int|boolean|array|object|one of)|received \w|Unrecognized|must match/;
const codeSpan = /`[^`\n]*`/g;
const keys = catalog.map(({ key }) => key);

/** What is wrong with the words of a refusal, whatever it is about; empty when nothing is. */
export function flawsOf(content: string, code: string): string[] {
  const lines = content.split("\n");
  const plain = lines
    .slice(0, -1)
    .join("\n")
    .replaceAll(codeSpan, "")
    .replaceAll(/<[@#t][^>]*>/g, "");
  const sentences = lines.slice(0, -1).flatMap((line) => line.split(/(?<=[.!?])\s+/));
  return [
    ...(lines.at(-1) === `-# ${code}` ? [] : ["the code does not end it"]),
    ...(content.split(code).length === 2 ? [] : ["the code stands in it more than once"]),
    ...(lines.length > 1 && lines[0] !== "" ? [] : ["it says nothing"]),
    ...(/^\/|\w\/\d|(?<!\w)\/[a-z]+_[a-z]/m.test(plain) ? ["it has a pointer"] : []),
    ...(new Set(sentences).size === sentences.length ? [] : ["it says a sentence twice"]),
    ...(/\d fields? (?:is|are) wrong/.test(content) ? ["it counts fields"] : []),
    ...(ofLibrary.test(plain) ? ["it speaks of types"] : []),
    ...keys.filter((key) => plain.includes(key)).map((key) => `it has the bare key ${key}`),
    ...keys.filter((key) => content.includes(`\`${key}\``) && !new RegExp(`\\*[^*]+\\* \\(\`${key}\`\\)`).test(content)),
  ];
}

/** Asserts that an attempt is refused with these words in English and in German. */
export async function expectRefusal(attempt: Attempt, code: string, en: string | RegExp, de: string | RegExp): Promise<void> {
  for (const [language, wanted] of [["en-US", en] as const, ["de", de] as const]) {
    const said = await give(attempt, language);
    const lines = said.split("\n").slice(0, -1);
    // What was typed into a form stands in a file, and the refusal says so after its sentence.
    const t = translator(language);
    const typed = `-# ${t("door typed", { file: t("door typed-file") })}`;
    expect(lines.at(-1) === typed).toBe(attempt.form !== undefined);
    expect((attempt.form === undefined ? lines : lines.slice(0, -1)).join("\n")).toEqual(
      typeof wanted === "string" ? wanted : expect.stringMatching(wanted),
    );
    expect(flawsOf(said, code), said).toEqual([]);
  }
}
