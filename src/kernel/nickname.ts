/** As long as Discord lets a nickname be. */
const maxLength = 32;
/** What a callsign looks like in a name: without spaces and bars, and with a digit. Words of a name are none. */
const anyCallsign = String.raw`[^\s|]*\d[^\s|]*`;

/**
 * The nickname a template asks for: `{callsign} | {name}` with N-7 and Ann is `N-7 | Ann`. The name is what somebody is called
 * now without what the template has added earlier, with whatever callsign; where it is too long, the name is cut. Who is called
 * so already keeps the name as it stands.
 */
export function nicknameFor(template: string, callsign: string, called: string): string {
  const [before, after, hasName] = around(template);
  const written = (text: string): string => text.replaceAll("{callsign}", callsign);
  if (!hasName) return cut(written(template), maxLength);
  const room = Math.max(0, maxLength - written(before).length - written(after).length);
  return cut(`${written(before)}${cut(ownName(template, callsign, called), room)}${written(after)}`.trim(), maxLength);
}

/** What somebody is called without what a template adds. */
export function ownName(template: string, callsign: string, called: string): string {
  const [before, after] = around(template);
  const exact = [before, after].map((text) => escaped(text.replaceAll("{callsign}", callsign))) as [string, string];
  return inside(exact[0], exact[1], called) ?? inside(pattern(before), pattern(after), called) ?? called.trim();
}

function inside(before: string, after: string, called: string): string | undefined {
  const name = new RegExp(`^${before}(.+)${after}$`, "su").exec(called)?.[1]?.trim();
  return name === "" ? undefined : name;
}

/** What stands before and after the name, and whether it stands there at all. */
function around(template: string): [string, string, boolean] {
  const at = template.indexOf("{name}");
  return at < 0 ? [template, "", false] : [template.slice(0, at), template.slice(at + "{name}".length), true];
}

/** Text that the template adds, with any callsign. */
function pattern(text: string): string {
  return text.split("{callsign}").map(escaped).join(anyCallsign);
}

function escaped(text: string): string {
  return text.replaceAll(/[\\^$.*+?()[\]{}|/]/g, String.raw`\$&`);
}

/** Never through a character. */
function cut(text: string, most: number): string {
  let kept = "";
  for (const character of text) {
    if (kept.length + character.length > most) break;
    kept += character;
  }
  return kept.length < text.length ? kept.trimEnd() : kept;
}
