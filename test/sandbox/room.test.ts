// @module-tag sqlite
import { expect, test } from "vitest";
import { createElement } from "hono/jsx";
import { MessageView } from "../../sandbox/room/message.tsx";
import { ModalForm } from "../../sandbox/room/modal.tsx";
import { Text } from "../../sandbox/room/text.tsx";
import { sendRequest } from "../../sandbox/browser.ts";
import { postMessage } from "../../sandbox/messages.ts";
import { createGuild } from "../../sandbox/world-guilds.ts";
import { createUser, createWorld } from "../../sandbox/world.ts";
import { startSandbox } from "./support.ts";

const hostile = `<script>alert(1)</script>"'><img src=x onerror=y>`;
const html = (element: unknown): string => String(element);
const text = (words: string): string => html(createElement(Text, { text: words }));

test("a text shows bold, code and times, and everything else as typed", () => {
  expect(text("a **b** `c` __d__")).toBe("a <strong>b</strong> <code>c</code> __d__");
  expect(text("<t:0:R>")).toBe('<time datetime="1970-01-01T00:00:00.000Z">1970-01-01 00:00 UTC</time>');
  expect(text("<t:99999999999999999999>")).toContain("&lt;t:");
  for (const wrapped of [hostile, `**${hostile}**`, `\`${hostile}\``, `\`\`\`${hostile}\`\`\``])
    expect(text(wrapped)).not.toMatch(/<script|<img/);
});

test("nothing hostile in a message becomes part of the page", () => {
  const world = createWorld(Date.now);
  const owner = createUser(world, hostile, { global_name: hostile });
  const guild = createGuild(world, { name: hostile, owner });
  const [channel] = guild.channels.values();
  if (!channel) throw new Error("no channel");
  const message = postMessage(
    world,
    channel,
    {
      content: hostile,
      embeds: [
        {
          title: hostile,
          description: hostile,
          url: "javascript:alert(1)",
          color: 0xff0000,
          footer: { text: hostile },
          author: { name: hostile },
          fields: [{ name: hostile, value: hostile }],
        },
      ],
      components: [
        {
          type: 1,
          components: [
            { type: 2, style: 3, label: hostile, custom_id: hostile },
            { type: 2, style: 5, label: hostile, url: "javascript:alert(1)" },
          ],
        },
        { type: 1, components: [{ type: 3, custom_id: "m", placeholder: hostile, options: [{ label: hostile, value: hostile }] }] },
      ] as never,
      attachments: [{ id: "1", name: hostile, contentType: "text/html", bytes: Buffer.from(hostile) }],
    },
    { author: owner },
  );
  const page = html(createElement(MessageView, { message, place: { world, guild } }));
  expect(page).not.toMatch(/<script|<img|javascript:|"'>/);
  expect(page).toContain('fill="#ff0000"');
  expect(page.match(/&lt;script&gt;/g)?.length).toBeGreaterThan(10);
  const modal = {
    custom_id: hostile,
    title: hostile,
    components: [{ type: 18, label: hostile, component: { type: 4, style: 2, custom_id: "t", value: hostile } }],
  };
  expect(html(createElement(ModalForm, { modal, guild, run: "1" }))).not.toMatch(/<script|<img|"'>/);
});

const guarded = { "x-sandbox-room": "1" };

test("the room answers only this machine, and takes orders only from its own page", async () => {
  const sandbox = await startSandbox({ seed: "small" });
  const { harbour } = sandbox.seeded.guilds;
  const { mona } = sandbox.seeded.users;
  const page = await fetch(sandbox.controlRoom);
  expect([page.status, page.headers.get("content-security-policy")]).toEqual([
    200,
    "default-src 'self'; base-uri 'none'; form-action 'self'; frame-ancestors 'none'",
  ]);
  const source = await page.text();
  expect(source).toContain("local sandbox - not Discord");
  expect(source).not.toMatch(/ on\w+=|style=|<script>/);
  const kick = (headers: Record<string, string>) => {
    const body = new FormData();
    for (const [name, value] of Object.entries({ guild: harbour.id, user: mona.id })) body.set(name, value);
    return fetch(`${sandbox.controlRoom}/api/acts/kick`, { method: "POST", body, headers });
  };
  expect((await kick({})).status).toBe(403);
  const named = await sendRequest("GET", new URL(sandbox.controlRoom), { headers: { Host: "evil.example" } });
  expect([named.status, named.body]).toEqual([403, "The control room is for this machine only."]);
  expect(harbour.member(mona)).toBeDefined();
  const done = await kick(guarded);
  expect([done.status, await done.json(), harbour.member(mona)]).toEqual([200, { said: "mona is kicked." }, undefined]);
  const again = await kick(guarded);
  expect([again.status, await again.json()]).toMatchObject([400, { said: "Mona is not in Harbour." }]);
  expect(sandbox.unhandled).toEqual([]);
});

test("members come in pages of fifty, and the log tells no authorization", async () => {
  const sandbox = await startSandbox({ seed: "small" });
  const { harbour } = sandbox.seeded.guilds;
  await fetch(`${sandbox.apiBase}/v10/users/@me`, { headers: { authorization: `Bot ${sandbox.env().DISCORD_TOKEN}` } });
  const look = async (page: number) =>
    ((await (await fetch(`${sandbox.controlRoom}/api/view?guild=${harbour.id}&page=${page}`)).json()) as { panels: Record<string, string> })
      .panels;
  const [first, second] = [await look(0), await look(1)];
  const rows = (table = "") => table.match(/<th scope="row">/g)?.length;
  expect([rows(first["members"]), rows(second["members"])]).toEqual([50, 11]);
  expect(first["log"]).toContain("200 GET /users/@me");
  expect(first["log"]).not.toContain(sandbox.env().DISCORD_TOKEN);
});
