/** A form of an HTML page: enough of one for pages that work without script. */
export type Form = {
  method: "GET" | "POST";
  action: string | null;
  fields: [string, string][];
  buttons: { text: string; name: string | null; value: string }[];
};

const entities: Record<string, string> = { amp: "&", lt: "<", gt: ">", quot: '"', apos: "'", nbsp: " " };

const decode = (text: string) =>
  text.replace(/&(?:#(\d+)|#x([\da-f]+)|(\w+));/gi, (whole, decimal?: string, hex?: string, name?: string) => {
    if (decimal !== undefined) return String.fromCodePoint(Number(decimal));
    if (hex !== undefined) return String.fromCodePoint(Number.parseInt(hex, 16));
    return entities[name?.toLowerCase() ?? ""] ?? whole;
  });

/** Attributes of one tag; one without a value has the empty string. */
function attributes(tag: string): Map<string, string> {
  const found = new Map<string, string>();
  for (const [, name, quoted, single, bare] of tag.matchAll(/([\w:-]+)(?:\s*=\s*(?:"([^"]*)"|'([^']*)'|([^\s"'>]+)))?/g))
    found.set((name as string).toLowerCase(), decode(quoted ?? single ?? bare ?? ""));
  return found;
}

const plainText = (html: string) =>
  decode(html.replace(/<[^>]*>/g, " "))
    .replace(/\s+/g, " ")
    .trim();

/** The forms of a page, in order. */
export function parseForms(html: string): Form[] {
  const forms: Form[] = [];
  for (const [, head = "", inner = ""] of html.matchAll(/<form\b([^>]*)>([\s\S]*?)<\/form>/gi)) {
    const own = attributes(head);
    const form: Form = {
      method: own.get("method")?.toUpperCase() === "POST" ? "POST" : "GET",
      action: own.get("action") || null,
      fields: [],
      buttons: [],
    };
    for (const [, tag = ""] of inner.matchAll(/<input\b([^>]*)>/gi)) readInput(form, attributes(tag));
    for (const [, tag = "", text = ""] of inner.matchAll(/<button\b([^>]*)>([\s\S]*?)<\/button>/gi)) {
      const known = attributes(tag);
      if ((known.get("type") ?? "submit") === "submit")
        form.buttons.push({ text: plainText(text), name: known.get("name") ?? null, value: known.get("value") ?? "" });
    }
    forms.push(form);
  }
  return forms;
}

function readInput(form: Form, known: Map<string, string>): void {
  const name = known.get("name") ?? null;
  const value = known.get("value") ?? "";
  const type = known.get("type") ?? "text";
  if (type === "submit") form.buttons.push({ text: value, name, value });
  else if (name === null) return;
  else if (type === "checkbox" || type === "radio") {
    if (known.has("checked")) form.fields.push([name, known.get("value") ?? "on"]);
  } else form.fields.push([name, value]);
}
