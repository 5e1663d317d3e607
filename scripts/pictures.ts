import { randomBytes } from "node:crypto";
import { mkdir, mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { chromium, type Page } from "playwright-core";
import { createApp } from "../src/app.ts";
import { readConfig } from "../src/config/config.ts";
import { systemCall } from "../src/kernel/call.ts";
import { uuid7 } from "../src/kernel/ids.ts";
import { createSandbox, type User } from "../sandbox/index.ts";
import { chromiumArguments, chromiumPath } from "../test/browser/executable.ts";
import { smallPng } from "./small-png.ts";

/**
 * Makes the pictures of `README.md` and `docs/consent.md` anew: the real pages of the real service in Chromium, as wide as a phone, and a
 * review card as the control room shows it. Time stands still and names are fixed, so that a picture changes only when its page does.
 */
const folder = fileURLToPath(new URL("../docs/images", import.meta.url));
const width = 390;
const maxBytes = 64_000;
const time = Date.UTC(2026, 2, 2, 10);
const endings = ["done", "declined", "wrong-account", "expired", "used", "other-browser", "discord-unreachable"];

/** The service with a moderator and the people of the pictures, on a database of its own. */
async function createStage() {
  const data = await mkdtemp(join(tmpdir(), "provost-pictures-"));
  const sandbox = await createSandbox({ now: () => time });
  const mona = sandbox.createUser("mona", { global_name: "Mona" });
  const ann = sandbox.createUser("ann", { global_name: "Ann" });
  const harbour = sandbox.createGuild({ name: "Harbour", owner: mona });
  const rogue = sandbox.createUser("rogue", { global_name: "Rogue" });
  harbour.addMember(rogue);
  const reviews = harbour.createChannel("reviews");
  for (const name of ["Lighthouse Keepers", "Sunday Sailors", "Tide Tables"]) sandbox.createGuild({ name, withBot: false }).addMember(ann);
  const reading = readConfig({
    ...sandbox.env(),
    GUILD_IDS: harbour.id,
    OWNER_IDS: mona.id,
    DATA_DIR: data,
    PORT: "0",
    LOG_LEVEL: "silent",
    RETURN_TO: "harbour=https://harbour.example/welcome",
    OPERATOR_NAME: "Harbour Crew",
    CONTACT_URL: "https://harbour.example/contact",
    SECRET_KEY: randomBytes(32).toString("base64"),
    ENCRYPTION_KEYS: `pictures:${randomBytes(32).toString("base64")}`,
  });
  if (!reading.ok) throw new Error(reading.lines.join("\n"));
  const app = await createApp({ ...reading, clock: { now: () => new Date(time) }, logTo: { write: () => undefined } });
  await app.start();
  const url = app.address();
  sandbox.allowRedirect(`${url}/authorize/callback`);
  await sandbox.waitFor(() => !app.guildState.freshness().stale);
  const { key } = await app.keys.bootstrap(systemCall("cli", uuid7()), { name: "Harbour Desk" });
  const ask = async (method: string, path: string, body?: object): Promise<string> => {
    const headers = { authorization: `Bearer ${key}`, "x-acting-user": mona.id, "content-type": "application/json" };
    const answer = await fetch(url + path, { method, headers, ...(body !== undefined && { body: JSON.stringify(body) }) });
    if (!answer.ok) throw new Error(`${answer.status.toString()} ${await answer.text()}`);
    return answer.text();
  };
  harbour.addMember(ann);
  const session = async (): Promise<string> => {
    const input = { discord_user_id: ann.id, purpose: "recruitment", request_reference: "REC-REQ-000012", return_to: "harbour" };
    return (JSON.parse(await ask("POST", "/authorize/sessions", input)) as { url: string }).url;
  };
  /** The address of the control room once a review card stands in the channel. */
  const reviewCard = async (): Promise<string> => {
    await ask("PUT", `/channels/${harbour.id}`, { review: reviews.id });
    const request = { user_id: rogue.id, category: "raid", severity: "high", reason: "Led the raid of Sunday night." };
    await ask("POST", "/workflows/blacklist-user", request);
    await sandbox.waitFor(() => harbour.messages().some(({ embeds }) => embeds.length > 0));
    return `${sandbox.controlRoom}?guild=${harbour.id}&as=${mona.id}`;
  };
  const close = async (): Promise<void> => {
    await app.stop();
    await sandbox.stop();
    await rm(data, { recursive: true, force: true });
  };
  return { url, ann, ask, session, reviewCard, close };
}

async function press(page: Page, name: string): Promise<void> {
  await Promise.all([page.waitForEvent("load"), page.getByRole("button", { name, exact: true }).click()]);
}

/** Say yes on Discord's page. */
async function agreeAtDiscord(page: Page, person: User): Promise<void> {
  await page.getByLabel("Signed in as").selectOption(person.id);
  await press(page, "Authorize");
}

async function take(page: Page, name: string): Promise<void> {
  await keep(name, await page.screenshot({ fullPage: true }));
}

async function keep(name: string, screenshot: Buffer): Promise<void> {
  const picture = smallPng(screenshot);
  process.stdout.write(`${name}.png ${picture.length.toString()} bytes\n`);
  if (picture.length > maxBytes) throw new Error(`${name}.png is larger than ${maxBytes.toString()} bytes`);
  await writeFile(join(folder, `${name}.png`), picture);
}

/** How much of the consent page the picture of `README.md` shows. */
const maxHeight = 900;

/** The review card and the first screen of the consent page side by side. */
async function takeFirstLook(page: Page, stage: Awaited<ReturnType<typeof createStage>>): Promise<void> {
  await page.setViewportSize({ width: 560, height: maxHeight });
  await page.goto(await stage.reviewCard());
  const card = page.locator("#channels article").first();
  await card.waitFor();
  // The panel cuts off what is higher than it.
  await page.evaluate('document.querySelector("#channels").style.maxHeight = "none"');
  const parts = [await card.screenshot()];
  await page.setViewportSize({ width, height: maxHeight });
  await page.goto(await stage.session());
  parts.push(await page.screenshot());
  const images = parts.map((part) => `<img src="data:image/png;base64,${part.toString("base64")}">`);
  await page.setViewportSize({ width: 1000, height: maxHeight });
  await page.goto("about:blank");
  await page.setContent(`<!doctype html><style>${sideBySide}</style>${images.join("")}`);
  await keep("first-look", await page.locator("body").screenshot());
}

const sideBySide =
  "body { margin: 0; padding: 24px; display: flex; gap: 24px; justify-content: center; align-items: flex-start; background: #d9dde6 } img { border-radius: 8px }";

async function takeAll(page: Page, stage: Awaited<ReturnType<typeof createStage>>): Promise<void> {
  const { url, ann, ask } = stage;
  const address = await stage.session();
  await page.emulateMedia({ colorScheme: "dark" });
  await page.goto(`${address}?locale=de`);
  await take(page, "consent-dark");
  await page.emulateMedia({ colorScheme: "light" });
  await page.goto(address);
  await take(page, "consent");
  await press(page, "Agree and continue to Discord");
  await agreeAtDiscord(page, ann);
  for (const ending of endings) {
    await page.goto(`${url}/authorize/result/${ending}/harbour`);
    await take(page, ending);
  }
  await ask("GET", `/users/${ann.id}/servers`);
  await page.goto(`${url}/privacy`);
  await press(page, "Sign in with Discord");
  await agreeAtDiscord(page, ann);
  for (let tries = 0; tries < 50 && !(await page.content()).includes("Mona: "); tries += 1) await page.reload();
  await take(page, "privacy");
  await page.getByLabel("I know that this cannot be undone.").check();
  await press(page, "Delete");
  await take(page, "privacy-deleted");
}

if (chromiumPath === undefined) throw new Error("No Chromium found: install it (apt-get install chromium) or name one in CHROMIUM_PATH.");
await mkdir(folder, { recursive: true });
const stage = await createStage();
const browser = await chromium.launch({ executablePath: chromiumPath, args: chromiumArguments });
try {
  const context = await browser.newContext({ viewport: { width, height: 320 }, locale: "en-GB", colorScheme: "light" });
  await takeAll(await context.newPage(), stage);
  await takeFirstLook(await context.newPage(), stage);
} finally {
  await browser.close();
  await stage.close();
}
