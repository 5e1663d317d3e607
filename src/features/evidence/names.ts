const longest = 255;
/** What a file may not be called: parts of paths, controls, and marks that turn the direction of a text around. */
const unwanted = /[\p{Cc}\p{Cf}\p{Zl}\p{Zp}\p{Surrogate}"*:<>?|]/gu;

/** A name a client gave a file, fit to be shown and saved: the last part of a path, without what deceives, at most 255 characters. */
export function cleanName(given: string): string {
  const [last = ""] = given.split(/[/\\]/).toReversed();
  const clean = last
    .replace(unwanted, "")
    .trim()
    .replace(/^\.+/, "")
    .replace(/[. ]+$/, "")
    .trim();
  return shorten(clean) || "file";
}

/** The end of a name says what it is: it stays. */
function shorten(name: string): string {
  const characters = Array.from(name);
  if (characters.length <= longest) return name;
  const dot = characters.lastIndexOf(".");
  const ending = dot > 0 && characters.length - dot <= 12 ? characters.slice(dot) : [];
  return [...characters.slice(0, longest - ending.length), ...ending].join("");
}

/** `Content-Disposition` of a download: a name every client reads, and the real one (RFC 6266, RFC 8187). */
export function attachmentHeader(name: string): string {
  const plain = name.replace(/[^\x20-\x7e]|["\\%]/g, "_");
  const encoded = encodeURIComponent(name).replace(/['()*]/g, (one) => `%${one.charCodeAt(0).toString(16).toUpperCase()}`);
  return `attachment; filename="${plain}"; filename*=UTF-8''${encoded}`;
}
