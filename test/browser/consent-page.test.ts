// @module-tag sqlite
// @module-tag slow
import { describe, expect, test } from "vitest";
import { axeFindings, flawsOf, heading, lacksChromium, press, useChromium } from "./chromium.ts";
import { answerAtDiscord, useCommunity } from "./community.ts";

const chromium = useChromium();

const words = {
  en: { agree: "Agree and continue to Discord", decline: "Decline", details: "More: what is kept, how long, and how to take it back" },
  de: {
    agree: "Zustimmen und weiter zu Discord",
    decline: "Ablehnen",
    details: "Mehr: was aufbewahrt wird, wie lange, und wie du es zurücknimmst",
  },
} as const;
const languages = ["en", "de"] as const;

/** 200 % zoom shows half as many pixels of the page on the same screen. */
const screens = {
  "375 px": { viewport: { width: 375, height: 812 } },
  "320 px": { viewport: { width: 320, height: 568 } },
  "375 px at 200 %": { viewport: { width: 188, height: 406 }, deviceScaleFactor: 2 },
} as const;

describe.skipIf(lacksChromium)("the consent page on a phone", () => {
  const community = useCommunity({ OPERATOR_NAME: "Harbour Crew", CONTACT_URL: "https://harbour.example/contact" });

  /** The longest there is: every scope, a reference, and a name as long as Discord allows. */
  async function longest(): Promise<string> {
    const person = community.world.member("a_name_as_long_as_discord_allows");
    const scopes = ["identify", "guilds", "guilds.members.read"];
    return community.session(person, { scopes, purpose: "investigation", detail: "listed", request_reference: "INV-REQ-000012" });
  }

  describe.each(languages)("in %s", (language) => {
    test.each(Object.entries(screens))(
      "has no flaw and nothing for axe, folded and unfolded, light and dark, at %s",
      async (_name, screen) => {
        const visitor = await chromium.visitor(screen);
        await visitor.page.goto(`${await longest()}?locale=${language}`);
        expect(await visitor.page.getAttribute("html", "lang")).toBe(language);
        for (const isOpen of [false, true]) {
          if (isOpen) await visitor.page.getByText(words[language].details).click();
          for (const colorScheme of ["light", "dark"] as const) {
            await visitor.page.emulateMedia({ colorScheme });
            expect([isOpen, colorScheme, await flawsOf(visitor), await axeFindings(visitor)]).toEqual([isOpen, colorScheme, [], []]);
          }
        }
        expect(visitor.problems).toEqual([]);
      },
    );

    test("shows both answers within the first 900 pixels at 375 px, above the details", async () => {
      const visitor = await chromium.visitor(screens["375 px"]);
      await visitor.page.goto(`${await longest()}?locale=${language}`);
      const bottomOf = async (name: string): Promise<number> => {
        const box = await visitor.page.getByRole("button", { name, exact: true }).boundingBox();
        return box === null ? Infinity : box.y + box.height;
      };
      const bottoms = [await bottomOf(words[language].agree), await bottomOf(words[language].decline)];
      expect(bottoms.filter((bottom) => bottom > 900)).toEqual([]);
      const details = await visitor.page.locator("details").boundingBox();
      expect(details?.y).toBeGreaterThan(Math.max(...bottoms));
      expect(await visitor.page.locator("details section").first().isVisible()).toBe(false);
    });

    test("needs neither script nor mouse", async () => {
      const visitor = await chromium.visitor({ ...screens["320 px"], javaScriptEnabled: false });
      const person = community.world.member(`keys-${language}`);
      await visitor.page.goto(await community.session(person, { locale: language }));
      const keys = async (...pressed: string[]): Promise<void> => {
        for (const key of pressed) await visitor.page.keyboard.press(key);
      };
      await keys("Tab", "Tab", "Tab", "Enter");
      expect(await visitor.page.locator("details section").first().isVisible()).toBe(true);
      await keys("Shift+Tab", "Shift+Tab", "Enter");
      await visitor.page.waitForURL(/oauth2\/authorize/);
      await answerAtDiscord(visitor, person);
      expect(await heading(visitor)).toBe({ en: "Thank you", de: "Danke" }[language]);
      await visitor.page.goto(await community.session(person, { locale: language }));
      await press(visitor, words[language].decline);
      expect(await heading(visitor)).toBe({ en: "You declined", de: "Du hast abgelehnt" }[language]);
    });
  });

  test.each(languages)("every other page has nothing for axe at 320 px either, in %s", async (language) => {
    const visitor = await chromium.visitor(screens["320 px"]);
    const person = community.world.member(`reader-${language}`);
    await visitor.page.goto(`${community.origin}/privacy?locale=${language}`);
    await visitor.page.locator("button").click();
    await answerAtDiscord(visitor, person);
    expect(await visitor.page.getAttribute("html", "lang")).toBe(language);
    const paths = ["/privacy", "/", "/nowhere", "/problems/rate_limited", "/authorize/result/done/site", "/authorize/result/expired"];
    for (const path of [...paths, "/privacy/result/not-ticked"]) {
      await visitor.page.goto(`${community.origin}${path}?locale=${language}`);
      expect([path, await flawsOf(visitor), await axeFindings(visitor)]).toEqual([path, [], []]);
    }
    expect(visitor.problems).toEqual([]);
  });

  test("the browser's own language is that of the page", async () => {
    const visitor = await chromium.visitor({ locale: "de-AT" });
    await visitor.page.goto(await longest());
    expect(await heading(visitor)).toBe("Deine Discord-Angaben teilen?");
    await visitor.page.getByRole("link", { name: "English" }).click();
    expect(await heading(visitor)).toBe("Share your Discord information?");
    await press(visitor, words.en.decline);
    expect(await heading(visitor)).toBe("You declined");
  });
});
