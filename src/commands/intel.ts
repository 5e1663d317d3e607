import { purposes, serverDetails, type AuthorizationView } from "../features/authorization/authorization.schema.ts";
import { matchKinds, matchStatuses } from "../features/intelligence/intelligence.schema.ts";
import type { StrikesNotes } from "../features/cases/actions/actions.schema.ts";
import { escapeText } from "../discord/replies.ts";
import { actionLine } from "./case-parts.ts";
import type { Entry, Given, OptionSpec, Wording } from "./entry.ts";
import { picked, textIn, timeIn } from "./given.ts";
import { serverEntries } from "./intel-servers.ts";
import {
  matchesPress,
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
} from "./intel-words.ts";
import { numberIn, pickedQuery } from "./records.ts";
import { momentOf } from "./show.ts";

const command = "intel";
const reason: OptionSpec = { name: "reason", kind: "text", min: 3, max: 1000 };
const alts: OptionSpec = { name: "alts", kind: "yes" };

const at = (given: Given) => ({ discord_user_id: textIn(given, "user") ?? "" });
const flag = (given: Given, name: string) => (given.values[name] === undefined ? undefined : String(given.values[name]));

/** What the ledger of strikes sums up to. */
function strikesNote(notes: StrikesNotes, { say }: Wording): string {
  const { withheld, points_in_force: points = 0, points_total: total = 0, next_threshold: next } = notes;
  if (withheld !== undefined) return say("intel strikes withheld", { permission: escapeText(withheld) });
  const ahead =
    next === null || next === undefined ? "" : say("intel strikes next", { points: next.points, action: escapeText(next.action) });
  return `${say("intel strikes sum", { points, total })} ${ahead}`.trim();
}

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
      { name: "purpose", kind: "text", choices: purposes },
      { name: "detail", kind: "text", choices: serverDetails },
      { name: "minutes", kind: "whole", min: 5, max: 60 },
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
    options: [user, { name: "force", kind: "yes" }, { ...reason, min: 1 }],
    input: (given) => ({ params: at(given), body: picked(given, "force", "reason") }),
    show: refreshReply,
  },
  {
    command,
    path: "revoke",
    operation: "revokeAuthorization",
    options: [user, { ...reason, min: 1 }],
    form: [{ name: "reason", kind: "paragraph", required: true, min: 1, max: 1000 }],
    input: (given) => ({ params: at(given), body: picked(given, "reason") }),
    asks: ({ say, given }) => say("intel revoke ask", { user: textIn(given, "user") ?? "" }),
    show: authorizationReply,
  },
];

/** `/intel`: what somebody has granted, and what was found with it. */
export const intelEntries: readonly Entry[] = [
  ...grantEntries,
  {
    command,
    path: "servers",
    operation: "listUserServers",
    options: [user],
    input: (given) => ({ params: at(given) }),
    line: serverLine,
    note: ({ unlisted_count: count }, { say }) => (typeof count === "number" ? say("intel unlisted", { count }) : ""),
    press: serversPress,
  },
  {
    command,
    path: "matches",
    operation: "listUserMatches",
    options: [user, { name: "status", kind: "text", choices: matchStatuses }, { name: "kind", kind: "text", choices: matchKinds }],
    input: (given) => ({ params: at(given), query: pickedQuery(given, "status", "kind") }),
    lines: 4,
    line: matchLine,
    rows: matchRows,
    press: matchesPress,
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
      { name: "until", kind: "text", max: 40 },
      { name: "revision", kind: "whole", min: 1 },
    ],
    form: [{ name: "reason", kind: "paragraph", required: true, min: 3, max: 1000 }],
    input: (given) => ({
      params: { ...at(given), match_id: textIn(given, "match") ?? "" },
      body: { ...picked(given, "outcome", "reason"), until: timeIn(given, "until") },
      revision: numberIn(given, "revision"),
    }),
    show: matchReply,
    press: resolvePress,
  },
  {
    command,
    path: "strikes",
    operation: "listUserStrikes",
    options: [user, alts],
    input: (given) => ({ params: at(given), query: { include_alts: flag(given, "alts") } }),
    line: actionLine,
    note: strikesNote,
  },
  {
    command,
    path: "clearances",
    operation: "listUserClearances",
    options: [user],
    input: (given) => ({ params: at(given) }),
    line: ({ from_server_id: from, to_server_id: to, status, valid_until: until, origin_reference: reference }, { say }) =>
      [
        `\`${String(from)}\` → \`${String(to)}\``,
        say(`= ${String(status)}`),
        until && momentOf(until),
        reference && escapeText(String(reference)),
      ]
        .filter(Boolean)
        .join(" · "),
  },
  ...serverEntries,
];
