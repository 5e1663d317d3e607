import type { Reply } from "../../../commands/entry.ts";
import { cut, momentOf } from "../../../commands/show.ts";
import type { Translate } from "../../../kit/say.ts";
import { openStatuses } from "../state/table.ts";
import type { NumbersView, StatsView } from "../stats/stats.schema.ts";
import { lengthText } from "../../../commands/length-text.ts";

const barLength = 10;
const maxKinds = 12;

/** Numbers about requests, in sentences: what waits, how long it takes, and what comes of it. */
export function statsReply({ all, types, from, is_whole: isWhole }: StatsView, t: Translate): Reply {
  const kinds = types.filter(({ filed, open }) => filed + open.total > 0);
  const parts = [
    openText(all, t),
    speedText(all, t),
    outcomesText(all, t),
    ...(types.length < 2 || kinds.length === 0 ? [] : [kindsText(kinds, t)]),
  ];
  const title = isWhole ? t("stats title") : t("stats part", { from: momentOf(from) });
  return { content: "", embeds: [{ title: t("stats head"), description: cut([title, ...parts].join("\n\n"), 4000) }] };
}

/** A share as a bar: what it is of all. */
function bar(count: number, most: number): string {
  const full = most === 0 ? 0 : Math.round((count / most) * barLength);
  return "▇".repeat(full) + "▁".repeat(barLength - full);
}

function rowsText(rows: readonly (readonly [name: string, count: number])[]): string[] {
  const all = rows.reduce((sum, [, count]) => sum + count, 0);
  return rows.filter(([, count]) => count > 0).map(([name, count]) => `\`${bar(count, all)}\` ${count.toString()} · ${name}`);
}

function openText({ open, open_age: age, overdue }: NumbersView, t: Translate): string {
  if (age.max === null || age.p50 === null) return `**${t("stats none")}**`;
  const lines = [
    `**${t("stats oldest", { oldest: lengthText(age.max, t), count: open.total })}**`,
    ...rowsText(openStatuses.map((status) => [t(`= ${status}`), open[status]])),
    t("stats waiting", { half: lengthText(age.p50, t) }),
    ...(overdue === 0 ? [] : [t("stats overdue", { count: overdue })]),
  ];
  return lines.join("\n");
}

function speedText({ first_touch: touch, decision, breached_share: late }: NumbersView, t: Translate): string {
  const lines = [
    ...(touch.p50 === null || touch.p90 === null ? [] : [spanLine("stats first-touch", touch.p50, touch.p90, t)]),
    ...(decision.p50 === null || decision.p90 === null ? [] : [spanLine("stats decision", decision.p50, decision.p90, t)]),
    ...(late === null ? [] : [t("stats late", { share: percent(late) })]),
  ];
  return [`**${t("stats speed")}**`, ...(lines.length === 0 ? [t("stats nothing")] : lines)].join("\n");
}

function spanLine(key: "stats first-touch" | "stats decision", half: number, most: number, t: Translate): string {
  return t(key, { half: lengthText(half, t), most: lengthText(most, t) });
}

function outcomesText(numbers: NumbersView, t: Translate): string {
  const { outcomes, filed, approval_rate: approved, reversal_rate: reversed, break_glass: alone } = numbers;
  const rows = rowsText(Object.entries(outcomes).map(([status, count]) => [t(`= ${status}`), count]));
  const lines = [
    `**${t("stats filed", { count: filed })}**`,
    ...rows,
    ...(approved === null ? [] : [t("stats approved", { share: percent(approved) })]),
    ...(reversed === null || reversed === 0 ? [] : [t("stats reversed", { share: percent(reversed) })]),
    ...(alone === 0 ? [] : [t("stats alone", { count: alone })]),
  ];
  return lines.join("\n");
}

function kindsText(kinds: StatsView["types"], t: Translate): string {
  const shown = kinds.toSorted((a, b) => b.filed - a.filed).slice(0, maxKinds);
  return [`**${t("stats kinds")}**`, ...rowsText(shown.map(({ type, filed }) => [t(`= ${type}`), filed]))].join("\n");
}

function percent(share: number): string {
  return `${Math.round(share * 100).toString()} %`;
}
