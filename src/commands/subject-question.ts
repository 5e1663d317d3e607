import type { Call } from "../kernel/call.ts";
import type { Page } from "../kernel/page.ts";
import type { Translate, TextKey } from "../kit/say.ts";
import { textIn } from "./input.ts";
import type { CommandInput, Wording } from "./entry.ts";
import { idText, personOf, unlessRefused } from "./records.ts";
import { cut } from "./show.ts";
import type { VerbInput, Verbs } from "./verbs.ts";

type Subjects = readonly { kind: string; id: string }[];
const maxLength = 1900;

/** What is counted of a person or server. */
const counted = [
  { name: "records", operation: "listBlacklist", kinds: ["user", "server"], input: (id: string) => ({ query: { subject: id } }) },
  { name: "cases", operation: "listCases", kinds: ["user", "server"], input: (id: string) => ({ query: { subject: id } }) },
  { name: "strikes", operation: "listUserStrikes", kinds: ["user"], input: (id: string) => ({ params: { discord_user_id: id } }) },
] as const satisfies readonly { name: string; operation: string; kinds: readonly string[]; input(id: string): VerbInput }[];

/** What is known of people and servers, as far as the reader may see it; empty when there is nothing to tell. */
export async function subjectHistory(verbs: Verbs, call: Call, { subjects }: { subjects: Subjects }, t: Translate): Promise<string> {
  const lines = await Promise.all(
    subjects.slice(0, 5).map(async ({ kind, id }) => {
      const counts = await Promise.all(
        counted
          .filter(({ kinds }) => kinds.some((one) => one === kind))
          .map(async ({ name, operation, input }) => {
            const asked: VerbInput = input(id);
            const query = { ...asked.query, limit: 1, count: "true" };
            const page = await unlessRefused(async () => (await verbs.run(operation, call, { ...asked, query })) as Page<unknown>);
            return page === undefined ? undefined : t(`history ${name}`, { count: page.total ?? page.data.length });
          }),
      );
      const told = counts.filter((one) => one !== undefined);
      return told.length === 0 ? undefined : `${kind === "user" ? `<@${id}>` : `\`${id}\``}: ${told.join(", ")}`;
    }),
  );
  return lines.filter((line) => line !== undefined).join("\n");
}

/** Asked before harm: what would be done to whom, and what is known of them. @param key of the question, with a place for `{subjects}` */
export async function askAboutSubjects(key: TextKey, subjects: Subjects, { t, call }: Wording, verbs: Verbs): Promise<string> {
  const named = subjects.map(({ kind, id }) => (kind === "user" ? (personOf(id) ?? "") : idText(id))).join(", ");
  const history = await subjectHistory(verbs, call, { subjects }, t);
  return cut([t(key, { subjects: named }), history === "" ? t("history nothing") : t("history known", { history })].join("\n"), maxLength);
}

/** People that options name. */
export function peopleIn(given: CommandInput, ...names: readonly string[]): Subjects {
  return names.flatMap((name) => {
    const id = textIn(given, name);
    return id === undefined ? [] : [{ kind: "user" as const, id }];
  });
}
