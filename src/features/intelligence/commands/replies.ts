import type { AuthorizationView, RefreshView, SessionCreatedView } from "../../authorization/authorization.schema.ts";
import type { BlacklistCheck } from "../../blacklist/blacklist.schema.ts";
import { resolutionOutcomes, type MatchView, type ResolutionOutcome, type UserServerView } from "../intelligence.schema.ts";
import type { LinkGroupView } from "../../links/links.schema.ts";
import { escapeText } from "../../../discord/replies.ts";
import type { Row } from "../../../discord/command.ts";
import type { Page } from "../../../kernel/page.ts";
import type { Reply, Wording, OptionSpec, PressSpec } from "../../../commands/entry.ts";
import { personPresses, pressButton } from "../../../commands/press.ts";
import { card, colours, personOf, seen, told } from "../../../commands/records.ts";
import { momentOf } from "../../../commands/show.ts";
import type { Verbs } from "../../../commands/verbs.ts";

const when = (at: string | null) => (at === null ? undefined : momentOf(at));

/** What a person can decide next, by what was decided before. */
const nextOf: Readonly<Record<string, readonly ResolutionOutcome[]>> = {
  open: ["acknowledge", "dismiss", "exempt"],
  grace: ["acknowledge", "dismiss", "exempt"],
  acknowledged: ["confirm", "dismiss", "exempt"],
  confirmed: ["dismiss", "exempt", "reopen"],
  dismissed: ["reopen"],
  exempt: ["reopen"],
};

/** Matches that nobody has decided finally. */
const undecided: ReadonlySet<string> = new Set(["open", "grace", "acknowledged"]);
const maxMatches = 100;

/** What somebody has granted. */
export function authorizationReply(view: AuthorizationView, { say }: Wording): Reply {
  const embed = card(
    `${say("label authorization")}: ${told(view.status, say) ?? view.status}`,
    [
      ["user", `<@${view.discord_user_id}>`],
      ["purposes", view.purposes.map((purpose) => told(purpose, say) ?? purpose).join(", ")],
      ["granted_at", when(view.granted_at)],
      ["ends_at", when(view.expires_at)],
      ["last_refreshed_at", when(view.last_refreshed_at)],
      ["next_refresh_at", when(view.next_refresh_at)],
      ["servers_seen_count", view.servers_seen_count],
      ["session", view.session && `${told(view.session.status, say) ?? view.session.status} · ${momentOf(view.session.expires_at, "R")}`],
      [
        "last_session",
        view.last_session && [told(view.last_session.status, say), told(view.last_session.failure, say)].filter(Boolean).join(" – "),
      ],
    ],
    say,
  );
  return { content: "", embeds: [embed], components: [personRow(view.discord_user_id, say)] };
}

/** The address is for one person and works once, so nobody but the asker sees it. */
export function sessionReply({ url, expires_at: until }: SessionCreatedView, { say, given }: Wording): Reply {
  const content = say("intel session", { user: String(given.values["user"]), url, until: momentOf(until, "R") });
  return { content, components: [{ type: 1, components: [{ type: 2, style: 5, label: say("intel session open"), url }] }] };
}

export function refreshReply({ status, servers, matches, next_refresh_at: next }: RefreshView, { say, given }: Wording): Reply {
  const content = say("intel refreshed", { status: told(status, say) ?? status, ...servers, ...matches, next: momentOf(next, "R") });
  const user = String(given.values["user"]);
  return { content, components: [personRow(user, say)] };
}

export function serverLine({ server, relation, blacklist_id: blacklisted, tags = [] }: UserServerView, { say }: Wording): string {
  const facts = [
    `\`${server.id}\``,
    told(server.status, say),
    relation.is_owner ? say("intel owner") : relation.can_manage ? say("intel manager") : undefined,
    relation.is_member ? undefined : say("intel left"),
    blacklisted === null || blacklisted === undefined ? undefined : `⚠ ${say("= blacklisted")}`,
    ...tags.map(escapeText),
    momentOf(relation.last_seen_at, "R"),
  ];
  return [`**${escapeText(server.name_snapshot ?? "–")}**`, ...facts.filter((fact) => fact !== undefined)].join(" · ");
}

/** What a match is about: the server, or the record. */
function aboutOf({ server, record_ref: reference, kind }: MatchView, say: Wording["say"]): string {
  return server?.name_snapshot ?? server?.id ?? reference ?? told(kind, say) ?? kind;
}

export function matchLine(view: MatchView, { say }: Wording): string {
  const facts = [
    escapeText(aboutOf(view, say)),
    view.record_ref && escapeText(view.record_ref),
    told(view.severity, say),
    told(view.status, say),
    `${view.confidence.toString()} %`,
    view.via_user_id === undefined ? undefined : say("intel via", { user: view.via_user_id }),
    momentOf(view.last_seen_at, "R"),
  ];
  const why = view.why.map(({ detail }) => escapeText(detail)).join(" ");
  return `**${told(view.kind, say) ?? view.kind}** · ${facts.filter((fact) => fact !== undefined).join(" · ")}\n-# ${why}`;
}

/** A row of decisions for each match that takes one. */
export function matchRows(views: readonly MatchView[], { say, given }: Wording): Row[] {
  return views.flatMap((view): Row[] => {
    const outcomes = nextOf[view.status] ?? [];
    const user = String(given.values["user"] ?? view.user.id);
    const of = { user, match: view.id, revision: view.revision.toString() };
    const components = outcomes.map((outcome) =>
      pressButton(resolvePress, { ...of, outcome }, `${told(outcome, say, "intel") ?? outcome} · ${aboutOf(view, say)}`, "plain"),
    );
    return components.length === 0 ? [] : [{ type: 1, components }];
  });
}

export function matchReply(view: MatchView, wording: Wording): Reply {
  const { say } = wording;
  const { resolution } = view;
  const embed = card(
    `${told(view.kind, say) ?? view.kind} · ${told(view.status, say) ?? view.status}`,
    [
      ["user", `<@${view.user.id}>`],
      ["server", view.server && `${escapeText(view.server.name_snapshot ?? "–")} \`${view.server.id}\``],
      ["record_ref", view.record_ref && escapeText(view.record_ref)],
      ["severity", told(view.severity, say)],
      ["why", view.why.map(({ detail }) => escapeText(detail)).join("\n")],
      ["suggested_action", told(view.suggested_action, say)],
      ["grace_until", when(view.grace_until)],
      [
        "resolution",
        resolution && [told(resolution.outcome, say), personOf(resolution.by), escapeText(resolution.reason)].filter(Boolean).join(" · "),
      ],
      ["until", resolution?.until === undefined ? undefined : momentOf(resolution.until)],
      ["revision", view.revision],
    ],
    say,
    colours[view.severity],
  );
  return { content: "", embeds: [embed], components: matchRows([view], wording) };
}

/** Where to read on about somebody. */
function personRow(user: string, say: Wording["say"]): Row {
  const components = [
    pressButton(matchesPress, { user }, say("label matches")),
    pressButton(serversPress, { user }, say("label servers")),
    pressButton(personPresses.linkedAccounts, { user }, say("alts group")),
    pressButton(personPresses.timeline, { user }, say("label history")),
  ];
  return { type: 1, components };
}

/** All that is known about somebody, as far as the caller may see it. */
export async function profileReply(view: AuthorizationView, wording: Wording, verbs: Verbs): Promise<Reply> {
  const { say } = wording;
  const id = view.discord_user_id;
  const params = { discord_user_id: id };
  const check = await seen<BlacklistCheck>(verbs, "checkBlacklist", wording, { body: { user_ids: [id] } });
  const matches = await seen<Page<MatchView>>(verbs, "listUserMatches", wording, {
    params,
    query: { limit: maxMatches },
  });
  const open = matches?.data.filter(({ status }) => undecided.has(status));
  const strikes = await seen<Page<unknown>>(verbs, "listUserStrikes", wording, { params, query: { limit: 1 } });
  const group = await seen<LinkGroupView>(verbs, "getLinkGroup", wording, { params });
  const cases = await seen<Page<unknown>>(verbs, "listCases", wording, { query: { limit: 1, subject: id, count: "true" } });
  const points = strikes?.notes?.["points_in_force"];
  const summary = card(
    say("label profile"),
    [
      ["user", `<@${id}> \`${id}\``],
      ["blacklist", check && (await wording.shown("blacklist check", check)).content],
      ["open_matches", open && [open.length.toString(), ...open.slice(0, 3).map((match) => matchLine(match, wording))].join("\n")],
      ["points_in_force", typeof points === "number" ? points : undefined],
      [
        "accounts",
        group && (group.members.length === 0 ? say("alts none") : group.members.map(({ user_id: other }) => `<@${other}>`).join(", ")),
      ],
      ["cases", cases?.total],
    ],
    say,
  );
  const { embeds = [], components = [] } = authorizationReply(view, wording);
  return { content: "", embeds: [summary, ...embeds], components };
}

export const userOption: OptionSpec = { name: "user", kind: "user", required: true };
export const outcomeOption: OptionSpec = { name: "outcome", kind: "text", required: true, choices: resolutionOutcomes };
const carries = [userOption];

export const matchesPress: PressSpec = { name: "im", carries };
export const serversPress: PressSpec = { name: "is", carries };
export const resolvePress: PressSpec = {
  name: "ir",
  carries: [userOption, { name: "match", kind: "text" }, outcomeOption, { name: "revision", kind: "integer" }],
};
