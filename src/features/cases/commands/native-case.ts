import { say, worded } from "../../../kit/say.ts";
import type { CommandInput, Entry, Reply, Wording } from "../../../commands/entry.ts";
import { textIn } from "../../../commands/input.ts";
import { readOptional, readView } from "../../../commands/records.ts";
import { momentOf } from "../../../commands/show.ts";
import type { Verbs } from "../../../commands/verbs.ts";
import type { Call } from "../../../kernel/call.ts";
import type { NativeActionKind } from "../../../kernel/vocabulary.ts";
import type { NativeActionView } from "../../native-actions/native-actions.schema.ts";
import type { CaseView } from "../cases.schema.ts";
import { caseReply } from "./replies.ts";

/** What the case is called until somebody gives it another title. */
const titles: Readonly<Record<NativeActionKind, string>> = {
  ban: say("cases.banned-by-hand-in-discord"),
  unban: say("cases.unbanned-by-hand-in-discord"),
  kick: say("cases.kicked-by-hand-in-discord"),
  timeout: say("cases.timed-out-by-hand-in-discord"),
  timeout_lift: say("cases.timeout-lifted-by-hand-in-discord"),
};

const at = (given: CommandInput) => ({ params: { id: textIn(given, "native-action") ?? "" } });

/** @throws ProblemError record_not_found */
async function aboutWhom(given: CommandInput, call: Call, verbs: Verbs): Promise<CommandInput["values"]> {
  verbs.require("createCase", call, {});
  const { user_id: user, action } = await readView<NativeActionView>(verbs, "getNativeAction", call, at(given));
  // A title is somebody's text: given in English, as it is stored, and read in other languages.
  return { user, title: worded(titles[action]) };
}

/** The case, with what was done as its first note. */
async function opened(view: CaseView, wording: Wording, verbs: Verbs): Promise<Reply> {
  const { t, given } = wording;
  const done = await readOptional<NativeActionView>(verbs, "getNativeAction", wording, at(given));
  if (done !== undefined) {
    const parts = [
      `${t(`= ${done.action}`)} · ${momentOf(done.at)}`,
      done.by === null ? undefined : `<@${done.by}>`,
      done.until === null ? undefined : t("say until", { at: momentOf(done.until) }),
      done.reason ?? undefined,
    ];
    const body = { body: parts.filter((part) => part !== undefined).join("\n") };
    await readOptional(verbs, "createCaseNote", wording, { params: { id: view.number }, body });
  }
  const told = await readOptional<CaseView>(verbs, "getCase", wording, { params: { id: view.number } });
  return { ...caseReply(told ?? view, wording), content: t("menu case-opened", { number: view.number }) };
}

/** *Make it a case*, for what somebody did by hand. */
export const nativeCaseEntry: Entry = {
  command: "menu",
  path: "native-case",
  operation: "createCase",
  locate: aboutWhom,
  input: (given) => ({ body: { title: textIn(given, "title"), subjects: [{ kind: "user", id: textIn(given, "user") }] } }),
  show: opened,
  press: { name: "nc", carries: [{ name: "native-action", kind: "text" }] },
};
