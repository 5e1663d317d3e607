import { say } from "../../kit/say.ts";
import type { CommandSet, Entry, CommandInput, OptionSpec, Reply, Wording } from "../../commands/entry.ts";
import { LinkBasis, type ChangedLinkView, type LinkGroupView, type LinkView } from "./links.schema.ts";
import { escapeText } from "../../discord/replies.ts";
import type { Call } from "../../kernel/call.ts";
import { ProblemError } from "../../kernel/errors.ts";
import type { Page } from "../../kernel/page.ts";
import { picked, textIn } from "../../commands/input.ts";
import { card, pickedQuery, readOptional } from "../../commands/records.ts";
import { enumLabel, cut, mentionOf, momentOf } from "../../commands/show.ts";
import { askAboutSubjects, peopleIn } from "../../commands/subject-question.ts";
import type { Verbs } from "../../commands/verbs.ts";

const command = "alts";
const user: OptionSpec = { name: "user", kind: "user", required: true };
const other: OptionSpec = { name: "other", kind: "user", required: true };
const confidence: OptionSpec = { name: "confidence", kind: "text" };
const kind: OptionSpec = { name: "kind", kind: "text" };
const basis: OptionSpec = { name: "basis", kind: "text", choices: LinkBasis.shape.type.options };
const main: OptionSpec = { name: "main", kind: "user" };
const propagates: OptionSpec = { name: "propagates", kind: "boolean" };
const reviewAfter: OptionSpec = { name: "review-after", kind: "text" };
const reason: OptionSpec = { name: "reason", kind: "text" };
const reasonForm = [{ name: "reason", kind: "paragraph", required: true }] as const;

const at = (given: CommandInput) => ({ discord_user_id: textIn(given, "user") ?? "" });
const linkAt = (given: CommandInput) => ({ ...at(given), link_id: textIn(given, "link") ?? "" });
const groundsOf = (given: CommandInput) => [{ type: textIn(given, "basis") ?? "other", note: textIn(given, "reason") }];
const noLink = "00000000-0000-0000-0000-000000000000";

/** The link between the two accounts. @throws ProblemError record_not_found when there is none in force */
async function linkOf(given: CommandInput, call: Call, verbs: Verbs): Promise<CommandInput["values"]> {
  const page = await readOptional<Page<LinkView>>(verbs, "listUserLinks", { call }, { params: at(given), query: { limit: 200 } });
  const found = page?.data.find(({ other_user_id: id }) => id === textIn(given, "other"));
  if (page !== undefined && found === undefined)
    throw new ProblemError("record_not_found", { detail: say("links.there-is-no-link-between-these-accounts") });
  return { link: found?.id ?? noLink };
}

/** The accounts of a person as a tree: who is surely the same, then who probably is. */
function treeOf({ user_id: asked, members, primary_user_id: mainId }: LinkGroupView, t: Wording["t"]): string {
  const mark = (id: string) => (id === mainId ? ` ★ ${t("alts main")}` : "");
  const lines = members.map(({ user_id: id, confidence: sure }, index) => {
    const branch = index === members.length - 1 ? "└─" : "├─";
    return `${branch} <@${id}> \`${id}\` – ${enumLabel(sure, t) ?? sure}${mark(id)}`;
  });
  return [`<@${asked}> \`${asked}\`${mark(asked)}`, ...lines].join("\n");
}

function groupReply(view: LinkGroupView, { t }: Wording): Reply {
  const description = cut(treeOf(view, t), 4000);
  return { content: view.members.length === 0 ? t("alts none") : "", embeds: [{ title: t("alts group"), description }] };
}

function linkReply(view: ChangedLinkView, { t }: Wording): Reply {
  const [first = "", second = ""] = view.user_ids;
  const { ended, matches } = view;
  const embed = card(
    `${enumLabel(view.confidence, t) ?? view.confidence} · ${enumLabel(view.status, t) ?? view.status}`,
    [
      ["accounts", `<@${first}> ↔ <@${second}>`],
      ["kind", enumLabel(view.kind, t)],
      ["basis", view.basis.map(({ type, note }) => `${enumLabel(type, t) ?? type}: ${escapeText(note ?? "–")}`).join("\n")],
      ["propagates", view.propagates ? "✓" : "✗"],
      ["review_at", view.review_at === null ? undefined : momentOf(view.review_at)],
      ["origin_reference", view.origin_reference && escapeText(view.origin_reference)],
      ["ended", ended === null ? undefined : [momentOf(ended.at), escapeText(ended.reason ?? "–")].join(" · ")],
      ["matches", t("alts matches", matches)],
      ["revision", view.revision],
    ],
    t,
  );
  return { content: "", embeds: [embed] };
}

/** `/alts`: accounts that may belong to one person. */
const altsEntries: readonly Entry[] = [
  {
    command,
    path: "show",
    operation: "getLinkGroup",
    options: [user],
    input: (given) => ({ params: at(given) }),
    show: (view: LinkGroupView, wording) => groupReply(view, wording),
    press: { name: "as", carries: [{ name: "user", kind: "user" }] },
  },
  {
    command,
    path: "list",
    operation: "listUserLinks",
    options: [user, { name: "status", kind: "text" }, confidence],
    input: (given) => ({ params: at(given), query: pickedQuery(given, "status", "confidence") }),
    line: (view: LinkView, { t }) =>
      [
        `<@${view.other_user_id}>`,
        enumLabel(view.confidence, t),
        enumLabel(view.kind, t),
        enumLabel(view.status, t),
        view.created_by === null
          ? momentOf(view.created_at, "R")
          : t("alts by", { user: mentionOf(view.created_by), at: momentOf(view.created_at, "R") }),
      ].join(" · "),
  },
  {
    command,
    path: "link",
    operation: "createAltRequestRequest",
    options: [user, other, { ...confidence, required: true }, kind, basis, main, reviewAfter, reason],
    form: reasonForm,
    input: (given) => ({
      body: {
        user_ids: [textIn(given, "user"), textIn(given, "other")],
        ...picked(given, "confidence", "kind", "reason", "review-after"),
        primary_user_id: textIn(given, "main"),
        basis: groundsOf(given),
      },
    }),
    show: (view: { reference: string }, { t }) => ({ content: t("alts filed", { reference: escapeText(view.reference) }) }),
  },
  {
    command,
    path: "add",
    operation: "createUserLink",
    options: [user, other, { ...confidence, required: true }, { ...kind, required: true }, basis, main, propagates, reviewAfter, reason],
    form: reasonForm,
    input: (given) => ({
      params: at(given),
      body: {
        user_id: textIn(given, "other"),
        ...picked(given, "confidence", "kind", "propagates", "review-after"),
        primary_user_id: textIn(given, "main"),
        basis: groundsOf(given),
      },
    }),
    asks: (wording, verbs) => askAboutSubjects("alts add ask", peopleIn(wording.given, "user", "other"), wording, verbs),
    show: linkReply,
  },
  {
    command,
    path: "edit",
    operation: "updateUserLink",
    options: [user, other, confidence, propagates, main, reviewAfter, basis, reason],
    form: reasonForm,
    locate: linkOf,
    input: (given) => ({
      params: linkAt(given),
      body: {
        ...picked(given, "confidence", "propagates", "review-after", "reason"),
        primary_user_id: textIn(given, "main"),
        ...(given.values["basis"] !== undefined && { add_basis: groundsOf(given) }),
      },
    }),
    show: linkReply,
  },
  {
    command,
    path: "unlink",
    operation: "endUserLink",
    options: [user, other, reason],
    form: reasonForm,
    locate: linkOf,
    input: (given) => ({ params: linkAt(given), body: picked(given, "reason") }),
    asks: ({ t, given }) =>
      t("alts unlink ask", { user: mentionOf(textIn(given, "user") ?? ""), other: mentionOf(textIn(given, "other") ?? "") }),
    show: linkReply,
  },
];

/** What Discord offers of linked accounts. */
export const linkCommands: CommandSet = { entries: altsEntries };
