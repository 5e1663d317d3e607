import { inJson, type TextKey } from "../../../kit/say.ts";
import { escapeText } from "../../../discord/replies.ts";
import { sentenceText } from "../../../discord/sentence.ts";
import { isSnowflake } from "../../../kernel/fields.ts";
import type { SyncChange, SyncMemberView, SyncPlanView, SyncValue } from "./sync.schema.ts";
import type { Entry, OptionSpec, PressSpec, Reply, Wording } from "../../../commands/entry.ts";
import { picked, textIn } from "../../../commands/input.ts";
import { pressButton } from "../../../commands/press.ts";
import { cut, valueOf } from "../../../commands/show.ts";

const command = "roster";
const maxLength = 4000;
const shownPeople = 20;
const person: OptionSpec = { name: "user", kind: "user", required: true };
const direction: OptionSpec = { name: "direction", kind: "text" };
const plan: OptionSpec = { name: "plan", kind: "text", min: 64, max: 64 };
const member: PressSpec = { name: "rs", carries: [person, direction] };
const everybody: PressSpec = { name: "ra", carries: [plan] };

const roleOf = (id: string): string => (isSnowflake(id) ? `<@&${id}>` : escapeText(id));
const rolesOf = (value: SyncValue): string => (Array.isArray(value) ? value.map(roleOf).join(", ") || "–" : valueOf(value));

function changeLine(change: SyncChange, t: Wording["t"]): string {
  const { field, discord, roster, role_id: role, applied, reason } = change;
  const of = role === undefined ? "" : ` <@&${role}>`;
  const end = applied ? t("roster sync done") : reason === null ? "" : sentenceText(reason, t);
  const sides = t("roster sync sides", { discord: rolesOf(discord), roster: rolesOf(roster) });
  return [`**${t(`= ${field}`)}**${of}: ${sides}`, ...(end === "" ? [] : [end])].join(" · ");
}

/** What differs, with a button for either side to follow; or what became of each difference. */
function showMember(view: SyncMemberView, { t }: Wording): Reply {
  const user = `<@${view.user.id}>`;
  const lines = [
    ...view.changes.map((change) => changeLine(change, t)),
    ...view.warnings.map((warning) => `⚠ ${sentenceText(warning, t)}`),
  ];
  const canFollow = view.direction === "report" && !view.in_sync && !view.stale;
  const to = (way: string, label: TextKey) => pressButton(member, { user: view.user.id, direction: way }, t(label));
  const stale = view.stale ? `\n${t("roster sync stale")}` : "";
  return {
    content: t(view.in_sync ? "roster sync same" : `roster sync ${view.direction}`, { user }) + stale,
    embeds: lines.length === 0 ? [] : [{ description: cut(lines.join("\n"), maxLength) }],
    components: canFollow
      ? [{ type: 1, components: [to("from_discord", "button from-discord"), to("to_discord", "button to-discord")] }]
      : [],
  };
}

/** The plan of everything, with a button that applies this very plan. */
function showPlan(view: SyncPlanView, { t }: Wording): Reply {
  const { people, withheld, applied, plan_hash: planHash } = view;
  if (!view.dry_run) return { content: t("roster sync all applied", { applied, withheld }) };
  const lines = view.plan.slice(0, shownPeople).map(({ user_id: user, steps, withheld: isWithheld }) => {
    const told = steps.map(({ event, before, after }) => `${t(`= ${event}`)}: ${rolesOf(before)} → ${rolesOf(after)}`).join("; ");
    return `<@${user}> · ${told}${isWithheld ? ` · ${t("roster sync all withheld")}` : ""}`;
  });
  const apply = pressButton(everybody, { plan: planHash }, t("button apply"), "grave");
  const stale = view.stale ? `\n${t("roster sync stale")}` : "";
  return {
    content: t(people === 0 ? "roster sync all same" : "roster sync all found", { people, withheld }) + stale,
    embeds: lines.length === 0 ? [] : [{ description: cut(lines.join("\n"), maxLength) }],
    components: people > withheld && !view.stale ? [{ type: 1, components: [apply] }] : [],
    files: people > shownPeople ? [{ name: "plan.json", content: inJson(view, 2) }] : [],
  };
}

/** The roster and Discord, side by side. */
export const rosterSyncEntries: readonly Entry[] = [
  {
    command,
    path: "sync member",
    operation: "syncRosterMember",
    options: [person, direction, { name: "dry-run", kind: "boolean" }, { name: "reason", kind: "text" }],
    press: member,
    input: (given) => ({ body: { ...picked(given, "direction", "dry-run", "reason"), discord_user_id: textIn(given, "user") } }),
    show: showMember,
  },
  {
    command,
    path: "sync all",
    operation: "syncRoster",
    options: [plan],
    press: everybody,
    input: (given) => {
      const planHash = textIn(given, "plan");
      return { body: planHash === undefined ? {} : { dry_run: false, plan_hash: planHash } };
    },
    show: showPlan,
  },
  { command, path: "sync status", operation: "getRosterSync", input: () => ({}), press: { name: "ry", carries: [] } },
];
