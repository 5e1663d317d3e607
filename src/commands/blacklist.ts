import {
  categories,
  severities,
  statuses,
  type BlacklistCheck,
  type BlacklistVersionView,
  type BlacklistView,
} from "../features/blacklist/blacklist.schema.ts";
import { importModes, type BlacklistImport } from "../features/blacklist/blacklist.import.schema.ts";
import type { Call } from "../kernel/call.ts";
import { fieldError } from "../kernel/errors.ts";
import { escapeText } from "../discord/replies.ts";
import { aboutOf, checkReply, importText, recordCard, recordLine } from "./blacklist-words.ts";
import { evidenceEntries } from "./case-evidence.ts";
import type { Entry, FieldSpec, Given, OptionSpec, Question, Reply, VerbInput, Wording } from "./entry.ts";
import { galleryOf } from "./gallery.ts";
import { picked, textIn, timeIn } from "./given.ts";
import { idsIn, numberIn, personOf, pickedQuery, type Query, seen } from "./records.ts";
import { momentOf } from "./show.ts";
import type { Verbs } from "./verbs.ts";

const command = "blacklist";
const mostIds = 25;
export const record: OptionSpec = { name: "record", kind: "text", required: true, completes: "blacklist", max: 40 };
const reasonForm: readonly FieldSpec[] = [{ name: "reason", kind: "paragraph", required: true, min: 3, max: 1000 }];
const reason: OptionSpec = { name: "reason", kind: "text", min: 3, max: 1000 };
const revision: OptionSpec = { name: "revision", kind: "whole", min: 1 };
const kind: OptionSpec = { name: "kind", kind: "text", choices: ["user", "server"] };
const category: OptionSpec = { name: "category", kind: "text", choices: [...new Set([...categories.user, ...categories.server])] };
const severity: OptionSpec = { name: "severity", kind: "text", choices: severities };
const action: OptionSpec = { name: "recommended-action", kind: "text", choices: ["monitor", "verify", "deny_entry", "kick", "ban"] };
const policy: OptionSpec = { name: "member-policy", kind: "text", choices: ["inform", "flag", "verify", "deny_staff", "deny_entry"] };
const alts: OptionSpec = { name: "include-alts", kind: "text", choices: ["none", "confirmed", "probable"] };
const duration: OptionSpec = { name: "duration", kind: "text", max: 40 };
const filters: readonly OptionSpec[] = [
  kind,
  { name: "status", kind: "text", choices: statuses },
  category,
  severity,
  { name: "subject", kind: "text", max: 40 },
  { name: "q", kind: "text", min: 2, max: 100 },
];
const filterNames = ["kind", "status", "category", "severity", "q"] as const;

export const recordAt = (given: Given) => ({ id: textIn(given, "record") ?? "" });
/** The id in what was typed; what holds none, or several, is refused as it stands. */
function subjectIn(given: Given): string | undefined {
  const typed = textIn(given, "subject");
  const ids = idsIn(typed);
  return ids.length === 1 ? ids[0] : typed;
}
const filtersOf = (given: Given): Query => ({ ...pickedQuery(given, ...filterNames), subject: subjectIn(given) });
const tagsOf = (given: Given) => {
  const tags = textIn(given, "tags")
    ?.split(",")
    .map((tag) => tag.trim());
  return tags === undefined ? {} : { tags: tags.filter((tag) => tag !== "") };
};

/** Who may not ask is told so before the ids are counted. @throws ProblemError validation_failed when an answer has no room for all */
function requireRoom(given: Given, call: Call, verbs: Verbs): Promise<Given["values"]> {
  verbs.check("checkBlacklist", call, checkInput(given));
  if (idsIn(textIn(given, "ids")).length > mostIds)
    throw fieldError("/ids", "too_many", `Ask about at most ${mostIds.toString()} ids at once.`);
  return Promise.resolve({});
}

function checkInput(given: Given): VerbInput {
  const ids = idsIn(textIn(given, "ids"));
  return { body: { user_ids: ids, server_ids: ids, include_alts: given.values["alts"] } };
}

function newRecord(given: Given): VerbInput {
  const user = textIn(given, "user");
  const servers = textIn(given, "servers");
  const note = textIn(given, "evidence");
  const body = {
    ...picked(given, "category", "severity", "recommended-action", "member-policy", "include-alts", "duration"),
    ...picked(given, "reason-public", "reason-internal"),
    ...tagsOf(given),
    kind: user === undefined ? "server" : "user",
    subject_id: user ?? textIn(given, "server"),
    ...(servers !== undefined && { scope: "servers", server_ids: idsIn(servers) }),
    ...(note !== undefined && { evidence: [{ kind: "text", note }] }),
  };
  return { body };
}

/** A record is about one subject. @throws ProblemError as the verb refuses; validation_failed when both are named */
function requireOneSubject(given: Given, call: Call, verbs: Verbs): Promise<Given["values"]> {
  verbs.require("createBlacklistRecord", call, {});
  if (given.values["user"] !== undefined && given.values["server"] !== undefined)
    throw fieldError("/server", "conflict", "A record is about a user or about a server: name one of them.");
  return Promise.resolve({});
}

async function showRecord(view: BlacklistView, wording: Wording, verbs: Verbs): Promise<Reply> {
  const { embeds, files } = await galleryOf(verbs, "listBlacklistEvidence", wording, { params: { id: view.id } });
  return { content: "", embeds: [recordCard(view, wording.say), ...embeds], files };
}

/** What ends with a record: what it says, whom else it concerns, and the request it came from. */
async function asksToRevoke(wording: Wording, verbs: Verbs): Promise<Question | undefined> {
  const { say, given } = wording;
  const view = await seen<BlacklistView>(verbs, "getBlacklistRecord", wording, { params: recordAt(given) });
  if (view === undefined) return undefined;
  const params = { discord_user_id: view.subject_id };
  const group = view.kind === "user" ? await seen<{ members: unknown[] }>(verbs, "getLinkGroup", wording, { params }) : undefined;
  const others = view.include_alts === "none" ? 0 : (group?.members.length ?? 0);
  const lines = [
    say("blacklist revoke ask", { number: view.number, subject: aboutOf(view) }),
    recordLine(view, wording),
    ...(others > 0 ? [say("blacklist revoke alts", { count: others })] : []),
    ...(view.member_policy === null ? [] : [say("blacklist revoke members")]),
    ...(view.origin_reference === null ? [] : [say("blacklist revoke request", { reference: escapeText(view.origin_reference) })]),
  ];
  return { content: lines.join("\n"), about: revisionOf(view, given) };
}

/** What is erased with a record cannot be had again: it is asked about as it stands. */
async function asksToPurge(wording: Wording, verbs: Verbs): Promise<Question> {
  const { say, given } = wording;
  const view = await seen<BlacklistView>(verbs, "getBlacklistRecord", wording, { params: recordAt(given) });
  const head = say("blacklist purge ask", { number: escapeText(textIn(given, "record")?.toUpperCase() ?? "") });
  return view === undefined ? head : { content: `${head}\n${recordLine(view, wording)}`, about: revisionOf(view, given) };
}

/** What is shown is what ends, and not what the record is made into until the answer comes. */
function revisionOf({ revision: seenNow }: BlacklistView, given: Given): Given["values"] {
  return { revision: numberIn(given, "revision") ?? seenNow };
}

async function asksToImport({ call, given, say }: Wording, verbs: Verbs): Promise<string> {
  const input = importInput(given);
  const found = (await verbs.run("importBlacklist", call, { ...input, query: { ...input.query, dry_run: "true" } })) as BlacklistImport;
  return `${say("blacklist import ask")}\n${importText(found, say)}`;
}

function importInput(given: Given): VerbInput {
  return { query: pickedQuery(given, "mode"), file: given.files["file"]?.[0] };
}

function imported(view: BlacklistImport, { say }: Wording): Reply {
  const files = [{ name: "import.json", content: JSON.stringify(view.results, null, 2) }];
  return { content: `${say("blacklist import done")}\n${importText(view, say)}`, files };
}

const show = showRecord;
const line = recordLine;

const evidence = evidenceEntries({
  command,
  record,
  name: "Blacklist",
  pieces: "blacklist-evidence",
  press: { name: "bf", carries: [record] },
});

/** `/blacklist`: people and servers that are kept out. */
export const blacklistEntries: readonly Entry[] = [
  {
    command,
    path: "check",
    operation: "checkBlacklist",
    options: [
      { name: "ids", kind: "text", required: true, max: 1000 },
      { name: "alts", kind: "yes" },
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
    press: { name: "bs", carries: [record] },
  },
  { command, path: "search", operation: "listBlacklist", options: filters, input: (given) => ({ query: filtersOf(given) }), line },
  {
    command,
    path: "review-due",
    operation: "listBlacklist",
    options: [kind],
    input: (given) => ({ query: { ...filtersOf(given), review_due: "true" } }),
    line,
  },
  {
    command,
    path: "add",
    operation: "createBlacklistRecord",
    options: [
      { name: "user", kind: "person" },
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
      { name: "reason-public", kind: "paragraph", required: true, min: 1, max: 2000 },
      { name: "reason-internal", kind: "paragraph", max: 2000 },
      { name: "evidence", kind: "paragraph", max: 2000 },
    ],
    locate: requireOneSubject,
    input: newRecord,
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
      { name: "reason-public", kind: "text", max: 2000 },
      { name: "reason-internal", kind: "text", max: 2000 },
      { name: "tags", kind: "text", max: 500 },
      { name: "review-at", kind: "text", max: 40 },
      { name: "reviewed", kind: "yes" },
    ],
    input: (given) => ({
      params: recordAt(given),
      revision: numberIn(given, "revision"),
      body: {
        ...picked(given, "category", "severity", "duration", "recommended-action", "member-policy", "include-alts"),
        ...picked(given, "reason-public", "reason-internal"),
        review_at: timeIn(given, "review-at"),
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
    options: [record, reason, revision],
    form: reasonForm,
    input: (given) => ({ params: recordAt(given), body: picked(given, "reason"), revision: numberIn(given, "revision") }),
    asks: asksToRevoke,
    show,
  },
  {
    command,
    path: "purge",
    operation: "purgeBlacklistRecord",
    options: [record, reason, revision],
    form: reasonForm,
    input: (given) => ({ params: recordAt(given), body: picked(given, "reason"), revision: numberIn(given, "revision") }),
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
  ...evidence,
  {
    command,
    path: "import",
    operation: "importBlacklist",
    options: [
      { name: "file", kind: "file", required: true },
      { name: "mode", kind: "text", choices: importModes },
    ],
    input: importInput,
    asks: asksToImport,
    show: (view: BlacklistImport, wording) => imported(view, wording),
  },
  {
    command,
    path: "export",
    operation: "exportBlacklist",
    options: [{ name: "format", kind: "text", choices: ["csv", "ndjson"] }, ...filters],
    input: (given) => ({ query: { ...filtersOf(given), ...pickedQuery(given, "format") } }),
  },
];
