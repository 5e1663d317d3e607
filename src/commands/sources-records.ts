import type { VerbInput } from "./verbs.ts";
import type { BlacklistView } from "../features/blacklist/blacklist.schema.ts";
import type { ActionView } from "../features/cases/actions/actions.schema.ts";
import type { NoteView } from "../features/cases/notes/notes.schema.ts";
import type { CaseView } from "../features/cases/cases.schema.ts";
import type { TemplateView } from "../features/cases/templates/templates.ts";
import type { MatchView } from "../features/intelligence/intelligence.schema.ts";
import type { ServerView } from "../features/servers/servers.schema.ts";
import type { Given, SourceSpec } from "./entry.ts";
import type { Piece } from "./gallery.ts";
import { textIn } from "./given.ts";
import type { Page } from "../kernel/page.ts";
import { idsIn, seen } from "./records.ts";
import { cut } from "./show.ts";

const most = 25;
const long = 100;
const wordLength = 2;
const wholeNumber = /^[a-z]+-\d{6,}$/i;

/** Records whose numbers begin with a prefix: a number that is half typed is looked for among the newest, a whole one among all. */
function numbered<View extends { number: string }>(
  operation: string,
  single: string,
  prefix: RegExp,
  told: (view: View) => string,
): SourceSpec {
  const isNumber = (typed: string) => prefix.test(typed) || /^\d+$/.test(typed);
  const input = (typed: string): VerbInput => ({
    query: { limit: isNumber(typed) ? 200 : most, q: typed.length < wordLength || isNumber(typed) ? undefined : typed },
  });
  return {
    operation,
    input,
    async read(_given, call, verbs, typed) {
      const whole = wholeNumber.test(typed) ? await seen<View>(verbs, single, { call }, { params: { id: typed } }) : undefined;
      return whole === undefined ? ((await verbs.run(operation, call, input(typed))) as Page<View>).data : [whole];
    },
    choice: (view: View) => ({ name: cut(told(view), long), value: view.number }),
    keeps: ({ number }: View, typed) => !isNumber(typed) || number.toLowerCase().includes(typed.toLowerCase()),
  };
}

/** What belongs to a record that was named before it. */
function within<View extends object>(
  operation: string,
  params: (given: Given) => NonNullable<VerbInput["params"]>,
  told: (view: View) => string,
  value = "id",
): SourceSpec {
  return {
    operation,
    input: (_typed, given) => ({ params: params(given), query: { limit: 200 } }),
    choice: (view: View) => ({ name: cut(told(view), long), value: (view as Readonly<Record<string, string>>)[value] ?? "" }),
    keeps: (view: View, typed) => told(view).toLowerCase().includes(typed.toLowerCase()),
  };
}

const inCase = (given: Given) => ({ id: textIn(given, "case") ?? "" });
const inRecord = (given: Given) => ({ id: textIn(given, "record") ?? "" });
const ofPerson = (given: Given) => ({ discord_user_id: idsIn(textIn(given, "user"))[0] ?? "" });
const piece = ({ kind, title, file, captured_at: at }: Piece): string =>
  [kind, title ?? file?.name, at.slice(0, 10)].filter(Boolean).join(" · ");

/** Where options of records are completed from. */
export const recordSources: Readonly<Record<string, SourceSpec>> = {
  blacklist: numbered(
    "listBlacklist",
    "getBlacklistRecord",
    /^bl(-|$)/i,
    ({ number, subject_snapshot: named, subject_id: id, severity, status }: BlacklistView) =>
      [number, named?.name ?? id, severity, status].join(" · "),
  ),
  case: numbered("listCases", "getCase", /^case-?/i, ({ number, title, status }: CaseView) => `${number} · ${title} · ${status}`),
  "case-evidence": within("listCaseEvidence", inCase, piece),
  "blacklist-evidence": within("listBlacklistEvidence", inRecord, piece),
  "case-note": within("listCaseNotes", inCase, ({ body, created_at: at }: NoteView) => `${at.slice(0, 10)} · ${body}`),
  "case-action": within("listCaseActions", inCase, ({ kind, reason, at }: ActionView) => `${at.slice(0, 10)} · ${kind} · ${reason}`),
  "case-template": within(
    "listCaseTemplates",
    () => ({}),
    ({ key, title }: TemplateView) => [key, title].filter(Boolean).join(" · "),
    "key",
  ),
  "registered-server": {
    operation: "listServers",
    input: (typed) => ({ query: { limit: most, q: typed.trim() === "" ? undefined : typed.trim().slice(0, long) } }),
    choice: ({ id, name, status }: ServerView) => ({ name: cut([name, id, status].filter(Boolean).join(" · "), long), value: id }),
  },
  match: within("listUserMatches", ofPerson, ({ kind, server, record_ref: reference, status }: MatchView) =>
    [kind, server?.name_snapshot ?? reference, status].filter(Boolean).join(" · "),
  ),
};
