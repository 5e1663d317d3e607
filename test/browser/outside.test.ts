// @module-tag sqlite
// @module-tag slow
import type { BrowserContextOptions } from "playwright-core";
import { describe, expect, test } from "vitest";
import { axeFindings, flawsInBothSchemes, heading, lacksChromium, useChromium, type Visitor } from "./chromium.ts";
import { useCommunity } from "./community.ts";

const chromium = useChromium();
const phone = { viewport: { width: 375, height: 812 } };
const desk = { viewport: { width: 1280, height: 800 } };

/** What axe has against Scalar's form for trying out a request. Its settings and styles change none of it; nothing on the page itself is in this list. */
const knownOfScalar = [
  // Buttons of menus are given the role of a table.
  "aria-allowed-role",
  "aria-prohibited-attr",
  "presentation-role-conflict",
  // Its fields are editable elements, and the answer a read-only editor.
  "aria-input-field-name",
  "aria-required-attr",
  // A folded part is not in the page.
  "aria-valid-attr-value",
  // The form lies over the page, which stays there.
  "landmark-no-duplicate-main",
  "landmark-unique",
];

describe.skipIf(lacksChromium)("what a stranger sees of an installation", () => {
  const community = useCommunity({ OPERATOR_NAME: "Harbour Crew", CONTACT_URL: "https://harbour.example/contact" });

  /** A visitor, and the origins that their browser asked. */
  async function stranger(options: BrowserContextOptions): Promise<Visitor & { origins: Set<string> }> {
    const visitor = await chromium.visitor({ reducedMotion: "reduce", ...options });
    const origins = new Set<string>();
    visitor.context.on("request", (request) => origins.add(new URL(request.url()).origin));
    return { ...visitor, origins };
  }

  /** The documentation, at one of its parts. */
  async function openDocs(part: string, options: BrowserContextOptions) {
    const visitor = await stranger(options);
    await visitor.page.goto(`${community.origin}/docs${part}`);
    await visitor.page.getByRole("heading", { level: 1, name: "Provost" }).waitFor({ state: "attached" });
    return visitor;
  }

  test.each([
    ["phone, light", { ...phone, colorScheme: "light" }],
    ["phone, dark", { ...phone, colorScheme: "dark" }],
    ["desk, light", { ...desk, colorScheme: "light" }],
    ["desk, dark", { ...desk, colorScheme: "dark" }],
  ] as const)(
    "the documentation names the operations, has nothing for axe and asks nobody but this service (%s)",
    async (_name, screen) => {
      const visitor = await openDocs("#tag/blacklist", screen);
      const { page } = visitor;
      expect([await page.title(), await page.getAttribute("html", "lang")]).toEqual(["Provost API", "en"]);
      const check = page.locator('a[href="#tag/blacklist/POST/blacklist/check"]').filter({ visible: true }).last();
      await check.waitFor();
      expect((await check.innerText()).replaceAll(/\s+/g, " ")).toContain("POST /blacklist/check");
      expect(await page.evaluate("document.documentElement.scrollWidth - innerWidth")).toBe(0);
      // While the page appears its texts are paler than they stay.
      await expect.poll(() => axeFindings(visitor), { timeout: 20_000 }).toEqual([]);
      const dark = await page.evaluate('document.body.classList.contains("dark-mode")');
      expect(dark).toBe(screen.colorScheme === "dark");
      expect([[...visitor.origins], visitor.problems]).toEqual([[community.origin], []]);
    },
  );

  test("a request tried out in the documentation goes to this service alone, and no button or link leads to a service of Scalar's but its name", async () => {
    const visitor = await openDocs("#tag/health", desk);
    const { page } = visitor;
    const links = page.locator('a[href*="://"]');
    const led = await links.evaluateAll((all: { getAttribute(name: string): string | null }[]) =>
      all.map((one) => one.getAttribute("href")),
    );
    expect(led.map((address) => new URL(address ?? "").host).toSorted()).toEqual(["harbour.example", "opensource.org", "scalar.com"]);
    expect(await page.getByText(/Ask AI|Generate MCP|Generate SDK|Open API Client|Deploy/).count()).toBe(0);
    await page.getByRole("button", { name: /Test Request.*livez/ }).click();
    await page.getByRole("button", { name: /^Send/ }).first().click();
    await page.getByText("200 OK").first().waitFor();
    // While the form appears its texts are paler than they stay.
    const rules = async () => [...new Set((await axeFindings(visitor)).map((finding) => finding.replace(/: .*/, "")))].toSorted();
    await expect.poll(rules, { timeout: 20_000 }).toEqual(knownOfScalar.toSorted());
    expect([[...visitor.origins], visitor.problems]).toEqual([[community.origin], []]);
  });

  test("an API key typed into the documentation is kept nowhere", async () => {
    const { page } = await openDocs("", desk);
    const field = page.getByPlaceholder("Token").first();
    await field.click();
    await page.keyboard.type("prv_live_typed");
    await expect.poll(() => page.content()).toContain("prv_live_typed");
    const kept =
      "indexedDB.databases().then((databases) => [databases.length, localStorage.length, sessionStorage.length, document.cookie])";
    expect(await page.evaluate(kept)).toEqual([0, 0, 0, ""]);
    await page.reload();
    await field.waitFor();
    expect(await page.content()).not.toContain("prv_live_typed");
  });

  test.each([
    ["en-GB", "Without it, read the OpenAPI document."],
    ["de-DE", "Lies ohne es das OpenAPI-Dokument."],
  ])("who runs no scripts is told so, and led to the document (%s)", async (locale, sentence) => {
    const { page } = await stranger({ javaScriptEnabled: false, locale });
    await page.goto(`${community.origin}/docs`);
    expect(await page.locator("body").innerText()).toContain(sentence);
    expect(await page.locator("noscript a").getAttribute("href")).toBe("/openapi.json");
  });

  const words = {
    "en-GB": {
      runBy: "Harbour Crew runs this service.",
      docs: "The API documentation",
      lost: "There is no such page",
      home: "To the start page",
    },
    "de-DE": {
      runBy: "Harbour Crew betreibt diesen Dienst.",
      docs: "Die API-Dokumentation",
      lost: "Diese Seite gibt es nicht",
      home: "Zur Startseite",
    },
  } as const;

  describe.each(Object.entries(words))("in %s", (locale, { runBy, docs, lost, home }) => {
    test.each([
      ["phone", phone],
      ["desk", desk],
    ])("the bare address says who runs it and leads to the documentation; an unknown one leads home (%s)", async (_name, screen) => {
      const visitor = await stranger({ ...screen, locale });
      const { page } = visitor;
      const clean = async (): Promise<void> => {
        expect(await flawsInBothSchemes(visitor)).toEqual({ light: [], dark: [] });
        expect(await axeFindings(visitor)).toEqual([]);
        expect(await page.locator("footer").innerText()).toContain(runBy);
        expect(await page.getAttribute("html", "lang")).toBe(locale.slice(0, 2));
      };
      const nowhere = await page.goto(`${community.origin}/no/such/place`);
      expect([nowhere?.status(), await heading(visitor)]).toEqual([404, lost]);
      await clean();
      await page.getByRole("link", { name: home }).click();
      expect([page.url(), await heading(visitor)]).toEqual([`${community.origin}/`, "Provost"]);
      await clean();
      await page.getByRole("link", { name: docs }).click();
      expect(page.url()).toBe(`${community.origin}/docs`);
      expect([[...visitor.origins], visitor.problems]).toEqual([[community.origin], []]);
    });
  });
});
