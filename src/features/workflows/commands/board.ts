import type { CardMessage } from "../../../discord/rest/cards.ts";
import { escapeText } from "../../../discord/replies.ts";
import type { ShownQueue } from "../cards/shown.ts";
import { cut, momentOf } from "../../../commands/show.ts";
import type { Say } from "../../../commands/texts.ts";

const colours = { empty: 0x248046, waiting: 0x5865f2, late: 0xda373c } as const;
const longest = 4000;

/** The board of a queue: what waits, by kind and state. */
export function queueBoard({ counts, oldest, overdue }: ShownQueue, say: Say): CardMessage {
  const total = counts.reduce((sum, { count }) => sum + count, 0);
  const types = [...new Set(counts.map(({ type }) => type))].toSorted();
  const lines = types.map((type) => {
    const states = counts.filter((one) => one.type === type).toSorted((a, b) => a.status.localeCompare(b.status));
    return `**${say(`= ${type}`)}** · ${states.map(({ status, count }) => `${say(`= ${status}`)}: ${count.toString()}`).join(" · ")}`;
  });
  const ends = [
    ...(oldest === null ? [] : [say("board oldest", { reference: escapeText(oldest.reference), since: momentOf(oldest.at, "R") })]),
    ...(overdue === 0 ? [] : [say("board overdue", { count: overdue })]),
  ];
  const description = cut(total === 0 ? say("board empty") : [...lines, "", ...ends].join("\n"), longest);
  const color = total === 0 ? colours.empty : overdue > 0 ? colours.late : colours.waiting;
  return { embeds: [{ title: say("board title", { total }), description, color }], components: [] };
}
