import { escapeText } from "../../../discord/replies.ts";
import { permissionText, sentenceText, taskText } from "../../../discord/sentence.ts";
import { idText } from "../../../commands/records.ts";
import type { ExplainView, SimulateView } from "../explain/explain.schema.ts";
import type { CatalogView, RolePermissionsView } from "../permissions.schema.ts";
import type { EffectiveView, UserPermissionsView } from "../users/users.schema.ts";
import type { Reply } from "../../../commands/entry.ts";
import { enumLabel, cut, codeText, momentOf } from "../../../commands/show.ts";
import { inJson, type Translate } from "../../../kit/say.ts";

const limits = { text: 1900, keys: 20 } as const;
const mark = (allowed: boolean): string => (allowed ? "✓" : "✗");

/** An entry of the catalog as a line. */
export function catalogLine({ key, default_level: level, danger }: CatalogView, t: Translate): string {
  return `${titled(key, t)} · ${enumLabel(level, t)}${danger ? " ⚠" : ""}`;
}

/** Which rules spoke, in order, and which one decided. */
export function explainText(view: ExplainView, t: Translate): string {
  const { key, allowed, trace } = view;
  const about = { user: `<@${view.user_id}>`, key, task: taskText(key, t) };
  const head = t(allowed ? "permission may" : "permission may-not", about);
  // Where no rule spoke, there is no order to show.
  if (trace.length === 1 && trace[0]?.step === "nothing") return `${head} ${sentenceText(trace[0].text, t)}`;
  const lines = trace.map(({ step, effect, decides, text }, index) => {
    const line = `${(index + 1).toString()}. ${mark(effect === "allow")} ${enumLabel(`step ${step}`, t)}: ${sentenceText(text, t)}`;
    return decides ? `**${line}** ${t("permission decides")}` : line;
  });
  const end = view.expires_at === null ? [] : [t("permission ends", { at: momentOf(view.expires_at) })];
  return [head, ...lines, ...end].join("\n");
}

/** What one person is allowed and denied besides their roles. */
export function personText(view: UserPermissionsView, t: Translate): string {
  const lines = view.overrides.map(({ key, effect, scope, expires_at: ends, reason }) =>
    [
      `${mark(effect === "allow")} ${titled(key, t)}`,
      ...(scope === null ? [] : [t("permission only-in", { guild: idText(scope) })]),
      ...(ends === null ? [] : [t("say until", { at: momentOf(ends) })]),
      ...(reason === undefined ? [] : [escapeText(reason)]),
    ].join(" · "),
  );
  const barred = view.suspension === null ? [] : [t("permission suspended")];
  const none = lines.length === 0 ? [t("permission nothing-personal")] : lines;
  return [`<@${view.user_id}>`, ...barred, ...none].join("\n");
}

/** What a staff role holds on top of its level. */
export function roleText(view: RolePermissionsView, t: Translate): string {
  const counted = view.effective === undefined ? [] : [t("permission in-all", { count: view.effective.length })];
  return cut(
    [
      `${codeText(view.role_key)} · ${enumLabel(view.level, t)}`,
      t("permission allows", { keys: keysText(view.allow, t) }),
      t("permission denies", { keys: keysText(view.deny, t) }),
      ...counted,
      ...(view.conflicts ?? []).map(([one = "", other = ""]) => t("permission conflict", { one: titled(one, t), other: titled(other, t) })),
    ].join("\n"),
    limits.text,
  );
}

/** Every permission as decided for one person: in numbers, and whole as a file. */
export function effectiveReply(view: EffectiveView, t: Translate): Reply {
  const held = view.permissions.filter(({ allowed }) => allowed).map(({ key }) => key);
  const line = t("permission effective-line", { user: `<@${view.user_id}>`, level: enumLabel(view.level, t), count: held.length });
  const file = { name: "permissions.json", content: inJson(view, 2) };
  return { content: cut(`${line}\n${keysText(held, t)}`, limits.text), files: [file] };
}

/** Who would gain and lose what, and what could not be saved. */
export function simulationReply(view: SimulateView, t: Translate): Reply {
  const change = (gains: readonly string[], loses: readonly string[]): string =>
    [...gains.map((key) => `+${titled(key, t)}`), ...loses.map((key) => `−${titled(key, t)}`)].slice(0, limits.keys).join(", ");
  const lines = [
    ...view.refusals.map(({ code, detail }) => `${t("permission would-refuse")} ${sentenceText(detail, t)} (\`${code}\`)`),
    ...view.roles.map(({ role_key: key, gains, loses }) => `**${escapeText(key)}** ${change(gains, loses)}`),
    ...view.people.map(({ user_id: id, gains, loses }) => `<@${id}> ${change(gains, loses)}`),
  ];
  const head = t("permission simulated", { count: view.people_total });
  const file = { name: "simulation.json", content: inJson(view, 2) };
  return { content: cut([head, ...lines].join("\n"), limits.text), files: [file] };
}

function keysText(keys: readonly string[], t: Translate): string {
  if (keys.length === 0) return t("say none");
  const shown = keys.slice(0, limits.keys).map((key) => titled(key, t));
  return [...shown, ...(keys.length > limits.keys ? [t("say more", { count: keys.length - limits.keys })] : [])].join(", ");
}

/** A permission by its title, with the key that commands take. */
function titled(key: string, t: Translate): string {
  return permissionText(key, t) ?? codeText(key);
}
