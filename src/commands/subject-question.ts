import { textIn } from "./given.ts";
import type { Given, Wording } from "./entry.ts";
import { idText, personOf } from "./records.ts";
import { subjectHistory } from "./review-facts.ts";
import { cut } from "./show.ts";
import type { Verbs } from "./verbs.ts";

type Subjects = Parameters<typeof subjectHistory>[2]["subjects"];
const most = 1900;

/** Asked before harm: what would be done to whom, and what is known of them. @param key of the question, with a place for `{subjects}` */
export async function askAboutSubjects(key: string, subjects: Subjects, { say, call }: Wording, verbs: Verbs): Promise<string> {
  const named = subjects.map(({ kind, id }) => (kind === "user" ? (personOf(id) ?? "") : idText(id))).join(", ");
  const history = await subjectHistory(verbs, call, { subjects }, say);
  return cut([say(key, { subjects: named }), history === "" ? say("history nothing") : say("history known", { history })].join("\n"), most);
}

/** People that options name. */
export function peopleIn(given: Given, ...names: readonly string[]): Subjects {
  return names.flatMap((name) => {
    const id = textIn(given, name);
    return id === undefined ? [] : [{ kind: "user" as const, id }];
  });
}
