// @module-tag sqlite
import { beforeAll, describe, expect, test } from "vitest";
import { endedStatuses } from "../../src/features/authorization/authorization.schema.ts";
import { endings } from "../../src/features/authorization/endings/endings.ts";
import { statuses as blacklistStatuses } from "../../src/features/blacklist/blacklist.schema.ts";
import { outcomes } from "../../src/features/cases/outcomes.ts";
import { caseStatuses } from "../../src/features/cases/states.ts";
import { matchKinds, matchStatuses } from "../../src/features/intelligence/intelligence.schema.ts";
import { privacyResults } from "../../src/features/privacy/privacy.html.ts";
import { statuses as requestStatuses } from "../../src/features/workflows/state/table.ts";
import { problems } from "../../src/kernel/errors.ts";
import { authorizationPurposes, workflowKinds } from "../../src/kernel/vocabulary.ts";
import { languages, type Texts } from "../../src/kit/say.ts";
import { negotiateLanguage } from "../../src/pages/language.ts";
import type { User } from "../../sandbox/index.ts";
import { createWorld, type World } from "../support/world.ts";
import { plant, words } from "./privacy-ground.ts";

interface Shown {
  status: number;
  headers: Headers;
  text: string;
}

async function open(address: string, headers: Record<string, string> = {}): Promise<Shown> {
  const answer = await fetch(address, { redirect: "manual", headers: { accept: "text/html", ...headers } });
  return { status: answer.status, headers: answer.headers, text: await answer.text() };
}

const languageOf = ({ text }: Pick<Shown, "text">): string => /<html lang="(\w+)"/.exec(text)?.[1] ?? "none";
const headingOf = (text: string): string => /<h1>([^<]*)<\/h1>/.exec(text)?.[1] ?? "";

/** The words of a page, without names, codes and what is marked as another language. */
function wordsOf(text: string): string {
  const body = text.slice(text.indexOf("<title>"));
  const plain = body
    .replaceAll(/<(strong|code|dfn)>[\s\S]*?<\/\1>/g, " ")
    .replaceAll(/<a [^>]*lang="en"[^>]*>[^<]*<\/a>/g, " ")
    .replaceAll(/<[^>]*>/g, " ");
  return plain.replaceAll(/&#39;|&quot;|&amp;/g, " ").replaceAll(/\s+/g, " ");
}

/** Words that are in nearly every English sentence, and in no German one. */
const english =
  /(?<![\p{L}_-])(the|is|are|were|be|been|has|have|had|can|cannot|you|your|yours|they|their|it|its|this|that|these|and|or|but|not|nothing|of|to|for|from|with|without|by|who|which|when|where|until|since|after|before|again|there|here|ask|try|read|stored|kept|member|page)(?![\p{L}_-])/giu;
const englishIn = (text: string): string[] => wordsOf(text).match(english) ?? [];

const session = async (world: World, actor: User, person: Pick<User, "id">, input: object = {}): Promise<string> => {
  const answer = await world.post("/authorize/sessions", { discord_user_id: person.id, ...input }, { actor });
  expect(answer.status, JSON.stringify(answer.body)).toBe(201);
  return answer.body.url;
};

describe("a browser's Accept-Language", () => {
  test.each([
    ["", "en"],
    ["de", "de"],
    ["de-AT,de;q=0.9,en;q=0.8", "de"],
    ["en-US,en;q=0.9,de;q=0.8", "en"],
    ["fr-FR,fr;q=0.9,de;q=0.5,en;q=0.3", "de"],
    ["fr, *;q=0.5", "en"],
    ["en;q=0, *", "de"],
    ["en;q=0.2, *;q=0.5", "de"],
    ["de;q=0", "en"],
    ["de;q=0.5,en;q=0.5", "de"],
    ["DE-de", "de"],
    ["den, deu, deutsch", "en"],
    ["fr, pt-BR", "en"],
    ["\u0000;;q=,,=", "en"],
  ])("%j is answered in %s", (accepted, language) => {
    expect(negotiateLanguage(accepted)).toBe(language);
  });

  test("of thousands of languages is read to its end", () => {
    expect(negotiateLanguage(`${"fr,".repeat(4000)}de`)).toBe("de");
  });
});

describe("the language of a page", () => {
  let world: World;
  let mona: User;
  beforeAll(async () => {
    let end = (): Promise<void> => Promise.resolve();
    world = await createWorld({ onEnd: (way) => (end = way) });
    mona = await world.staff("senior", "Mona");
    return end;
  });

  test("follows the address, then the session, then the browser, and says which it is", async () => {
    const ann = world.member("ann");
    const plain = await session(world, mona, ann);
    const german = await session(world, mona, ann, { locale: "de-AT" });
    const french = await session(world, mona, ann, { locale: "fr" });
    const cases: [string, string, string][] = [
      [plain, "", "en"],
      [plain, "de", "de"],
      [german, "en", "de"],
      [french, "de", "de"],
      [`${german}?locale=en`, "de", "en"],
      [`${german}?locale=fr`, "en", "de"],
      [`${plain}?locale=de-CH`, "en", "de"],
      [`${plain}?locale=%3Cscript%3E`, "en", "en"],
    ];
    for (const [address, accepted, language] of cases) {
      const shown = await open(address, accepted === "" ? {} : { "accept-language": accepted });
      expect([address, languageOf(shown)]).toEqual([address, language]);
      expect([shown.headers.get("content-language"), shown.headers.get("vary")]).toEqual([language, "Accept-Language"]);
      expect(shown.text).not.toContain("<script");
    }
  });

  test("of a session is kept through Discord to the last page, also where the browser prefers another one", async () => {
    const ben = world.member("ben");
    const address = await session(world, mona, ben, { locale: "de" });
    const done = await world.sandbox.as(ben).authorize(address, { approve: true });
    expect(done.redirectedTo).toBe(`${world.url}/authorize/result/done?locale=de`);
    expect([languageOf({ text: done.body }), headingOf(done.body)]).toEqual(["de", "Danke"]);
    const used = await open(address);
    expect([used.status, languageOf(used), headingOf(used.text)]).toEqual([410, "de", "Dieser Link wurde schon benutzt"]);

    const declined = await world.sandbox.as(ben).authorize(await session(world, mona, ben, { locale: "de" }), {
      approve: true,
      press: "Ablehnen",
    });
    expect(declined.redirectedTo).toBe(`${world.url}/authorize/result/declined?locale=de`);
    const atDiscord = await world.sandbox.as(ben).authorize(await session(world, mona, ben, { locale: "de" }), { approve: false });
    expect(headingOf(atDiscord.body)).toBe("Du hast abgelehnt");
  });

  test("chosen on the privacy page is kept through signing in and out", async () => {
    const cy = world.member("cy");
    const signedIn = await world.sandbox.as(cy).authorize(`${world.url}/privacy?locale=de`, { approve: true });
    expect(signedIn.redirectedTo).toBe(`${world.url}/privacy?locale=de`);
    expect([languageOf({ text: signedIn.body }), headingOf(signedIn.body)]).toEqual(["de", "Deine Daten"]);
    const cookie = Object.entries(signedIn.cookies)
      .map((one) => one.join("="))
      .join("; ");
    const action = /action="([^"]*sign-out[^"]*)"/.exec(signedIn.body)?.[1] ?? "";
    const headers = { cookie, "sec-fetch-site": "same-origin", origin: "null" };
    const out = await fetch(`${world.url}${action}`, { method: "POST", redirect: "manual", headers });
    expect(out.headers.get("location")).toBe("/privacy/result/signed-out?locale=de");
    const no = await world.sandbox.as(cy).authorize(`${world.url}/privacy?locale=de`, { approve: false });
    expect(headingOf(no.body)).toBe("Du hast dich nicht angemeldet");
  });

  test("not chosen by anybody is in no address", async () => {
    const dan = world.member("dan");
    const done = await world.sandbox.as(dan).authorize(await session(world, mona, dan), { approve: true });
    expect(done.redirectedTo).toBe(`${world.url}/authorize/result/done`);
    const page = await open(`${world.url}/privacy`, { "accept-language": "de" });
    expect(page.text).not.toMatch(/(?:href|action)="[^"?]+\?locale=/);
  });

  test("can be changed by a link to the same page", async () => {
    for (const [path, other, name] of [
      ["/privacy", "de", "Deutsch"],
      ["/?locale=de", "en", "English"],
      ["/nowhere?locale=de", "en", "English"],
    ] as const)
      expect((await open(`${world.url}${path}`)).text).toContain(
        `<a href="?locale=${other}" lang="${other}" hreflang="${other}">${name}</a>`,
      );
  });

  test("is that of refusals, too, which say what to do, and the code and number in small print", async () => {
    const missing = await open(`${world.url}/nowhere`, { "accept-language": "de" });
    expect([missing.status, languageOf(missing), headingOf(missing.text)]).toEqual([404, "de", "Diese Seite gibt es nicht"]);
    expect([missing.headers.get("content-language"), missing.headers.get("vary")]).toEqual(["de", "Accept-Language"]);
    expect(missing.text).toContain("Prüfe die Adresse");
    expect(missing.text).toContain("<code>route_not_found</code>");
    expect(missing.text).toContain(`Anfrage <code>${missing.headers.get("x-request-id") ?? "none"}</code>`);
    const read = await open(`${world.url}/nowhere`);
    expect([headingOf(read.text), read.text.includes("Check the address")]).toEqual(["There is no such page", true]);
    expect(read.headers.get("content-security-policy")).toBe(
      "default-src 'none'; style-src 'self'; frame-ancestors 'none'; base-uri 'none'",
    );
    const form = await open(`${world.url}/privacy/start`);
    expect([form.status, form.headers.get("allow"), headingOf(form.text)]).toEqual([405, "POST", "This could not be read"]);
    const refused = await fetch(`${world.url}/privacy/start?locale=de`, {
      method: "POST",
      headers: { "content-type": "application/json", "sec-fetch-site": "same-origin" },
      body: "{}",
    });
    const text = await refused.text();
    expect([refused.status, languageOf({ text }), headingOf(text)]).toEqual([415, "de", "Das war nicht lesbar"]);
    expect(text).not.toContain("hreflang");
  });
});

describe("a German page", () => {
  test("has no English word in it but names, whatever it says", async () => {
    const world = await createWorld({ furtherGuilds: ["Leuchtturm"] });
    const { person, moderator } = await plant(world);
    const pages: [string, string][] = [];
    const see = async (path: string): Promise<void> => {
      const shown = await open(path.startsWith("http") ? path : `${world.url}${path}`, { "accept-language": "de" });
      expect([path, languageOf(shown)]).toEqual([path, "de"]);
      pages.push([path, shown.text]);
    };
    await world.get(`/users/${person.id}/servers`, { actor: moderator });
    await world.get(`/users/${person.id}/servers`);
    await expect.poll(() => world.app.database.read.dataRead.count({ where: { userId: person.id } })).toBeGreaterThan(1);
    const own = await world.sandbox.as(person).authorize(`${world.url}/privacy?locale=de`, { approve: true });
    for (const part of ["Deine Server", "Sperrlisteneinträge über dich (1)", "Anträge von dir", "Wer es angesehen hat", words.public])
      expect(own.body).toContain(part);
    pages.push(["/privacy", own.body]);
    for (const purpose of authorizationPurposes)
      for (const detail of ["full", "listed"]) {
        const asked = world.member(`gefragt-${purpose}-${detail}`);
        const input = { purpose, detail, scopes: ["identify", "guilds", "guilds.members.read"], request_reference: "REC-REQ-000012" };
        await see(await session(world, moderator, asked, input));
      }
    for (const ending of Object.keys(endings)) await see(`/authorize/result/${ending}`);
    for (const result of Object.keys(privacyResults)) await see(`/privacy/result/${result}`);
    for (const code of Object.keys(problems)) await see(`/problems/${code}`);
    for (const path of ["/", "/privacy", "/nowhere", "/problems/none", "/authorize/result/none", "/privacy/result/none"]) await see(path);
    expect(pages.length).toBeGreaterThan(70);
    expect(pages.flatMap(([path, text]) => englishIn(text).map((word) => `${word} on ${path}`))).toEqual([]);
  });

  test("has a word for everything stored that the privacy page shows by its name", () => {
    const ofCases = [...Object.keys(outcomes), ...Object.values(outcomes).flat(), ...caseStatuses];
    const ofRecords = [...workflowKinds, ...requestStatuses, ...blacklistStatuses, ...matchKinds, ...matchStatuses];
    const stored = [...ofCases, ...ofRecords, ...authorizationPurposes, "pending", "opened", ...endedStatuses];
    const { en, de }: Record<"en" | "de", Texts> = languages as Record<"de" | "en", Texts>;
    expect(stored.length).toBeGreaterThan(50);
    for (const texts of [en, de])
      expect(stored.filter((value) => texts[`case = ${value}`] === undefined && texts[`= ${value}`] === undefined)).toEqual([]);
  });

  test("the guard sees an English sentence on a page", () => {
    expect(englishIn("<title>Deine Daten</title><p>Nothing was read.</p>")).toEqual(["Nothing", "read"]);
    expect(englishIn('<title>Danke</title><strong>Keep of the North</strong><a href="?x" lang="en">the page</a>')).toEqual([]);
  });
});
