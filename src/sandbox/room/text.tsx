import type { Child } from "hono/jsx";

const marks = /\*\*([^*]+)\*\*|```(?:\w+\n)?([\s\S]+?)```|`([^`]+)`|<t:(\d+)(?::[tTdDfFR])?>/g;

/** A text of Discord with bold, code and times; everything else stays as it was typed. */
export function Text({ text }: { text: string }) {
  const parts: Child[] = [];
  let at = 0;
  for (const match of text.matchAll(marks)) {
    const [whole, bold, block, code, seconds] = match;
    parts.push(text.slice(at, match.index));
    if (bold !== undefined) parts.push(<strong>{bold}</strong>);
    else if (block !== undefined) parts.push(<pre tabindex={0}>{block}</pre>);
    else if (code !== undefined) parts.push(<code>{code}</code>);
    else parts.push(timeOf(Number(seconds)));
    at = match.index + whole.length;
  }
  parts.push(text.slice(at));
  return <>{parts}</>;
}

function timeOf(seconds: number) {
  const time = new Date(seconds * 1000);
  if (Number.isNaN(time.getTime())) return `<t:${seconds}>`;
  return <time datetime={time.toISOString()}>{time.toISOString().slice(0, 16).replace("T", " ")} UTC</time>;
}
