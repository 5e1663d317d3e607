// @module-tag sqlite
// @module-tag slow
import { describe, expect, test } from "vitest";
import { flawsInBothSchemes, heading, lacksChromium, press, useChromium, type Visitor } from "./chromium.ts";
import { answerAtDiscord, useCommunity } from "./community.ts";

const agree = "Agree and continue to Discord";
const chromium = useChromium();

describe.skipIf(lacksChromium)("consent in a real browser", () => {
  const community = useCommunity();
  const statusOf = async (userId: string): Promise<string> =>
    (await community.world.get(`/users/${userId}/authorization`)).body.data.status;
  const pathOf = ({ page }: Visitor): string => new URL(page.url()).pathname;

  /** A person with a session, at its page. */
  async function arrive(name: string, input: object = {}) {
    const person = community.world.member(name);
    const address = await community.session(person, input);
    const visitor = await chromium.visitor();
    await visitor.page.goto(address);
    return { person, address, visitor };
  }

  test("a person agrees, says yes at Discord and is done", async () => {
    const { person, visitor } = await arrive("Ann");
    expect(await heading(visitor)).toBe("Share your Discord information?");
    expect(await visitor.page.locator("main").innerText()).toContain("Harbour");
    await press(visitor, agree);
    expect(new URL(visitor.page.url()).pathname).toBe("/api/oauth2/authorize");
    expect(await statusOf(person.id)).toBe("pending");
    await answerAtDiscord(visitor, person);
    expect([await heading(visitor), visitor.page.url()]).toEqual(["Thank you", `${community.origin}/authorize/result/done`]);
    expect(await statusOf(person.id)).toBe("active");
    expect(await visitor.context.cookies()).toEqual([]);
    expect(visitor.problems).toEqual([]);
  });

  test("the way back leads where the operator says, after every ending", async () => {
    const done = await arrive("Ada", { return_to: "site" });
    await press(done.visitor, agree);
    await answerAtDiscord(done.visitor, done.person);
    expect(pathOf(done.visitor)).toBe("/authorize/result/done/site");
    const link = done.visitor.page.getByRole("link", { name: "Back to site" });
    expect(await link.getAttribute("href")).toBe(community.site);
    await link.click();
    expect(done.visitor.page.url()).toBe(community.site);

    const declined = await arrive("Abe", { return_to: "site" });
    await press(declined.visitor, "Decline");
    expect([pathOf(declined.visitor), await declined.visitor.page.getByRole("link", { name: "Back to site" }).count()]).toEqual([
      "/authorize/result/declined/site",
      1,
    ]);
    await declined.visitor.page.goto(`${community.origin}/authorize/result/done/evil.example`);
    expect(await declined.visitor.page.getByRole("link", { name: /Back to/ }).count()).toBe(0);
    expect([...done.visitor.problems, ...declined.visitor.problems]).toEqual([]);
  });

  test("declining here asks Discord nothing", async () => {
    const { person, visitor } = await arrive("Ben");
    await press(visitor, "Decline");
    expect(await heading(visitor)).toBe("You declined");
    expect(await statusOf(person.id)).toBe("declined");
    expect(visitor.problems).toEqual([]);
  });

  test("saying no at Discord is declining, too", async () => {
    const { person, visitor } = await arrive("Bea");
    await press(visitor, agree);
    await answerAtDiscord(visitor, person, "Cancel");
    expect([await heading(visitor), await statusOf(person.id)]).toEqual(["You declined", "declined"]);
    expect(visitor.problems).toEqual([]);
  });

  test("another account at Discord gets nowhere, and nothing of it is stored", async () => {
    const { person, visitor } = await arrive("Cy");
    const other = community.world.sandbox.createUser("Eve");
    await press(visitor, agree);
    await answerAtDiscord(visitor, other);
    expect(await heading(visitor)).toBe("This was another account");
    const { read } = community.world.app.database;
    expect(await read.authorization.count({ where: { userId: { in: [person.id, other.id] } } })).toBe(0);
    expect(visitor.problems).toEqual([]);
  });

  test("time runs out before the page, before the button and before the way back", async () => {
    const late = await arrive("Dan", { ttl_minutes: 5 });
    const later = await arrive("Di", { ttl_minutes: 5 });
    await press(later.visitor, agree);
    community.forward(301);
    await press(late.visitor, agree);
    expect(pathOf(late.visitor)).toBe("/authorize/result/expired");
    await late.visitor.page.goto(late.address);
    expect(await heading(late.visitor)).toBe("This link has expired");
    await answerAtDiscord(later.visitor, later.person);
    expect(await heading(later.visitor)).toBe("This link has expired");
    expect(await community.world.app.database.read.authorization.count({ where: { userId: later.person.id } })).toBe(0);
    expect([...late.visitor.problems, ...later.visitor.problems]).toEqual([]);
  });

  test("a link works once, also with the back button", async () => {
    const { person, address, visitor } = await arrive("Flo");
    await press(visitor, agree);
    await answerAtDiscord(visitor, person);
    const opened = await visitor.page.goto(address);
    expect([opened?.status(), await heading(visitor)]).toEqual([410, "This link has been used"]);
    await visitor.page.goBack();
    expect(await heading(visitor)).toBe("Thank you");
    await visitor.page.goBack();
    await answerAtDiscord(visitor, person);
    expect(await heading(visitor)).toBe("This link has been used");
    expect(await statusOf(person.id)).toBe("active");
    expect(visitor.problems).toEqual([]);
  });

  test("another browser does not get through with the address of the way back", async () => {
    const { person, visitor } = await arrive("Gus");
    await press(visitor, agree);
    const stranger = await chromium.visitor();
    await stranger.page.goto(visitor.page.url());
    await answerAtDiscord(stranger, person);
    expect(await heading(stranger)).toBe("Please use the same browser");
    expect(await statusOf(person.id)).toBe("pending");
    await answerAtDiscord(visitor, person);
    expect(await heading(visitor)).toBe("Thank you");
    expect([...visitor.problems, ...stranger.problems]).toEqual([]);
  });

  test("Discord is out of reach: nothing is lost, the same link works afterwards", async () => {
    const { person, address, visitor } = await arrive("Hal");
    const fault = community.world.sandbox.faults.oauth({ route: "token", status: 503, times: 100 });
    await press(visitor, agree);
    await answerAtDiscord(visitor, person);
    expect(await heading(visitor)).toBe("Discord cannot be reached");
    fault.clear();
    await visitor.page.goto(address);
    await press(visitor, agree);
    await answerAtDiscord(visitor, person);
    expect([await heading(visitor), await statusOf(person.id)]).toEqual(["Thank you", "active"]);
    expect(visitor.problems).toEqual([]);
  });

  test("reloading and going back at each step leads on from there", async () => {
    const { person, visitor } = await arrive("Ida");
    await visitor.page.reload();
    await press(visitor, agree);
    await visitor.page.reload();
    await visitor.page.goBack();
    expect(await heading(visitor)).toBe("Share your Discord information?");
    await press(visitor, agree);
    await answerAtDiscord(visitor, person);
    await visitor.page.reload();
    expect(await heading(visitor)).toBe("Thank you");
    expect(await community.world.app.database.read.authorization.count({ where: { userId: person.id } })).toBe(1);
    expect(visitor.problems).toEqual([]);
  });

  test("the service starts again while the person is at Discord", async () => {
    const { person, visitor } = await arrive("Jo");
    await press(visitor, agree);
    await community.world.restart();
    await answerAtDiscord(visitor, person);
    expect([await heading(visitor), await statusOf(person.id)]).toEqual(["Thank you", "active"]);
    expect(visitor.problems).toEqual([]);
  });

  test("the keyboard alone is enough", async () => {
    const { person, visitor } = await arrive("Kim");
    const focused = (): Promise<string> => visitor.page.evaluate("document.activeElement.textContent.trim()");
    await visitor.page.keyboard.press("Tab");
    expect(await focused()).toBe(agree);
    expect(await visitor.page.evaluate("getComputedStyle(document.activeElement).outlineWidth")).toBe("3px");
    await visitor.page.keyboard.press("Tab");
    expect(await focused()).toBe("Decline");
    await visitor.page.keyboard.press("Tab");
    expect(await focused()).toBe("More: what is kept, how long, and how to take it back");
    await visitor.page.keyboard.press("Enter");
    await visitor.page.keyboard.press("Tab");
    expect(await focused()).toBe("your privacy page");
    for (let steps = 0; steps < 3; steps += 1) await visitor.page.keyboard.press("Shift+Tab");
    expect(await focused()).toBe(agree);
    await visitor.page.keyboard.press("Enter");
    await visitor.page.waitForURL(/oauth2\/authorize/);
    await answerAtDiscord(visitor, person);
    expect(await heading(visitor)).toBe("Thank you");
  });

  test("on a small phone, light or dark, every page can be read, and nothing scrolls sideways", async () => {
    const person = community.world.member("Lu with a very long name indeed, as long as a name in Discord can b");
    const address = await community.session(person, {
      scopes: ["identify", "guilds", "guilds.members.read"],
      request_reference: "REC-REQ-000012",
    });
    const visitor = await chromium.visitor({ viewport: { width: 360, height: 640 } });
    const results = ["done", "declined", "cancelled", "wrong-account", "expired", "used", "other-browser"];
    const more = ["discord-unreachable", "scope-missing", "failed", "done/site"];
    const addresses = [address, ...[...results, ...more].map((kind) => `${community.origin}/authorize/result/${kind}`)];
    for (const one of addresses) {
      await visitor.page.goto(one);
      expect([one, await flawsInBothSchemes(visitor)]).toEqual([one, { light: [], dark: [] }]);
    }
    for (const [colorScheme, colour] of [
      ["light", "rgb(255, 255, 255)"],
      ["dark", "rgb(21, 23, 28)"],
    ] as const) {
      await visitor.page.emulateMedia({ colorScheme });
      expect(await visitor.page.evaluate("getComputedStyle(document.body).backgroundColor")).toBe(colour);
    }
    expect(visitor.problems).toEqual([]);
  });

  test("the policy lets the form go to Discord and nowhere else", async () => {
    const { visitor } = await arrive("Max");
    const answer = await visitor.page.reload();
    const policy = answer?.headers()["content-security-policy"] ?? "";
    expect(policy).toContain("default-src 'none'");
    await visitor.page.route(/authorize\/[\w-]+$/, async (route) => {
      const response = await route.fetch();
      const headers = { ...response.headers(), "content-security-policy": policy.replace(/form-action [^;]+/, "form-action 'self'") };
      await route.fulfill({ response, headers });
    });
    await visitor.page.reload();
    await visitor.page.getByRole("button", { name: agree }).click();
    await expect.poll(() => visitor.problems.join("\n")).toContain("form-action");
    expect(pathOf(visitor)).not.toContain("oauth2");
  });
});
