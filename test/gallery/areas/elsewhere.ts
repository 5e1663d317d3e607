import { spawn } from "node:child_process";
import { setTimeout as delay } from "node:timers/promises";
import { fileURLToPath } from "node:url";
import { systemCall } from "../../../src/kernel/call.ts";
import { uuid7 } from "../../../src/kernel/ids.ts";
import { installation } from "../../cli/installation.ts";
import { messageLines } from "../shown.ts";
import type { Stage } from "../stage.ts";

const root = fileURLToPath(new URL("../../..", import.meta.url));

/** What people read without having asked for it: direct messages and the cards of a channel. */
export async function messages(stage: Stage): Promise<void> {
  const { world, people, begin, show, guild } = stage;
  begin("messages");
  await world.app.deliveries.deliverDue(systemCall("job", uuid7()));
  for (const user of Object.values(people))
    for (const message of world.sandbox.directMessages(user)) show(`To @${user.username}`, messageLines(message as never));
  begin("cards");
  await settled(() => JSON.stringify(guild.messages().map(({ embeds }) => embeds)));
  for (const message of guild.messages())
    if (message.embeds.length > 0 && !message.flags) show("In the channel", messageLines(message as never));
}

/** Cards are drawn beside the requests: so many looks in a row find them alike. */
async function settled(look: () => string): Promise<void> {
  let [last, alike] = [look(), 0];
  while (alike < 8) {
    await delay(500);
    const now = look();
    alike = now === last ? alike + 1 : 0;
    last = now;
  }
}

/** The pages that people open. */
export async function pages(stage: Stage, locale: string): Promise<void> {
  const { world, people, begin, show } = stage;
  begin("pages");
  const asked = { discord_user_id: people.resident.id, purpose: "verification" };
  const { url } = (await world.post("/authorize/sessions", asked, { actor: people.mona })).body as { url: string };
  const headers = { "accept-language": locale, accept: "text/html" };
  for (const [title, path] of [
    ["The consent page", new URL(url).pathname],
    ["A link that is over", "/authorize/AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA"],
    ["The privacy page before anybody is signed in", "/privacy"],
    ["The first page", "/"],
    ["An address that does not exist", "/nowhere"],
  ] as const)
    show(title, textOf(await (await fetch(world.url + path, { headers, redirect: "manual" })).text()));
  await appeal(stage, headers);
}

/** The pages on the way of somebody who appeals. */
async function appeal({ world, people, show, quoted }: Stage, language: Record<string, string>): Promise<void> {
  const { cookies, body } = await world.sandbox.as(people.rogue).authorize(`${world.url}/appeal`, { approve: true });
  const cookie = Object.entries(cookies)
    .map(([name, value]) => `${name}=${value}`)
    .join("; ");
  const headers = { ...language, cookie, "sec-fetch-site": "same-origin" };
  const open = async (path: string, init: RequestInit = {}) => await fetch(world.url + path, { headers, redirect: "manual", ...init });
  const form = (texts: Record<string, string>): FormData => {
    const sent = new FormData();
    const token = /name="token" value="([^"]+)"/.exec(body)?.[1] ?? "";
    for (const [name, value] of Object.entries({ token, outcome: "reduce", ...texts })) sent.set(name, value);
    for (const text of Object.values(texts)) quoted.add(text);
    return sent;
  };
  const { revision } = (await world.get("/appeals/questions", { actor: people.olivia })).body.data as { revision: number };
  const written = { grounds: "My account was stolen on that day.", revision: revision.toString() };
  show("Appeals: before anybody is signed in", textOf(await (await fetch(`${world.url}/appeal`, { headers: language })).text()));
  const overview = await (await open("/appeal")).text();
  show("Appeals: what was decided about somebody", textOf(overview));
  const path = /\/appeal\/decision\/BL-\d+/.exec(overview)?.[0] ?? "";
  show("Appeals: the form", textOf(await (await open(path)).text()));
  const lacking = form({ ...written, grounds: "No." });
  show("Appeals: a form that lacks something", textOf(await (await open(path, { method: "POST", body: lacking })).text()));
  const filed = await open(path, { method: "POST", body: form({ ...written, "answer-0": "Somebody else wrote it." }) });
  show("Appeals: how an appeal stands", textOf(await (await open(filed.headers.get("location") ?? "")).text()));
  show("Appeals: a decision that is appealed", textOf(await (await open(path)).text()));
  show("Appeals: nothing of that name", textOf(await (await open("/appeal/decision/PUN-REQ-999999")).text()));
}

/** What an operator reads at the command line. */
export async function commandLine({ begin, show }: Stage): Promise<void> {
  begin("command-line");
  const lines = ["--help", "keys --help", "nosuch", "keys list", "config check", "audit verify --database nowhere"];
  const { program } = await installation();
  const said = await Promise.all(lines.map((line) => runCli(program, line.split(" "))));
  for (const [index, line] of lines.entries()) show(`provost ${line}`, said[index] ?? []);
}

function runCli(program: string, words: readonly string[]): Promise<string[]> {
  const child = spawn(process.execPath, [program, ...words], { cwd: root, env: { PATH: process.env["PATH"] } });
  let text = "";
  for (const stream of [child.stdout, child.stderr]) stream.on("data", (part: Buffer) => (text += part.toString()));
  return new Promise((resolve) =>
    child.on("close", () =>
      resolve(
        text
          .replaceAll(root, "/srv/provost/")
          .split("\n")
          .filter((line) => line.trim() !== ""),
      ),
    ),
  );
}

const entities: Readonly<Record<string, string>> = { "&amp;": "&", "&lt;": "<", "&gt;": ">", "&quot;": '"', "&#39;": "'", "&nbsp;": " " };

/** A page as it is read aloud: a line for each block, without styles and scripts. */
function textOf(page: string): string[] {
  return page
    .replaceAll(/<(style|script|head)\b[\s\S]*?<\/\1>/g, "")
    .replaceAll(/\s+/g, " ")
    .replaceAll(/<button[^>]*>(.*?)<\/button>/g, "\n[$1]\n")
    .replaceAll(/<\/?(?:p|h\d|li|ul|label|legend|section|div|main|form|header|footer|summary|details|dt|dd|tr|body|html|br)\b[^>]*>/g, "\n")
    .replaceAll(/<code>(.*?)<\/code>/g, "`$1`")
    .replaceAll(/<[^>]+>/g, "")
    .replaceAll(/&(?:amp|lt|gt|quot|nbsp|#39);/g, (entity) => entities[entity] ?? entity)
    .split("\n")
    .map((line) => line.trim())
    .filter((line) => line !== "");
}
