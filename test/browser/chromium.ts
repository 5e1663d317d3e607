import axe from "axe-core";
import { chromium, type Browser, type BrowserContext, type BrowserContextOptions, type ConsoleMessage, type Page } from "playwright-core";
import { beforeAll, expect, onTestFinished } from "vitest";
import { chromiumArguments, chromiumPath } from "./executable.ts";

if (chromiumPath === undefined)
  process.stderr.write(
    "Browser tests are skipped: no Chromium found. Install Debian's (apt-get install chromium) or name one in CHROMIUM_PATH.\n",
  );

/** Whether tests in a real browser have to be skipped. */
export const lacksChromium = chromiumPath === undefined;

/** One person's browser: own cookies, one tab, and a note of everything that went wrong in it. */
export interface Visitor {
  context: BrowserContext;
  page: Page;
  /** Errors in the console, errors of scripts, and what the content security policy stopped. */
  problems: string[];
}

/** One Chromium for all files of a worker, which share their modules; Playwright ends it with the worker. */
let launched: Promise<Browser> | undefined;

/** What a page may do does not depend on how many processes show the sites, nor on who draws them. */
const fewProcesses = ["--disable-site-isolation-trials", "--renderer-process-limit=1", "--disable-gpu", "--in-process-gpu"];

function launch(): Promise<Browser> {
  launched ??= chromium.launch({ executablePath: chromiumPath ?? "", args: [...chromiumArguments, ...fewProcesses] });
  return launched;
}

/** A browser for the tests of a file. Each visitor of it starts without cookies, and goes with their test. */
export function useChromium(): { visitor(options?: BrowserContextOptions): Promise<Visitor> } {
  // Outside the time that a test has.
  beforeAll(async () => void (chromiumPath !== undefined && (await launch())));
  return {
    async visitor(options = {}) {
      const browser = await launch();
      const context = await browser.newContext({ locale: "en-GB", ...options });
      onTestFinished(() => context.close());
      const problems: string[] = [];
      await context.exposeFunction("noteViolation", (text: string) => problems.push(`stopped by the policy: ${text}`));
      await context.addInitScript(
        'addEventListener("securitypolicyviolation", (e) => window.noteViolation(`${e.violatedDirective} ${e.blockedURI}`));',
      );
      const page = await context.newPage();
      page.on("console", (message) => noteError(message, page, problems));
      page.on("pageerror", (error) => problems.push(`script: ${error.message}`));
      return { context, page, problems };
    },
  };
}

/** The status of the page itself is an answer and no error, and neither is the icon that browsers ask any site for. */
function noteError(message: ConsoleMessage, page: Page, problems: string[]): void {
  if (message.type() !== "error") return;
  const { url } = message.location();
  const isHarmless = message.text().startsWith("Failed to load resource") && (url === page.url() || url.endsWith("/favicon.ico"));
  if (!isHarmless) problems.push(`console: ${message.text()} (${url})`);
}

/** What the visitor's page says in its heading. */
export const heading = ({ page }: Visitor): Promise<string> => page.locator("h1").innerText();

/** Press a button and wait for the page it leads to. */
export async function press({ page }: Visitor, name: string): Promise<void> {
  await Promise.all([page.waitForEvent("load"), page.getByRole("button", { name, exact: true }).click()]);
}

/** What is wrong with the page now for people with a small screen, weak sight or no mouse. */
export async function flawsOf(visitor: Visitor): Promise<string[]> {
  const flaws = await visitor.page.evaluate(flawScript);
  expect(Array.isArray(flaws)).toBe(true);
  return flaws as string[];
}

/** The same in the light and in the dark: what changes is the style alone, so the page is not loaded again. */
export async function flawsInBothSchemes(visitor: Visitor): Promise<Record<"light" | "dark", string[]>> {
  await visitor.page.emulateMedia({ colorScheme: "light" });
  const light = await flawsOf(visitor);
  await visitor.page.emulateMedia({ colorScheme: "dark" });
  return { light, dark: await flawsOf(visitor) };
}

/** What axe finds on the page now, as "rule: place". */
export async function axeFindings({ page }: Visitor): Promise<string[]> {
  await page.evaluate(axe.source);
  const found = await page.evaluate(
    'axe.run(document, { runOnly: ["wcag2a", "wcag2aa", "wcag21a", "wcag21aa", "wcag22aa", "best-practice"] }).then(({ violations }) => violations.flatMap(({ id, nodes }) => nodes.map(({ target }) => id + ": " + target.join(" "))))',
  );
  expect(Array.isArray(found)).toBe(true);
  return found as string[];
}

/** Runs in the page; text, because the tests' own types know no page. */
const flawScript = `(() => {
  const flaws = [];
  const parse = (text) => { const [r, g, b, a = 1] = text.match(/[\\d.]+/g).map(Number); return { r, g, b, a }; };
  const light = ({ r, g, b }) => { const part = (c) => (c /= 255) <= 0.03928 ? c / 12.92 : ((c + 0.055) / 1.055) ** 2.4; return 0.2126 * part(r) + 0.7152 * part(g) + 0.0722 * part(b); };
  const contrast = (one, two) => { const [x, y] = [light(one), light(two)].sort((a, b) => b - a); return (x + 0.05) / (y + 0.05); };
  const behind = (element) => { for (let at = element; at; at = at.parentElement) { const color = parse(getComputedStyle(at).backgroundColor); if (color.a === 1) return color; } return null; };
  const say = (element) => element.tagName.toLowerCase() + " '" + element.textContent.trim().slice(0, 30) + "'";
  if (!["en", "de"].includes(document.documentElement.lang)) flaws.push("no language");
  if (document.querySelectorAll("h1").length !== 1) flaws.push("not one h1");
  if (document.querySelectorAll("script, [style], [onclick]").length > 0) flaws.push("script or inline style");
  if (document.title.trim() === "") flaws.push("no title");
  if (document.documentElement.scrollWidth > innerWidth) flaws.push("scrolls sideways: " + document.documentElement.scrollWidth + " of " + innerWidth);
  for (const element of document.body.querySelectorAll("*")) {
    const isText = [...element.childNodes].some((node) => node.nodeType === 3 && node.textContent.trim() !== "");
    if (isText && element.checkVisibility()) {
      const back = behind(element);
      const ratio = back === null ? 0 : contrast(parse(getComputedStyle(element).color), back);
      if (ratio < 4.5) flaws.push("contrast " + ratio.toFixed(2) + " of " + say(element));
    }
  }
  for (const element of document.querySelectorAll("button, summary, a.button, label")) {
    const { height, width } = element.getBoundingClientRect();
    if (element.checkVisibility() && (height < 44 || width < 44)) flaws.push("small target " + width + "x" + height + ": " + say(element));
  }
  for (const element of document.querySelectorAll("input:not([type=hidden]), textarea")) if (element.labels.length === 0) flaws.push("a field without label");
  for (const element of document.querySelectorAll("button, a")) if (element.textContent.trim() === "") flaws.push("a control without words");
  return flaws;
})()`;
