import type { AuthorizationView, RefreshView, SessionCreatedView } from "../../authorization/authorization.schema.ts";
import type { BlacklistCheck } from "../../blacklist/blacklist.schema.ts";
import type { MatchView, ResolutionOutcome, UserServerView } from "../intelligence.schema.ts";
import type { LinkGroupView } from "../../links/links.schema.ts";
import { escapeText } from "../../../discord/replies.ts";
import { sentenceText } from "../../../discord/sentence.ts";
import type { Row } from "../../../discord/command.ts";
import type { Page } from "../../../kernel/page.ts";
import type { Reply, Wording, OptionSpec, PressSpec } from "../../../commands/entry.ts";
import { pressButton } from "../../../commands/press.ts";
import { card, colours, idText, personOf, readOptional } from "../../../commands/records.ts";
import { enumLabel, mentionOf, momentOf } from "../../../commands/show.ts";
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
export function authorizationReply(view: AuthorizationView, wording: Wording): Reply {
  const { t } = wording;
  const embed = card(
    `${t("label authorization")}: ${enumLabel(view.status, t) ?? view.status}`,
    [
      ["user", `<@${view.discord_user_id}>`],
      ["purposes", view.purposes.map((purpose) => enumLabel(purpose, t) ?? purpose).join(", ")],
      ["granted_at", when(view.granted_at)],
      ["ends_at", when(view.expires_at)],
      ["last_refreshed_at", when(view.last_refreshed_at)],
      ["next_refresh_at", when(view.next_refresh_at)],
      ["servers_seen_count", view.servers_seen_count],
      [
        "session",
        view.session && `${enumLabel(view.session.status, t) ?? view.session.status} · ${momentOf(view.session.expires_at, "R")}`,
      ],
      [
        "last_session",
        view.last_session && [enumLabel(view.last_session.status, t), enumLabel(view.last_session.failure, t)].filter(Boolean).join(" – "),
      ],
    ],
    t,
  );
  return { content: "", embeds: [embed], components: [personRow(view.discord_user_id, wording)] };
}

/** The address is for one person and works once, so nobody but the asker sees it. */
export function sessionReply({ url, expires_at: until }: SessionCreatedView, { t, given }: Wording): Reply {
  const content = t("intel session", { user: mentionOf(String(given.values["user"])), url, until: momentOf(until, "R") });
  return { content, components: [{ type: 1, components: [{ type: 2, style: 5, label: t("intel session open"), url }] }] };
}

export function refreshReply({ status, servers, matches, next_refresh_at: next }: RefreshView, wording: Wording): Reply {
  const { t, given } = wording;
  const content = t("intel refreshed", { status: enumLabel(status, t) ?? status, ...servers, ...matches, next: momentOf(next, "R") });
  const user = String(given.values["user"]);
  return { content, components: [personRow(user, wording)] };
}

export function serverLine({ server, relation, blacklist_id: blacklisted, tags = [] }: UserServerView, { t }: Wording): string {
  const facts = [
    `\`${server.id}\``,
    enumLabel(server.status, t),
    relation.is_owner ? t("intel owner") : relation.can_manage ? t("intel manager") : undefined,
    relation.is_member ? undefined : t("intel left"),
    blacklisted === null || blacklisted === undefined ? undefined : `⚠ ${t("= blacklisted")}`,
    ...tags.map(escapeText),
    momentOf(relation.last_seen_at, "R"),
  ];
  return [`**${escapeText(server.name_snapshot ?? "–")}**`, ...facts.filter((fact) => fact !== undefined)].join(" · ");
}

/** What a match is about: the server, or the record. */
function aboutOf({ server, record_ref: reference, kind }: MatchView, t: Wording["t"]): string {
  return server?.name_snapshot ?? server?.id ?? reference ?? enumLabel(kind, t) ?? kind;
}

export function matchLine(view: MatchView, { t }: Wording): string {
  const facts = [
    idText(aboutOf(view, t)),
    view.server === null || view.server === undefined ? undefined : (view.record_ref ?? undefined),
    enumLabel(view.severity, t),
    enumLabel(view.status, t),
    `${view.confidence.toString()} %`,
    view.via_user_id === undefined ? undefined : t("intel via", { user: mentionOf(view.via_user_id) }),
    momentOf(view.last_seen_at, "R"),
  ];
  const why = view.why.map(({ detail }) => sentenceText(detail, t)).join(" ");
  return `**${enumLabel(view.kind, t) ?? view.kind}** · ${facts.filter((fact) => fact !== undefined).join(" · ")}\n-# ${why}`;
}

/** A row of decisions for each match that takes one. */
export function matchRows(views: readonly MatchView[], { t, given }: Wording): Row[] {
  return views.flatMap((view): Row[] => {
    const outcomes = nextOf[view.status] ?? [];
    const user = String(given.values["user"] ?? view.user.id);
    const of = { user, match: view.id, revision: view.revision.toString() };
    const components = outcomes.map((outcome) =>
      pressButton(resolvePress, { ...of, outcome }, `${enumLabel(outcome, t, "intel") ?? outcome} · ${aboutOf(view, t)}`, "plain"),
    );
    return components.length === 0 ? [] : [{ type: 1, components }];
  });
}

export function matchReply(view: MatchView, wording: Wording): Reply {
  const { t } = wording;
  const { resolution } = view;
  const embed = card(
    `${enumLabel(view.kind, t) ?? view.kind} · ${enumLabel(view.status, t) ?? view.status}`,
    [
      ["user", `<@${view.user.id}>`],
      ["server", view.server && `${escapeText(view.server.name_snapshot ?? "–")} \`${view.server.id}\``],
      ["record_ref", view.record_ref && escapeText(view.record_ref)],
      ["severity", enumLabel(view.severity, t)],
      ["why", view.why.map(({ detail }) => sentenceText(detail, t)).join("\n")],
      ["suggested_action", enumLabel(view.suggested_action, t)],
      ["grace_until", when(view.grace_until)],
      [
        "resolution",
        resolution &&
          [enumLabel(resolution.outcome, t), personOf(resolution.by), escapeText(resolution.reason)].filter(Boolean).join(" · "),
      ],
      ["until", resolution?.until === undefined ? undefined : momentOf(resolution.until)],
      ["revision", view.revision],
    ],
    t,
    colours[view.severity],
  );
  return { content: "", embeds: [embed], components: matchRows([view], wording) };
}

/** Where to read on about somebody. */
function personRow(user: string, { t, pressOf }: Wording): Row {
  const components = [
    pressButton(pressOf("intel matches"), { user }, t("label matches")),
    pressButton(serversPress, { user }, t("label servers")),
    pressButton(pressOf("alts show"), { user }, t("alts group")),
    pressButton(pressOf("case timeline"), { user }, t("label history")),
  ];
  return { type: 1, components };
}

/** All that is known about somebody, as far as the caller may see it. */
export async function profileReply(view: AuthorizationView, wording: Wording, verbs: Verbs): Promise<Reply> {
  const { t } = wording;
  const id = view.discord_user_id;
  const params = { discord_user_id: id };
  const check = await readOptional<BlacklistCheck>(verbs, "checkBlacklist", wording, { body: { user_ids: [id] } });
  const matches = await readOptional<Page<MatchView>>(verbs, "listUserMatches", wording, {
    params,
    query: { limit: maxMatches },
  });
  const open = matches?.data.filter(({ status }) => undecided.has(status));
  const strikes = await readOptional<Page<unknown>>(verbs, "listUserStrikes", wording, { params, query: { limit: 1 } });
  const group = await readOptional<LinkGroupView>(verbs, "getLinkGroup", wording, { params });
  const cases = await readOptional<Page<unknown>>(verbs, "listCases", wording, { query: { limit: 1, subject: id, count: "true" } });
  const points = strikes?.notes?.["points_in_force"];
  const summary = card(
    t("label profile"),
    [
      ["user", `<@${id}> \`${id}\``],
      ["blacklist", check && (await wording.shown("blacklist check", check)).content],
      ["open_matches", open && [open.length.toString(), ...open.slice(0, 3).map((match) => matchLine(match, wording))].join("\n")],
      ["points_in_force", typeof points === "number" ? points : undefined],
      [
        "accounts",
        group && (group.members.length === 0 ? t("alts none") : group.members.map(({ user_id: other }) => `<@${other}>`).join(", ")),
      ],
      ["cases", cases?.total],
    ],
    t,
  );
  const { embeds = [], components = [] } = authorizationReply(view, wording);
  return { content: "", embeds: [summary, ...embeds], components };
}

export const userOption: OptionSpec = { name: "user", kind: "user", required: true };
export const outcomeOption: OptionSpec = { name: "outcome", kind: "text", required: true };
const carries = [userOption];

export const serversPress: PressSpec = { name: "is", carries };
export const resolvePress: PressSpec = {
  name: "ir",
  carries: [userOption, { name: "match", kind: "text" }, outcomeOption, { name: "revision", kind: "integer" }],
};
