import { escapeText } from "../../../discord/replies.ts";
import type { ExplainView, SimulateView } from "../explain/explain.schema.ts";
import type { CatalogView, RolePermissionsView } from "../permissions.schema.ts";
import type { EffectiveView, UserPermissionsView } from "../users/users.schema.ts";
import type { Reply } from "../../../commands/entry.ts";
import { named, cut, momentOf } from "../../../commands/show.ts";
import type { Say } from "../../../commands/texts.ts";

const most = { text: 1900, keys: 40 } as const;
const mark = (allowed: boolean): string => (allowed ? "✓" : "✗");

/** An entry of the catalog as a line. */
export function catalogLine({ key, label, default_level: level, danger }: CatalogView, say: Say): string {
  return `\`${key}\` · ${escapeText(label)} · ${named(say, level)}${danger ? " ⚠" : ""}`;
}

/** Which rules spoke, in order, and which one decided. */
export function explainText(view: ExplainView, say: Say): string {
  const head = say(view.allowed ? "permission may" : "permission may-not", { user: `<@${view.user_id}>`, key: view.key });
  const lines = view.trace.map(({ step, effect, decides, text }, index) => {
    const line = `${(index + 1).toString()}. ${mark(effect === "allow")} ${named(say, `step ${step}`)}: ${escapeText(text)}`;
    return decides ? `**${line}** ${say("permission decides")}` : line;
  });
  const end = view.expires_at === null ? [] : [say("permission ends", { at: momentOf(view.expires_at) })];
  return [head, ...lines, ...end].join("\n");
}

/** What one person is allowed and denied besides their roles. */
export function personText(view: UserPermissionsView, say: Say): string {
  const lines = view.overrides.map(({ key, effect, scope, expires_at: ends, reason }) =>
    [
      `${mark(effect === "allow")} \`${key}\``,
      ...(scope === null ? [] : [say("permission only-in", { guild: scope })]),
      ...(ends === null ? [] : [say("say until", { at: momentOf(ends) })]),
      ...(reason === undefined ? [] : [escapeText(reason)]),
    ].join(" · "),
  );
  const barred = view.suspension === null ? [] : [say("permission suspended")];
  const none = lines.length === 0 ? [say("permission nothing-personal")] : lines;
  return [`<@${view.user_id}>`, ...barred, ...none].join("\n");
}

/** What a staff role holds on top of its level. */
export function roleText(view: RolePermissionsView, say: Say): string {
  const counted = view.effective === undefined ? [] : [say("permission in-all", { count: view.effective.length })];
  return cut(
    [
      `**${escapeText(view.role_key)}** · ${named(say, view.level)}`,
      say("permission allows", { keys: keysText(view.allow, say) }),
      say("permission denies", { keys: keysText(view.deny, say) }),
      ...counted,
    ].join("\n"),
    most.text,
  );
}

/** Every permission as decided for one person: in numbers, and whole as a file. */
export function effectiveReply(view: EffectiveView, say: Say): Reply {
  const held = view.permissions.filter(({ allowed }) => allowed).map(({ key }) => key);
  const line = say("permission effective-line", { user: `<@${view.user_id}>`, level: named(say, view.level), count: held.length });
  const file = { name: "permissions.json", content: JSON.stringify(view, null, 2) };
  return { content: cut(`${line}\n${keysText(held, say)}`, most.text), files: [file] };
}

/** Who would gain and lose what, and what could not be saved. */
export function simulationReply(view: SimulateView, say: Say): Reply {
  const change = (gains: readonly string[], loses: readonly string[]): string =>
    [...gains.map((key) => `+\`${key}\``), ...loses.map((key) => `−\`${key}\``)].slice(0, most.keys).join(" ");
  const lines = [
    ...view.refusals.map(({ code, detail }) => `${say("permission would-refuse")} ${escapeText(detail)} (${code})`),
    ...view.roles.map(({ role_key: key, gains, loses }) => `**${escapeText(key)}** ${change(gains, loses)}`),
    ...view.people.map(({ user_id: id, gains, loses }) => `<@${id}> ${change(gains, loses)}`),
  ];
  const head = say("permission simulated", { count: view.people_total });
  const file = { name: "simulation.json", content: JSON.stringify(view, null, 2) };
  return { content: cut([head, ...lines].join("\n"), most.text), files: [file] };
}

function keysText(keys: readonly string[], say: Say): string {
  if (keys.length === 0) return say("say none");
  const shown = keys.slice(0, most.keys).map((key) => `\`${escapeText(key).replaceAll("\\", "")}\``);
  return [...shown, ...(keys.length > most.keys ? [say("say more", { count: keys.length - most.keys })] : [])].join(" ");
}
