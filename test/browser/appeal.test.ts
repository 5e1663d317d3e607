// @module-tag sqlite
// @module-tag slow
import { describe, expect, test } from "vitest";
import type { User } from "../../sandbox/index.ts";
import { maxOpen } from "../../src/features/workflows/appeals/appeal-form.ts";
import { staffAtConsole } from "../contract/world.ts";
import { inTurn } from "../support/size.ts";
import { axeFindings, flawsOf, heading, lacksChromium, press, useChromium, type Visitor } from "./chromium.ts";
import { answerAtDiscord, useCommunity } from "./community.ts";

const chromium = useChromium();
const phone = { viewport: { width: 360, height: 740 }, locale: "de-DE" } as const;
const proof = {
  name: "beweis.png",
  mimeType: "image/png",
  buffer: Buffer.from(`89504e470d0a1a0a0000000d49484452${"00".repeat(64)}`, "hex"),
};
const grounds = "Mein Konto war an dem Tag gestohlen, und jetzt habe ich es wieder.";

let looked = 0;

/** What is wrong with a page now, by axe and by our own rules: light and dark, in the quick tier one of them in turn. */
async function faultsOf(visitor: Visitor): Promise<string[]> {
  const faults: string[] = [];
  looked += 1;
  for (const colorScheme of inTurn(["light", "dark"] as const, looked)) {
    await visitor.page.emulateMedia({ colorScheme });
    faults.push(...(await axeFindings(visitor)), ...(await flawsOf(visitor)));
  }
  return faults.map((fault) => `${new URL(visitor.page.url()).pathname}: ${fault}`);
}

describe.skipIf(lacksChromium)("appeals in a real browser, on a phone and in German", () => {
  const community = useCommunity({ CONTACT_URL: "https://harbour.example/contact" });
  const textOf = ({ page }: Visitor): Promise<string> => page.locator("main").innerText();

  async function decide(kind: string, reference: string, body: object, actor: User): Promise<void> {
    const answer = await community.world.post(`/workflows/${kind}/${reference}/decision`, body, { actor });
    expect(answer.status, JSON.stringify(answer.body)).toBe(200);
  }

  /** Somebody banned with `/ban`, and the address in the message about it. */
  async function banned(name: string): Promise<{ person: User; reference: string; link: string }> {
    const { world } = community;
    const person = world.member(name);
    const [admin, owner] = [await staffAtConsole(world, "admin"), await world.staff("owner")];
    await world.put(`/guilds/${world.guild.id}/direct`, { ban: { level: "admin" } }, { actor: owner });
    const answer = await world.slash(admin, "ban", { user: person, reason: "Spam in #handel", duration: "2 weeks" });
    const reference = /PUN-REQ-\d+/.exec(answer.replaceAll("\\", ""))?.[0] ?? answer;
    await world.sandbox.waitFor(() => world.guild.bans().some(({ user }) => user.id === person.id), 60_000);
    const said = world.sandbox.directMessages(person).map(({ content }) => content);
    const [, link = ""] = /\[appeal\]\((\S+)\)/.exec(said.join("\n")) ?? [];
    expect(link).toBe(`${community.origin}/appeal?reference=${reference}`);
    return { person, reference, link };
  }

  async function signIn(visitor: Visitor, person: User, link: string): Promise<void> {
    await visitor.page.goto(link);
    await press(visitor, "Mit Discord anmelden");
    await answerAtDiscord(visitor, person);
  }

  test("somebody banned appeals from the message, answers the staff, and the ruling lifts the ban", async () => {
    const { world } = community;
    const judge = await world.staff("owner");
    await world.put("/appeals/questions", { questions: [{ question: "Was ist passiert?", required: true }] }, { actor: judge });
    const { person, reference, link } = await banned("Ann");
    const visitor = await chromium.visitor(phone);
    const faults: string[] = [];
    await visitor.page.goto(link);
    faults.push(...(await faultsOf(visitor)));
    await press(visitor, "Mit Discord anmelden");
    expect(new URL(visitor.page.url()).searchParams.get("scope")).toBe("identify");
    await answerAtDiscord(visitor, person);
    expect(new URL(visitor.page.url()).pathname).toBe(`/appeal/decision/${reference}`);
    expect(await textOf(visitor)).toMatch(/Ein Bann[^]+Spam in #handel/);
    faults.push(...(await faultsOf(visitor)));

    await visitor.page.getByLabel("Was ist passiert?").fill("Jemand anderes hat geschrieben.");
    await visitor.page.getByLabel("Warum soll noch einmal hingesehen werden?").fill(grounds);
    await visitor.page
      .getByLabel("Dateien, etwa Bildschirmfotos")
      .setInputFiles([{ ...proof, name: "programm.exe", buffer: Buffer.from("4d5a90000300", "hex") }]);
    await press(visitor, "Einspruch abschicken");
    expect(await textOf(visitor)).toContain("programm.exe ist weder Bild noch PDF, Text oder Video.");
    expect(await visitor.page.getByLabel("Warum soll noch einmal hingesehen werden?").inputValue()).toBe(grounds);
    faults.push(...(await faultsOf(visitor)));
    await visitor.page.getByLabel("Dateien, etwa Bildschirmfotos").setInputFiles([proof]);
    await press(visitor, "Einspruch abschicken");
    const appeal = await world.app.database.read.workflowRequest.findFirstOrThrow({ where: { type: "appeal", requesterId: person.id } });
    expect(await heading(visitor)).toBe(`Dein Einspruch ${appeal.reference}`);
    expect(await textOf(visitor)).toContain("Dateien, die du geschickt hast: 1.");
    faults.push(...(await faultsOf(visitor)));

    await decide("appeal", appeal.reference, { decision: "request_info", questions: ["Seit wann hast du das Konto wieder?"] }, judge);
    await visitor.page.reload();
    expect(await textOf(visitor)).toContain("Seit wann hast du das Konto wieder?");
    faults.push(...(await faultsOf(visitor)));
    await visitor.page.getByLabel("Deine Antwort").fill("Seit gestern.");
    await press(visitor, "Antwort abschicken");
    expect(await textOf(visitor)).toContain("Die Antwort steht dann auf dieser Seite");
    const { body } = await world.get(`/workflows/appeal/${appeal.reference}/history`, { actor: judge });
    expect(JSON.stringify(body.data)).toContain("Seit gestern.");

    await decide("appeal", appeal.reference, { decision: "overturn", reason: "Das Konto war gestohlen." }, judge);
    await world.sandbox.waitFor(() => world.guild.bans().length === 0, 60_000);
    await visitor.page.reload();
    expect(await textOf(visitor)).toMatch(/Dein Einspruch hatte Erfolg\.[^]+Das Konto war gestohlen\./);
    faults.push(...(await faultsOf(visitor)));
    await visitor.page.getByRole("link", { name: "Zur Seite für Einsprüche" }).click();
    expect(await textOf(visitor)).toContain("Hier wurde nichts über dich entschieden");
    faults.push(...(await faultsOf(visitor)));
    await press(visitor, "Abmelden");
    expect([await heading(visitor), await visitor.context.cookies()]).toEqual(["Du bist abgemeldet", []]);
    faults.push(...(await faultsOf(visitor)));
    expect(faults).toEqual([]);
    expect(visitor.problems).toEqual([]);
  });

  test("without script the same forms do all of it, and an appeal is taken back", async () => {
    const { world } = community;
    await world.put("/appeals/questions", { questions: [] }, { actor: await world.staff("owner") });
    const { person, reference, link } = await banned("Ben");
    const visitor = await chromium.visitor({ ...phone, javaScriptEnabled: false });
    await signIn(visitor, person, link);
    await visitor.page.getByLabel("Warum soll noch einmal hingesehen werden?").fill(grounds);
    await press(visitor, "Einspruch abschicken");
    const appeal = await world.app.database.read.workflowRequest.findFirstOrThrow({ where: { type: "appeal", requesterId: person.id } });
    await press(visitor, "Zurücknehmen");
    expect(await heading(visitor)).toBe("Es wurde nichts zurückgenommen");
    await visitor.page.goto(`${community.origin}/appeal/status/${appeal.reference}`);
    await visitor.page.getByLabel("Ich will ihn zurücknehmen.").check();
    await press(visitor, "Zurücknehmen");
    expect(await textOf(visitor)).toContain("Du hast den Einspruch zurückgenommen.");
    await visitor.page.goto(link);
    expect(await visitor.page.getByRole("button", { name: "Einspruch abschicken" }).count()).toBe(1);
    expect(reference).toMatch(/^PUN-REQ-/);
    expect(visitor.problems).toEqual([]);
  });

  test("who has filed too many is told so before they type, and what to do", async () => {
    const { world, moderator } = community;
    const person = world.member("Dee");
    const visitor = await chromium.visitor(phone);
    const judge = await world.staff("owner");
    for (let filed = 0; filed <= maxOpen; filed += 1) {
      const body = { user_id: person.id, action: "warning", reason: "Spam in the harbour, again." };
      const { reference } = (await world.post("/workflows/punishment", body, { actor: moderator })).body;
      await decide("punishment", reference, { decision: "approve", reason: "Spam in #handel" }, judge);
      const link = `${community.origin}/appeal/decision/${reference}`;
      await (filed === 0 ? signIn(visitor, person, link) : visitor.page.goto(link));
      if (filed === maxOpen) break;
      await visitor.page.getByLabel("Warum soll noch einmal hingesehen werden?").fill(grounds);
      await press(visitor, "Einspruch abschicken");
    }
    expect(await textOf(visitor)).toContain(
      "Du hast 5 offene Einsprüche. Diesen kannst du einlegen, sobald über einen davon entschieden ist",
    );
    expect(await visitor.page.getByRole("button", { name: "Einspruch abschicken" }).count()).toBe(0);
    expect(await faultsOf(visitor)).toEqual([]);
    const appeals = await world.app.database.read.workflowRequest.count({ where: { type: "appeal", requesterId: person.id } });
    expect(appeals).toBe(maxOpen);
    expect(visitor.problems).toEqual([]);
  });

  test("every other page can be read on a phone, too", async () => {
    const { person } = await banned("Cy");
    const visitor = await chromium.visitor(phone);
    await signIn(visitor, person, `${community.origin}/appeal`);
    const faults = await faultsOf(visitor);
    const results = [
      "sign-in-again",
      "declined",
      "other-browser",
      "discord-unreachable",
      "not-ticked",
      "too-large",
      "over",
      "closed",
      "failed",
    ];
    for (const path of ["/", "/appeal/decision/PUN-REQ-999999", ...inTurn(results, looked).map((result) => `/appeal/result/${result}`)]) {
      await visitor.page.goto(community.origin + path);
      faults.push(...(await faultsOf(visitor)));
    }
    expect(faults).toEqual([]);
    expect(visitor.problems).toEqual([]);
  });
});
