import type { Child } from "hono/jsx";
import type { World } from "../model.ts";

const marks =
  /\*\*([^*]+)\*\*|```(?:\w+\n)?([\s\S]+?)```|`([^`]+)`|<t:(\d+)(?::[tTdDfFR])?>|<(@[!&]?|#)(\d+)>|\\([!-/:-@[-`{-~])|^-# (.+)$|\[([^\]]+)\]\((https?:\/\/[^\s)]+)\)/gm;

/** A text of Discord with bold, code, times, escaped signs, small print, links and, in a world, names for mentions; everything else stays as it was typed. */
export function Text({ text, world }: { text: string; world?: World | undefined }) {
  const parts: Child[] = [];
  let at = 0;
  for (const match of text.matchAll(marks)) {
    const [whole, bold, block, code, seconds, kind, id = "", sign, small, words, url] = match;
    parts.push(text.slice(at, match.index));
    if (bold !== undefined) parts.push(<strong>{<Text text={bold} world={world} />}</strong>);
    else if (block !== undefined) parts.push(<pre tabindex={0}>{block}</pre>);
    else if (code !== undefined) parts.push(<code>{code}</code>);
    else if (seconds !== undefined) parts.push(timeOf(Number(seconds)));
    else if (kind !== undefined) parts.push(nameOf(world, kind, id) ?? whole);
    else if (small !== undefined) parts.push(<span class="small">{<Text text={small} world={world} />}</span>);
    else if (words !== undefined) parts.push(<a href={url}>{<Text text={words} world={world} />}</a>);
    else parts.push(sign ?? whole);
    at = match.index + whole.length;
  }
  parts.push(text.slice(at));
  return <>{parts}</>;
}

/** Who or what a mention names; undefined for what this world does not have. */
function nameOf(world: World | undefined, kind: string, id: string): string | undefined {
  if (kind === "#") return named("#", world?.channels.get(id)?.name);
  if (kind === "@&") return named("@", [...(world?.guilds.values() ?? [])].map(({ roles }) => roles.get(id)?.name).find(Boolean));
  return named("@", world?.users.get(id)?.username);
}

const named = (sign: string, name: string | undefined): string | undefined => (name === undefined ? undefined : `${sign}${name}`);

function timeOf(seconds: number) {
  const time = new Date(seconds * 1000);
  if (Number.isNaN(time.getTime())) return `<t:${seconds}>`;
  return <time datetime={time.toISOString()}>{time.toISOString().slice(0, 16).replace("T", " ")} UTC</time>;
}
