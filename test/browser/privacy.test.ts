// @module-tag sqlite
// @module-tag slow
import { readFile } from "node:fs/promises";
import { describe, expect, test } from "vitest";
import type { User } from "../../sandbox/index.ts";
import { flawsInBothSchemes, heading, lacksChromium, press, useChromium, type Visitor } from "./chromium.ts";
import { answerAtDiscord, useCommunity } from "./community.ts";

const chromium = useChromium();

describe.skipIf(lacksChromium)("the privacy page in a real browser", () => {
  const community = useCommunity();
  const textOf = ({ page }: Visitor): Promise<string> => page.locator("main").innerText();

  /** A person who shares a server of a given name. */
  async function sharer(name: string, server: string): Promise<User> {
    const person = community.world.sandbox.createUser(name);
    community.world.sandbox.createGuild({ name: server, owner: person, withBot: false });
    await community.world.sandbox.as(person).authorize(await community.session(person), { approve: true });
    return person;
  }

  async function signIn(person: User): Promise<Visitor> {
    const visitor = await chromium.visitor();
    await visitor.page.goto(`${community.origin}/privacy`);
    await press(visitor, "Sign in with Discord");
    await answerAtDiscord(visitor, person);
    expect(visitor.page.url()).toBe(`${community.origin}/privacy`);
    return visitor;
  }

  async function stored(userId: string) {
    const { read } = community.world.app.database;
    const where = { userId };
    const [grants, servers, signIns] = await Promise.all([
      read.authorization.count({ where: { ...where, accessToken: { not: null } } }),
      read.userServer.count({ where }),
      read.privacySession.count({ where }),
    ]);
    return { grants, servers, signIns };
  }

  test("the bare address says what it is and leads here, and an address nobody knows says so", async () => {
    const visitor = await chromium.visitor();
    await visitor.page.goto(community.origin);
    expect(await heading(visitor)).toBe("Provost");
    expect(await flawsInBothSchemes(visitor)).toEqual({ light: [], dark: [] });
    await visitor.page.getByRole("link", { name: "See what is stored about you" }).click();
    expect(visitor.page.url()).toBe(`${community.origin}/privacy`);
    const icon = await visitor.page.request.get(`${community.origin}/favicon.ico`);
    expect([icon.status(), icon.headers()["content-type"]]).toEqual([200, "image/svg+xml"]);
    const nowhere = await visitor.page.goto(`${community.origin}/privcy`);
    expect(nowhere?.status()).toBe(404);
    expect(await heading(visitor)).toBe("There is no such page");
  });

  test("a person signs in and sees what is stored and who looked at it; only a hash of the cookie is kept", async () => {
    const ann = await sharer("Ann", "Ann's <b>secret</b> club");
    await community.world.get(`/users/${ann.id}/servers`, { actor: community.moderator });
    await expect.poll(() => community.world.app.database.read.dataRead.count()).toBeGreaterThan(0);
    const visitor = await signIn(ann);
    const text = await textOf(visitor);
    expect(text).toContain("You share your information.");
    expect(text).toContain("Servers that are stored with their names (1)");
    expect(text).toContain("Mona: your servers");
    await visitor.page.getByText("Servers that are stored with their names (1)", { exact: true }).click();
    expect(await textOf(visitor)).toContain("Ann's <b>secret</b> club (it is yours)");
    const [cookie] = await visitor.context.cookies();
    expect(cookie).toMatchObject({ name: "provost-privacy", httpOnly: true, sameSite: "Lax" });
    const rows = await community.world.app.database.read.privacySession.findMany({ where: { userId: ann.id } });
    expect(rows).toHaveLength(1);
    expect(JSON.stringify(rows)).not.toContain(cookie?.value);
    expect([rows[0]?.verifier, rows[0]?.stateHash]).toEqual([null, null]);
    expect(visitor.problems).toEqual([]);
  });

  test("signing in asks Discord for the id alone, stores no token and ends none", async () => {
    const ada = await sharer("Ada", "Ada's");
    const rows = await community.world.app.database.read.authorization.findMany({ where: { userId: ada.id } });
    const visitor = await chromium.visitor();
    await visitor.page.goto(`${community.origin}/privacy`);
    await press(visitor, "Sign in with Discord");
    const asked = new URL(visitor.page.url()).searchParams;
    expect([asked.get("scope"), asked.get("code_challenge_method")]).toEqual(["identify", "S256"]);
    await answerAtDiscord(visitor, ada);
    expect(await community.world.app.database.read.authorization.findMany({ where: { userId: ada.id } })).toEqual(rows);
    expect(community.world.sandbox.revokedTokens).toEqual([]);
  });

  test("the download holds the person's own data as JSON", async () => {
    const ben = await sharer("Ben", "Ben's club");
    const visitor = await signIn(ben);
    const [download] = await Promise.all([
      visitor.page.waitForEvent("download"),
      visitor.page.getByRole("link", { name: "Download" }).click(),
    ]);
    expect(download.suggestedFilename()).toBe(`provost-${ben.id}.json`);
    const data = JSON.parse(await readFile(await download.path(), "utf8"));
    expect(data.discord_user_id).toBe(ben.id);
    expect(data.servers.entries).toMatchObject([{ name: "Ben's club" }]);
    expect(visitor.problems).toEqual([]);
  });

  test("taking the consent back ends everything at once, and a second time there is nothing to end", async () => {
    const cy = await sharer("Cy", "Cy's");
    const visitor = await signIn(cy);
    await press(visitor, "Take my consent back");
    expect(await heading(visitor)).toBe("Your consent is taken back");
    expect(await stored(cy.id)).toEqual({ grants: 0, servers: 0, signIns: 1 });
    await visitor.page.getByRole("link", { name: "To the privacy page" }).click();
    await press(visitor, "Take my consent back");
    expect(await heading(visitor)).toBe("There is nothing to take back");
    expect(visitor.problems).toEqual([]);
  });

  test("deleting needs the ticked box, and signs out", async () => {
    const dan = await sharer("Dan", "Dan's");
    const visitor = await signIn(dan);
    await press(visitor, "Delete");
    expect(await heading(visitor)).toBe("Nothing was deleted");
    expect(await stored(dan.id)).toEqual({ grants: 1, servers: 1, signIns: 1 });
    await visitor.page.getByRole("link", { name: "To the privacy page" }).click();
    await visitor.page.getByLabel("I know that this cannot be undone.").check();
    await press(visitor, "Delete");
    expect(await heading(visitor)).toBe("What you shared is deleted");
    expect(await stored(dan.id)).toEqual({ grants: 0, servers: 0, signIns: 0 });
    expect(await visitor.context.cookies()).toEqual([]);
    const { read } = community.world.app.database;
    const rest = [read.authorization, read.authorizationSession] as const;
    expect(await Promise.all([rest[0].count({ where: { userId: dan.id } }), rest[1].count({ where: { userId: dan.id } })])).toEqual([0, 0]);
    await visitor.page.goto(`${community.origin}/privacy`);
    expect(await visitor.page.getByRole("button", { name: "Sign in with Discord" }).count()).toBe(1);
    expect(visitor.problems).toEqual([]);
  });

  test("two people in two browsers see and change their own data alone", async () => {
    const [eva, fay] = [await sharer("Eva", "Eva's hideout"), await sharer("Fay", "Fay's hideout")];
    const [one, two] = [await signIn(eva), await signIn(fay)];
    await one.page.reload();
    expect([await one.page.content(), await two.page.content()].map((text) => /Eva's hideout|Eva&#39;s hideout/.test(text))).toEqual([
      true,
      false,
    ]);
    expect([await one.page.content(), await two.page.content()].map((text) => text.includes(fay.id))).toEqual([false, true]);
    await press(one, "Take my consent back");
    expect([await stored(eva.id), await stored(fay.id)]).toMatchObject([{ grants: 0 }, { grants: 1, servers: 1 }]);
    await two.page.reload();
    expect(await textOf(two)).toContain("You share your information.");
  });

  test("signing out and running out of time ask for a new sign-in and change nothing", async () => {
    const gus = await sharer("Gus", "Gus's");
    const leaving = await signIn(gus);
    const staying = await signIn(gus);
    await press(leaving, "Sign out");
    expect([await heading(leaving), await leaving.context.cookies()]).toEqual(["You are signed out", []]);
    community.forward(901);
    await staying.page.getByLabel("I know that this cannot be undone.").check();
    await press(staying, "Delete");
    expect(await heading(staying)).toBe("Please sign in again");
    expect(await stored(gus.id)).toMatchObject({ grants: 1, servers: 1 });
    await staying.page.goto(`${community.origin}/privacy`);
    expect(await staying.page.getByRole("button", { name: "Sign in with Discord" }).count()).toBe(1);
    await staying.page.goto(`${community.origin}/privacy/data.json`);
    expect(await heading(staying)).toBe("Please sign in again");
    expect([...leaving.problems, ...staying.problems]).toEqual([]);
  });

  test("no at Discord, Discord out of reach, and another browser's way back sign nobody in", async () => {
    const hal = community.world.member("Hal");
    const visitor = await chromium.visitor();
    const begin = async (): Promise<void> => {
      await visitor.page.goto(`${community.origin}/privacy`);
      await press(visitor, "Sign in with Discord");
    };
    await begin();
    await answerAtDiscord(visitor, hal, "Cancel");
    expect(await heading(visitor)).toBe("You did not sign in");

    const fault = community.world.sandbox.faults.oauth({ route: "token", status: 503, times: 100 });
    await begin();
    await answerAtDiscord(visitor, hal);
    expect(await heading(visitor)).toBe("Discord cannot be reached");
    fault.clear();

    await begin();
    const stranger = await chromium.visitor();
    await stranger.page.goto(visitor.page.url());
    await answerAtDiscord(stranger, hal);
    expect(await heading(stranger)).toBe("Please use the same browser");
    expect(await community.world.app.database.read.privacySession.count({ where: { userId: hal.id } })).toBe(0);
    await answerAtDiscord(visitor, hal);
    expect(await textOf(visitor)).toContain(`You are signed in as ${hal.id}.`);
    expect([...visitor.problems, ...stranger.problems]).toEqual([]);
  });

  test("the sign-in outlives a start of the service", async () => {
    const ida = await sharer("Ida", "Ida's");
    const visitor = await signIn(ida);
    await community.world.restart();
    await visitor.page.reload();
    expect(await textOf(visitor)).toContain("You share your information.");
  });

  test("on a small phone, light or dark, every page can be read", async () => {
    const readable = { light: [], dark: [] };
    const jo = await sharer("Jo", "A server with a very long name that does not fit in one line of a phone at all, really");
    const visitor = await chromium.visitor({ viewport: { width: 360, height: 640 } });
    await visitor.page.goto(`${community.origin}/privacy`);
    expect(await flawsInBothSchemes(visitor)).toEqual(readable);
    await press(visitor, "Sign in with Discord");
    await answerAtDiscord(visitor, jo);
    await visitor.page.evaluate('for (const one of document.querySelectorAll("details")) one.open = true');
    expect(await flawsInBothSchemes(visitor)).toEqual(readable);
    const results = ["revoked", "nothing-shared", "deleted", "not-ticked", "signed-out", "sign-in-again", "declined", "other-browser"];
    for (const result of [...results, "discord-unreachable", "failed"]) {
      await visitor.page.goto(`${community.origin}/privacy/result/${result}`);
      expect([result, await flawsInBothSchemes(visitor)]).toEqual([result, readable]);
    }
    expect(visitor.problems).toEqual([]);
  });
});
