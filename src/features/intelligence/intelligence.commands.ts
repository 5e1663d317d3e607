import type { CommandSet, Entry, CommandInput, OptionSpec } from "../../commands/entry.ts";
import { within } from "../../commands/sources.ts";
import { idsIn, numberIn, pickedQuery } from "../../commands/records.ts";
import type { MatchView } from "./intelligence.schema.ts";
import type { AuthorizationView } from "../authorization/authorization.schema.ts";
import { escapeText } from "../../discord/replies.ts";
import { picked, textIn } from "../../commands/input.ts";
import {
  outcomeOption,
  resolvePress,
  serversPress,
  userOption as user,
  authorizationReply,
  matchLine,
  matchReply,
  matchRows,
  profileReply,
  refreshReply,
  serverLine,
  sessionReply,
} from "./commands/replies.ts";
import { mentionOf, momentOf } from "../../commands/show.ts";

const command = "intel";
const reason: OptionSpec = { name: "reason", kind: "text" };

const at = (given: CommandInput) => ({ discord_user_id: textIn(given, "user") ?? "" });

const grantEntries: readonly Entry[] = [
  {
    command,
    path: "profile",
    operation: "getAuthorization",
    options: [user],
    input: (given) => ({ params: at(given) }),
    show: (view: AuthorizationView, wording, verbs) => profileReply(view, wording, verbs),
  },
  {
    command,
    path: "authorize",
    operation: "createAuthorizationSession",
    options: [
      user,
      { name: "purpose", kind: "text" },
      { name: "detail", kind: "text" },
      { name: "minutes", kind: "integer", min: 5, max: 60 },
      { name: "request", kind: "text", max: 40 },
      { name: "locale", kind: "text", max: 12 },
    ],
    input: (given) => ({
      body: {
        discord_user_id: textIn(given, "user"),
        ...picked(given, "purpose", "detail", "locale"),
        ttl_minutes: given.values["minutes"],
        request_reference: textIn(given, "request"),
      },
    }),
    show: sessionReply,
  },
  {
    command,
    path: "status",
    operation: "getAuthorization",
    options: [user],
    input: (given) => ({ params: at(given) }),
    show: authorizationReply,
  },
  {
    command,
    path: "refresh",
    operation: "refreshUser",
    options: [user, { name: "force", kind: "boolean" }, { ...reason, min: 1 }],
    input: (given) => ({ params: at(given), body: picked(given, "force", "reason") }),
    show: refreshReply,
  },
  {
    command,
    path: "revoke",
    operation: "revokeAuthorization",
    options: [user, { ...reason, min: 1 }],
    form: [{ name: "reason", kind: "paragraph", required: true }],
    input: (given) => ({ params: at(given), body: picked(given, "reason") }),
    asks: ({ t, given }) => t("intel revoke ask", { user: mentionOf(textIn(given, "user") ?? "") }),
    show: authorizationReply,
  },
];

/** `/intel`: what somebody has granted, and what was found with it. */
const intelEntries: readonly Entry[] = [
  ...grantEntries,
  {
    command,
    path: "servers",
    operation: "listUserServers",
    options: [user],
    input: (given) => ({ params: at(given) }),
    line: serverLine,
    note: ({ unlisted_count: count }, { t }) => (typeof count === "number" ? t("intel unlisted", { count }) : ""),
    press: serversPress,
  },
  {
    command,
    path: "matches",
    operation: "listUserMatches",
    options: [user, { name: "status", kind: "text" }, { name: "kind", kind: "text" }],
    input: (given) => ({ params: at(given), query: pickedQuery(given, "status", "kind") }),
    lines: 4,
    line: matchLine,
    rows: matchRows,
    press: { name: "im", carries: [{ name: "user", kind: "user" }] },
  },
  {
    command,
    path: "resolve",
    operation: "resolveUserMatch",
    options: [
      user,
      { name: "match", kind: "text", required: true, completes: "match", max: 64 },
      outcomeOption,
      reason,
      { name: "until", kind: "text" },
      { name: "revision", kind: "integer", min: 1 },
    ],
    form: [{ name: "reason", kind: "paragraph", required: true }],
    input: (given) => ({
      params: { ...at(given), match_id: textIn(given, "match") ?? "" },
      body: { ...picked(given, "outcome", "reason"), until: textIn(given, "until") },
      revision: numberIn(given, "revision"),
    }),
    show: matchReply,
    press: resolvePress,
  },
  {
    command,
    path: "clearances",
    operation: "listUserClearances",
    options: [user],
    input: (given) => ({ params: at(given) }),
    line: ({ from_server_id: from, to_server_id: to, status, valid_until: until, origin_reference: reference }, { t }) =>
      [
        `\`${String(from)}\` → \`${String(to)}\``,
        t(`= ${String(status)}`),
        until && momentOf(until),
        reference && escapeText(String(reference)),
      ]
        .filter(Boolean)
        .join(" · "),
  },
];

/** What Discord offers of what people granted. */
export const intelligenceCommands: CommandSet = {
  entries: intelEntries,
  menus: [{ name: "Intel profile", kind: "user", entry: "intel profile", values: ({ user = "" }) => ({ user }) }],
  sources: {
    match: within(
      "listUserMatches",
      (given) => ({ discord_user_id: idsIn(textIn(given, "user"))[0] ?? "" }),
      ({ kind, server, record_ref: reference, status }: MatchView, t) =>
        [t(`= ${kind}`), server?.name_snapshot ?? reference, t(`= ${status}`)].filter(Boolean).join(" · "),
    ),
  },
};
