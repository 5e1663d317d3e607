import { createCookieJar } from "./cookies.ts";
import { parseForms, type Form } from "./forms.ts";
import { sendRequest, type HttpAnswer } from "./http-request.ts";
import type { User } from "./model.ts";

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

const mostHops = 20;
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
    if (hops.length >= mostHops) throw new Error(`more than ${mostHops} steps from ${url}`);
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
