import type { User } from "./model.ts";
import { request, type IncomingHttpHeaders } from "node:http";

export type BrowseOptions = {
  approve: boolean;
  /** The text of the agreeing button on the first page; otherwise it is guessed. */
  press?: string;
  /** Where `approve: false` is said; default at Discord. */
  at?: "backend" | "discord";
  /** The server the bot is invited to, when that is asked for. */
  guild?: { id: string };
  /** Cookies to start with, by name, sent to the first page's host. */
  cookies?: Record<string, string>;
};

export type Hop = { method: string; url: string; status: number };

export type BrowseResult = {
  redirectedTo: string;
  status: number;
  body: string;
  cookies: Record<string, string>;
  hops: Hop[];
};

const maxHops = 20;
const declining = /declin|cancel|den(y|ied)|refus|reject|\bno\b|not now/i;

/**
 * Walks a consent flow as a user with a browser would, without script: the first page's agreeing (or declining) form, the sandbox's own form,
 * and every redirect, until a page with nothing left to press.
 */
export async function browse(url: string, options: BrowseOptions & { origin: string; user: User }): Promise<BrowseResult> {
  const jar = createCookieJar(new URL(url), options.cookies ?? {});
  const hops: Hop[] = [];
  let pressedBackend = false;
  let pressedDiscord = false;
  let request: { method: "GET" | "POST"; url: URL; body?: string; from: URL | null } = {
    method: "GET",
    url: new URL(url),
    from: null,
  };
  for (;;) {
    if (hops.length >= maxHops) throw new Error(`more than ${maxHops} steps from ${url}`);
    const answer = await visit(request, jar);
    hops.push({ method: request.method, url: request.url.href, status: answer.status });
    const location = answer.headers["location"];
    if (answer.status >= 300 && answer.status < 400 && location !== undefined) {
      const keep = answer.status === 307 || answer.status === 308;
      request = { ...(keep ? request : { method: "GET" }), url: new URL(location, request.url), from: request.url };
      continue;
    }
    const here = request.url;
    const isDiscord = here.origin === options.origin && here.pathname.endsWith("/oauth2/authorize");
    const filled = pick(answer, options, { isDiscord, pressedBackend, pressedDiscord });
    if (!filled) return { redirectedTo: here.href, status: answer.status, body: answer.body, cookies: jar.all(), hops };
    pressedDiscord ||= isDiscord;
    pressedBackend ||= !isDiscord;
    request = submission(filled, here);
  }
}

type Request = { method: "GET" | "POST"; url: URL; body?: string; from: URL | null };

async function visit({ method, url, body, from }: Request, jar: ReturnType<typeof createCookieJar>) {
  const site = from === null ? "none" : from.origin === url.origin ? "same-origin" : "cross-site";
  const cookie = jar.header(url, site === "cross-site");
  const answer = await sendRequest(method, url, {
    body,
    headers: {
      Accept: "text/html,application/xhtml+xml",
      "Sec-Fetch-Site": site,
      "Sec-Fetch-Mode": "navigate",
      "Sec-Fetch-Dest": "document",
      "Sec-Fetch-User": "?1",
      ...(cookie !== "" && { Cookie: cookie }),
      ...(body !== undefined && {
        "Content-Type": "application/x-www-form-urlencoded",
        Origin: from?.origin ?? "null",
      }),
    },
  });
  jar.store(url, answer.setCookies);
  return answer;
}

type Filled = { form: Form; fields: [string, string][] };

/** The form to send from this page, or none when the walk ends here. */
function pick(
  answer: HttpAnswer,
  options: BrowseOptions & { user: User },
  seen: { isDiscord: boolean; pressedBackend: boolean; pressedDiscord: boolean },
): Filled | undefined {
  const forms = parseForms(answer.body);
  if (seen.isDiscord) {
    const [form] = forms;
    if (!form || seen.pressedDiscord) return undefined;
    const agrees = options.approve || options.at === "backend";
    const own: [string, string][] = [
      ["user_id", options.user.id],
      ["decision", agrees ? "authorize" : "cancel"],
    ];
    if (options.guild) own.push(["guild_id", options.guild.id]);
    return { form, fields: [...form.fields, ...own] };
  }
  if (seen.pressedBackend || seen.pressedDiscord) return undefined;
  const declines = !options.approve && options.at === "backend";
  for (const form of forms)
    for (const button of form.buttons) {
      const fits = declines
        ? declining.test(button.text)
        : options.press === undefined
          ? !declining.test(button.text)
          : button.text === options.press;
      if (!fits) continue;
      const pressed: [string, string][] = button.name === null ? [] : [[button.name, button.value]];
      return { form, fields: [...form.fields, ...pressed] };
    }
  if (options.press !== undefined && forms.length > 0) throw new Error(`the page has no button ${options.press}`);
  return undefined;
}

function submission({ form, fields }: Filled, here: URL): Request {
  const url = new URL(form.action ?? here.href, here);
  const body = new URLSearchParams(fields).toString();
  if (form.method === "POST") return { method: "POST", url, body, from: here };
  url.search = body;
  return { method: "GET", url, from: here };
}

type Cookie = { name: string; value: string; host: string; path: string; isStrict: boolean };

/** Cookies by host and path, as a browser keeps them; expiry counts only where it deletes. */
export function createCookieJar(start: URL, given: Record<string, string>) {
  const cookies = new Map<string, Cookie>();
  const put = (cookie: Cookie) => cookies.set(`${cookie.host} ${cookie.path} ${cookie.name}`, cookie);
  for (const [name, value] of Object.entries(given)) put({ name, value, host: start.hostname, path: "/", isStrict: false });

  return {
    store(url: URL, headers: readonly string[]): void {
      for (const header of headers) {
        const [pair = "", ...parts] = header.split(";").map((part) => part.trim());
        const at = pair.indexOf("=");
        const rules = new Map(
          parts.map((part): [string, string] => {
            const [key = "", value = ""] = part.split("=");
            return [key.toLowerCase(), value];
          }),
        );
        const path = rules.get("path") || "/";
        const cookie = {
          name: pair.slice(0, at),
          value: pair.slice(at + 1),
          host: url.hostname,
          path,
          isStrict: rules.get("samesite")?.toLowerCase() === "strict",
        };
        if (cookie.name.startsWith("__Host-") && !(rules.has("secure") && path === "/" && !rules.has("domain"))) continue;
        const age = rules.get("max-age");
        const expires = rules.get("expires");
        const over = age !== undefined ? Number(age) <= 0 : expires !== undefined && Date.parse(expires) <= Date.now();
        if (over) cookies.delete(`${cookie.host} ${path} ${cookie.name}`);
        else put(cookie);
      }
    },
    /** @param isCrossSite whether another site sent the browser here, where SameSite=Strict stays at home */
    header: (url: URL, isCrossSite: boolean) =>
      [...cookies.values()]
        .filter(({ host, path, isStrict }) => host === url.hostname && covers(path, url.pathname) && !(isStrict && isCrossSite))
        .map(({ name, value }) => `${name}=${value}`)
        .join("; "),
    all: () => Object.fromEntries([...cookies.values()].map(({ name, value }) => [name, value])),
  };
}

const covers = (path: string, wanted: string) => wanted === path || wanted.startsWith(path.endsWith("/") ? path : `${path}/`);

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

export type HttpAnswer = { status: number; headers: IncomingHttpHeaders; setCookies: string[]; body: string };

const patienceMs = 60_000;

/** One plain HTTP request with exactly these headers; `fetch` would set some of a browser's own. */
export function sendRequest(
  method: string,
  url: URL,
  { headers, body }: { headers: Record<string, string>; body?: string | undefined },
): Promise<HttpAnswer> {
  return new Promise((resolve, reject) => {
    const length = body === undefined ? {} : { "Content-Length": Buffer.byteLength(body).toString() };
    const signal = AbortSignal.timeout(patienceMs);
    const sent = request(url, { method, headers: { ...headers, ...length }, signal, agent: false }, (response) => {
      const parts: Buffer[] = [];
      response.on("data", (part: Buffer) => parts.push(part));
      response.on("error", reject);
      response.on("end", () =>
        resolve({
          status: response.statusCode ?? 0,
          headers: response.headers,
          setCookies: response.headers["set-cookie"] ?? [],
          body: Buffer.concat(parts).toString(),
        }),
      );
    });
    sent.on("error", reject);
    sent.end(body);
  });
}
