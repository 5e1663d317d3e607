import { say } from "../../kit/say.ts";
import type { CommandSet, Entry, FieldSpec, CommandInput, OptionSpec, PickSpec, PressSpec, Reply, Wording } from "../../commands/entry.ts";
import { numbered, within } from "../../commands/sources.ts";
import { pieceName, galleryOf } from "../../commands/gallery.ts";
import type { VerbInput, Verbs } from "../../commands/verbs.ts";
import type { BlacklistCheck, BlacklistVersionView, BlacklistView } from "./blacklist.schema.ts";
import type { BlacklistImport } from "./import/import.schema.ts";
import type { Call } from "../../kernel/call.ts";
import { fieldError } from "../../kernel/errors.ts";
import {
  asksToAdd,
  asksToImport,
  asksToPurge,
  asksToRevoke,
  imported,
  importInput,
  recordAt,
  checkReply,
  recordCard,
  recordLine,
  recordName,
  examinedNote,
} from "./commands/replies.ts";
import type { CommandKit } from "../../compose.ts";
import { picked, textIn, durationIn } from "../../commands/input.ts";
import { pressButton, rowOf } from "../../commands/press.ts";
import { idsIn, numberIn, personOf, pickedQuery, type Query, subjectIn } from "../../commands/records.ts";
import { momentOf } from "../../commands/show.ts";

const command = "blacklist";
const maxIds = 25;
export const record: OptionSpec = { name: "record", kind: "text", required: true, completes: "blacklist", max: 40 };
const filesPress: PressSpec = { name: "bf", carries: [record] };
/** Opens a record from a list. */
const opensRecord: PickSpec = {
  press: { name: "bs", carries: [{ name: "record", kind: "text" }] },
  placeholder: "blacklist pick",
  of: (view: BlacklistView, { t }) => ({ value: view.number, label: recordName(view, t) }),
};
const reasonForm: readonly FieldSpec[] = [{ name: "reason", kind: "paragraph", required: true }];
const reason: OptionSpec = { name: "reason", kind: "text" };
const revision: OptionSpec = { name: "revision", kind: "integer", min: 1 };
const kind: OptionSpec = { name: "kind", kind: "text" };
const category: OptionSpec = {
  name: "category",
  kind: "text",
};
const severity: OptionSpec = { name: "severity", kind: "text" };
const action: OptionSpec = { name: "recommended-action", kind: "text" };
const policy: OptionSpec = { name: "member-policy", kind: "text" };
const alts: OptionSpec = { name: "include-alts", kind: "text" };
const duration: OptionSpec = { name: "duration", kind: "text" };
const filters: readonly OptionSpec[] = [
  kind,
  { name: "status", kind: "text" },
  category,
  severity,
  { name: "subject", kind: "text", max: 40 },
  { name: "q", kind: "text" },
];
const filterNames = ["kind", "status", "category", "severity", "q"] as const;

const filtersOf = (given: CommandInput): Query => ({ ...pickedQuery(given, ...filterNames), subject: subjectIn(given) });
const tagsOf = (given: CommandInput) => {
  const tags = textIn(given, "tags")
    ?.split(",")
    .map((tag) => tag.trim());
  return tags === undefined ? {} : { tags: tags.filter((tag) => tag !== "") };
};

/** Who may not ask is told so before the ids are counted. @throws ProblemError validation_failed when an answer has no room for all */
function requireRoom(given: CommandInput, call: Call, verbs: Verbs): Promise<CommandInput["values"]> {
  verbs.check("checkBlacklist", call, checkInput(given));
  if (idsIn(textIn(given, "ids")).length > maxIds)
    throw fieldError("/ids", "too_many", say("blacklist.ask-about-at-most-ids-at-once", { count: maxIds }));
  return Promise.resolve({});
}

function checkInput(given: CommandInput): VerbInput {
  const ids = idsIn(textIn(given, "ids"));
  const user_ids = [...new Set([...ids, ...idsIn(textIn(given, "user"))])];
  return { body: { user_ids, server_ids: ids, include_alts: given.values["alts"] } };
}

function newRecord(given: CommandInput): VerbInput {
  const user = textIn(given, "user");
  const servers = textIn(given, "servers");
  const note = textIn(given, "evidence");
  const body = {
    ...picked(given, "category", "severity", "recommended-action", "member-policy", "include-alts"),
    ...durationIn(given),
    ...picked(given, "reason-public", "reason-internal"),
    ...tagsOf(given),
    kind: user === undefined ? "server" : "user",
    subject_id: user ?? textIn(given, "server"),
    ...(servers !== undefined && { scope: "servers", server_ids: idsIn(servers) }),
    ...(note !== undefined && { evidence: [{ kind: "text", note }] }),
  };
  return { body };
}

/** A record is about one subject. @throws ProblemError as the service method refuses; validation_failed when both are named */
function requireOneSubject(given: CommandInput, call: Call, verbs: Verbs): Promise<CommandInput["values"]> {
  verbs.require("createBlacklistRecord", call, {});
  if (given.values["user"] !== undefined && given.values["server"] !== undefined)
    throw fieldError("/server", "conflict", say("blacklist.a-record-is-about-a-user-or"));
  return Promise.resolve({});
}

async function show(view: BlacklistView, wording: Wording, verbs: Verbs): Promise<Reply> {
  const { embeds, files, hasMore } = await galleryOf(verbs, "listBlacklistEvidence", wording, { params: { id: view.id } });
  const all = hasMore ? [rowOf(pressButton(filesPress, { record: view.number }, wording.t("label evidence")))] : [];
  return { content: "", embeds: [recordCard(view, wording.t), ...embeds], files, components: all };
}

const evidencePlace = { command, record, name: "Blacklist", pieces: "blacklist-evidence", press: filesPress } as const;

/** What is asked where a record is taken away with nothing but a reason. */
const withReason = {
  options: [record, reason, revision],
  form: reasonForm,
  input: (given) => ({ params: recordAt(given), body: picked(given, "reason"), revision: numberIn(given, "revision") }),
} satisfies Pick<Entry, "options" | "form" | "input">;

/** `/blacklist`: people and servers that are kept out. */
const blacklistEntries = ({ evidenceEntries }: CommandKit): readonly Entry[] => [
  {
    command,
    path: "check",
    operation: "checkBlacklist",
    options: [
      { name: "user", kind: "user" },
      { name: "ids", kind: "text", max: 1000, orPick: "user" },
      { name: "alts", kind: "boolean" },
    ],
    locate: requireRoom,
    input: checkInput,
    show: (view: BlacklistCheck, wording) => checkReply(view, wording),
    press: { name: "bc", carries: [{ name: "ids", kind: "text" }] },
  },
  {
    command,
    path: "show",
    operation: "getBlacklistRecord",
    options: [record],
    input: (given) => ({ params: recordAt(given) }),
    show,
    press: opensRecord.press,
  },
  {
    command,
    path: "search",
    operation: "listBlacklist",
    options: filters,
    input: (given) => ({ query: filtersOf(given) }),
    line: recordLine,
    note: examinedNote,
    picks: [opensRecord],
    press: { name: "bl", carries: [] },
  },
  {
    command,
    path: "review-due",
    operation: "listBlacklist",
    options: [kind],
    input: (given) => ({ query: { ...filtersOf(given), review_due: "true" } }),
    line: recordLine,
    note: examinedNote,
    picks: [opensRecord],
  },
  {
    command,
    path: "add",
    operation: "createBlacklistRecord",
    options: [
      { name: "user", kind: "user" },
      { name: "server", kind: "text", max: 40 },
      category,
      severity,
      duration,
      { name: "servers", kind: "text", max: 1000 },
      action,
      policy,
      alts,
      { name: "tags", kind: "text", max: 500 },
    ],
    form: [
      { name: "reason-public", kind: "paragraph", required: true },
      { name: "reason-internal", kind: "paragraph" },
      { name: "evidence", kind: "paragraph", max: 2000 },
    ],
    locate: requireOneSubject,
    input: newRecord,
    asks: asksToAdd,
    show,
  },
  {
    command,
    path: "edit",
    operation: "updateBlacklistRecord",
    options: [
      record,
      revision,
      category,
      severity,
      duration,
      action,
      policy,
      alts,
      { name: "reason-public", kind: "text" },
      { name: "reason-internal", kind: "text" },
      { name: "tags", kind: "text", max: 500 },
      { name: "review-at", kind: "text" },
      { name: "reviewed", kind: "boolean" },
    ],
    input: (given) => ({
      params: recordAt(given),
      revision: numberIn(given, "revision"),
      body: {
        ...picked(given, "category", "severity", "recommended-action", "member-policy", "include-alts"),
        ...durationIn(given),
        ...picked(given, "reason-public", "reason-internal"),
        review_at: textIn(given, "review-at"),
        ...tagsOf(given),
        ...(given.values["reviewed"] === true && { reviewed: true }),
      },
    }),
    show,
  },
  {
    command,
    path: "revoke",
    operation: "revokeBlacklistRecord",
    ...withReason,
    asks: asksToRevoke,
    show,
  },
  {
    command,
    path: "purge",
    operation: "purgeBlacklistRecord",
    ...withReason,
    asks: asksToPurge,
  },
  {
    command,
    path: "history",
    operation: "listBlacklistHistory",
    options: [record],
    input: (given) => ({ params: recordAt(given) }),
    line: (view: BlacklistVersionView, wording) =>
      [
        `\`${view.revision.toString()}\``,
        momentOf(view.changed_at),
        personOf(view.changed_by) ?? "–",
        recordLine(view.record, wording),
      ].join(" · "),
  },
  ...evidenceEntries(evidencePlace),
  {
    command,
    path: "import",
    operation: "importBlacklist",
    options: [
      { name: "file", kind: "file", required: true },
      { name: "mode", kind: "text" },
    ],
    input: importInput,
    asks: asksToImport,
    show: (view: BlacklistImport, wording) => imported(view, wording),
  },
  {
    command,
    path: "export",
    operation: "exportBlacklist",
    options: [{ name: "format", kind: "text" }, ...filters],
    input: (given) => ({ query: { ...filtersOf(given), ...pickedQuery(given, "format") } }),
  },
];

/** What Discord offers of the blacklist. */
export const blacklistCommands = (kit: CommandKit): CommandSet => ({
  entries: blacklistEntries(kit),
  menus: [{ name: "Blacklist check", kind: "user", entry: "blacklist check", values: ({ user = "" }) => ({ ids: user }) }],
  sources: {
    blacklist: numbered("listBlacklist", "getBlacklistRecord", /^bl(-|$)/i, recordName),
    "blacklist-evidence": within("listBlacklistEvidence", recordAt, pieceName),
  },
});
