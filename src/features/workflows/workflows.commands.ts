import type { CommandSet, SourceSpec, CommandInput, Entry, MenuSpec, MenuTarget, Reply, Wording } from "../../commands/entry.ts";
import { draftName, requestEntries } from "./commands/request.ts";
import { reviewEntries } from "./commands/review.ts";
import { directEntries, directMenuEntries, directMenus, directSources } from "./direct/direct.commands.ts";
import { reasonNames } from "./direct/settings.commands.ts";
import type { CommentView } from "./comments/comments.schema.ts";
import type { DraftView } from "./drafts/drafts.schema.ts";
import type { WorkflowView } from "./requests/workflows.schema.ts";
import { servedServerSource, serversOption } from "./commands/servers.ts";
import { ownComments } from "./commands/comments.ts";
import { cut } from "../../commands/show.ts";
import { choiceLimit, findBy } from "../../commands/sources.ts";
import { plainTitle } from "./commands/titles.ts";
import { say } from "../../kit/say.ts";
import type { Verbs } from "../../commands/verbs.ts";
import { fieldError } from "../../kernel/errors.ts";
import { textIn } from "../../commands/input.ts";
import { readView } from "../../commands/records.ts";
import type { Call } from "../../kernel/call.ts";
import { blacklistCategories } from "../../kernel/vocabulary.ts";
import type { NativeActionView } from "../native-actions/native-actions.schema.ts";
import { keepBeside, messageValues } from "../../commands/messages.ts";
import { madeAt } from "../../kernel/ids.ts";

const command = "menu";
/** The entry of `/request` that a menu is a short way to. */
function filing(path: string): Entry {
  const found = requestEntries.find((entry) => entry.path === path);
  if (found === undefined) throw new Error(`there is no command request ${path}`);
  return found;
}

const punishment = filing("punishment");
const poach = filing("poach");
const listing = filing("blacklist-user");
const reason = { name: "reason", kind: "paragraph", required: true, min: 10, max: 1000 } as const;
const evidence = { name: "evidence", kind: "paragraph", max: 4000 } as const;

/** The report is filed, and the message kept with it as the service itself sees it. */
async function reported(view: { reference: string }, wording: Wording, verbs: Verbs): Promise<Reply> {
  const filed = (await poach.show?.(view as never, wording, verbs)) ?? { content: view.reference };
  const line = await keepBeside("addWorkflowEvidence", { type: "poach", website_id: view.reference }, wording, verbs);
  return { ...filed, content: `${filed.content}\n${line}` };
}

/** What only menus lead to: the form asks for what an option would. */
const messageAndPerson: readonly Entry[] = [
  {
    ...punishment,
    command,
    path: "punishment",
    options: [],
    form: [
      { name: "action", kind: "choice", required: true },
      reason,
      { name: serversOption, kind: "line", max: 500 },
      { name: "summary", kind: "paragraph" },
      evidence,
    ],
  },
  {
    ...poach,
    command,
    path: "poach",
    options: [],
    form: [
      { name: "offending-server", kind: "line", required: true, min: 17, max: 20 },
      { name: "victim-server", kind: "line", required: true, min: 17, max: 20 },
      { name: "method", kind: "choice" },
      reason,
      evidence,
    ],
    show: reported,
  },
];

/** Whom and why, as somebody banned them by hand. @throws ProblemError record_not_found */
async function nativeAction(given: CommandInput, call: Call, verbs: Verbs): Promise<NativeActionView> {
  return await readView<NativeActionView>(verbs, "getNativeAction", call, { params: { id: textIn(given, "native-action") ?? "" } });
}

/** *Suggest listing*, for what somebody did by hand: the form has their reason. */
const nativeListing: Entry = {
  ...listing,
  command,
  path: "native-listing",
  options: [],
  form: [
    reason,
    { name: "category", kind: "choice", required: true, choices: blacklistCategories.user },
    { name: "severity", kind: "choice", required: true },
    { name: "summary", kind: "paragraph" },
    evidence,
  ],
  async locate(given, call, verbs) {
    verbs.require(listing.operation, call, {});
    return { user: (await nativeAction(given, call, verbs)).user_id };
  },
  async fills(given, call, verbs): Promise<CommandInput["values"]> {
    const done = await nativeAction(given, call, verbs);
    return done.reason === null ? {} : { reason: done.reason };
  },
  press: { name: "nl", carries: [{ name: "native-action", kind: "text" }] },
};

/** What only menus and buttons lead to. */
const requestMenuEntries: readonly Entry[] = [...messageAndPerson, nativeListing];

/** @throws ProblemError validation_failed for a web-hook */
function offenderOf({ user }: MenuTarget): string {
  if (user === undefined) throw fieldError("/offender", "invalid_value", say("workflows.a-web-hook-wrote-this-which-is"));
  return user;
}

/** When a message was sent: its id begins with that. */
function sentAt(id: string): string {
  return new Date(madeAt(id)).toISOString();
}

/** Ways to a request from a person and from a message. */
const requestMenus: readonly MenuSpec[] = [
  { name: "Request punishment", kind: "user", entry: "menu punishment", values: ({ user = "" }) => ({ user }) },
  {
    name: "Report poaching",
    kind: "message",
    entry: "menu poach",
    values: (target) => ({
      ...messageValues(target),
      kind: "report",
      offender: offenderOf(target),
      ...(target.message !== undefined && {
        "victim-server": target.message.guild,
        occurred: sentAt(target.message.id),
        evidence: `https://discord.com/channels/${target.message.guild}/${target.message.channel}/${target.message.id}`,
      }),
    }),
  },
];

const least = 2;

/** Requests by reference, narrowed to those that fit. */
function requests(narrowed: Readonly<Record<string, string>>): SourceSpec {
  return {
    operation: "listWorkflows",
    input: (typed) => ({
      query: { ...narrowed, limit: choiceLimit, q: typed.trim().length < least ? undefined : typed.trim().slice(0, 100) },
    }),
    choice: (view: WorkflowView, _typed, t) => ({
      name: cut(
        [view.reference, plainTitle(view, t), t(`= ${view.status}`), view.requester?.display_name].filter(Boolean).join(" · "),
        100,
      ),
      value: view.reference,
    }),
  };
}

/** Where the requests that are typed are completed from. */
const workflowSources: Readonly<Record<string, SourceSpec>> = {
  request: requests({}),
  "open-request": requests({ status: "open" }),
  "own-request": requests({ requester: "@me", status: "open" }),
  "own-comment": {
    operation: "listWorkflowComments",
    input: () => ({}),
    read: ownComments,
    choice: ({ id, body, created_at: at }: CommentView) => ({
      name: cut(`${at.slice(0, 16).replace("T", " ")} · ${body.replaceAll(/\s+/g, " ")}`, 100),
      value: id,
    }),
    keeps: ({ body }: CommentView, typed) => body.toLowerCase().includes(typed.trim().toLowerCase()),
  },
  ...directSources,
  "reason-name": reasonNames,
  "served-server": servedServerSource,
  draft: {
    operation: "listRequestDrafts",
    input: () => ({ query: { limit: choiceLimit } }),
    find: findBy("getRequestDraft"),
    choice: (view: DraftView, _typed, t) => ({ name: cut(draftName(view, t), 100), value: view.id }),
  },
};

/** What Discord offers of requests: filing, `/request`, deciding, `/review`, and both in one step, such as `/ban`. */
export const workflowCommands: CommandSet = {
  entries: [...requestEntries, ...reviewEntries, ...directEntries],
  menus: [...requestMenus, ...directMenus],
  menuEntries: [...requestMenuEntries, ...directMenuEntries],
  sources: workflowSources,
};
