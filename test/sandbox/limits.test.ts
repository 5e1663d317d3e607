// @module-tag sqlite
import { expect, onTestFinished, test, type TestContext } from "vitest";
import type { Interaction } from "discord.js";
import { callApi, startBot, startSandbox } from "./support.ts";

const x = (length: number): string => "x".repeat(length);
const button = (id: string, more: object = {}) => ({ type: 2, style: 1, label: "OK", custom_id: id, ...more });
const row = (...components: object[]) => ({ type: 1, components });
const rowsOf = (count: number) => Array.from({ length: count }, (_, index) => row(button(`b${index}`)));
const buttons = (count: number) => [row(...Array.from({ length: count }, (_, index) => button(`b${index}`)))];
const options = (count: number) => Array.from({ length: count }, (_, index) => ({ label: `L${index}`, value: `${index}` }));
const menu = (more: object) => [row({ type: 3, custom_id: "m", options: options(2), ...more })];
const field = { name: "n", value: "v" };
const embed = (more: object) => ({ embeds: [{ title: "t", ...more }] });

/** What is just allowed, and what is one too many. */
const messageLimits: [string, object, object][] = [
  ["content of 2,000", { content: x(2000) }, { content: x(2001) }],
  ["5 rows", { components: rowsOf(5) }, { components: rowsOf(6) }],
  ["5 buttons in a row", { components: buttons(5) }, { components: buttons(6) }],
  ["25 options", { components: menu({ options: options(25) }) }, { components: menu({ options: options(26) }) }],
  [
    "option labels of 100",
    { components: menu({ options: [{ label: x(100), value: "1" }] }) },
    { components: menu({ options: [{ label: x(101), value: "1" }] }) },
  ],
  ["option values that differ", { components: menu({}) }, { components: menu({ options: [options(1), options(1)].flat() }) }],
  ["no more choices than options", { components: menu({ max_values: 2 }) }, { components: menu({ max_values: 3 }) }],
  ["one menu in a row", { components: menu({}) }, { components: [row({ type: 5, custom_id: "u" }, button("b"))] }],
  ["custom ids of 100", { components: [row(button(x(100)))] }, { components: [row(button(x(101)))] }],
  ["custom ids of 1", { components: [row(button("a"))] }, { components: [row(button(""))] }],
  ["custom ids used once", { components: [row(button("a"), button("b"))] }, { components: [row(button("a"), button("a"))] }],
  ["button labels of 80", { components: [row(button("a", { label: x(80) }))] }, { components: [row(button("a", { label: x(81) }))] }],
  ["a button with words", { components: [row(button("a"))] }, { components: [row({ type: 2, style: 1, custom_id: "a" })] }],
  [
    "links without custom id",
    { components: [row({ type: 2, style: 5, label: "L", url: "https://example.org" })] },
    { components: [row(button("a", { style: 5, url: "https://example.org" }))] },
  ],
  ["placeholders of 150", { components: menu({ placeholder: x(150) }) }, { components: menu({ placeholder: x(151) }) }],
  ["no text input in a message", { components: rowsOf(1) }, { components: [row({ type: 4, style: 1, custom_id: "t", label: "T" })] }],
  ["only rows at the top", { components: rowsOf(1) }, { components: [{ type: 10, content: "text" }] }],
  [
    "texts of 4,000 in new components",
    { flags: 32768, components: [{ type: 10, content: x(4000) }] },
    { flags: 32768, components: [{ type: 10, content: x(4001) }] },
  ],
  [
    "no content beside new components",
    { flags: 32768, components: [{ type: 10, content: "a" }] },
    { flags: 32768, content: "b", components: [{ type: 10, content: "a" }] },
  ],
  [
    "10 embeds",
    { embeds: Array.from({ length: 10 }, () => ({ title: "t" })) },
    { embeds: Array.from({ length: 11 }, () => ({ title: "t" })) },
  ],
  ["titles of 256", embed({ title: x(256) }), embed({ title: x(257) })],
  ["descriptions of 4,096", embed({ description: x(4096) }), embed({ description: x(4097) })],
  ["25 fields", embed({ fields: Array.from({ length: 25 }, () => field) }), embed({ fields: Array.from({ length: 26 }, () => field) })],
  ["field names of 256", embed({ fields: [{ ...field, name: x(256) }] }), embed({ fields: [{ ...field, name: x(257) }] })],
  ["field values of 1,024", embed({ fields: [{ ...field, value: x(1024) }] }), embed({ fields: [{ ...field, value: x(1025) }] })],
  ["field values that say something", embed({ fields: [field] }), embed({ fields: [{ ...field, value: " " }] })],
  ["footers of 2,048", embed({ footer: { text: x(2048) } }), embed({ footer: { text: x(2049) } })],
  ["authors of 256", embed({ author: { name: x(256) } }), embed({ author: { name: x(257) } })],
  [
    "6,000 in all embeds",
    { embeds: [{ description: x(3000) }, { description: x(3000) }] },
    { embeds: [{ description: x(3000) }, { description: x(3001) }] },
  ],
];

test.each(messageLimits)("a message may have %s and not more", async (_name, good, bad) => {
  const sandbox = await startSandbox();
  const guild = sandbox.createGuild({ name: "Harbour" });
  const path = `/channels/${guild.createChannel("a").id}/messages`;
  expect((await callApi(sandbox, "POST", path, good)).status).toBe(200);
  expect(await callApi(sandbox, "POST", path, bad)).toMatchObject({ status: 400, body: { code: 50035 } });
  expect(guild.messages()).toHaveLength(1);
});

const input = { type: 4, style: 1, custom_id: "t" };
const label = (component: object, more: object = {}) => ({ type: 18, label: "L", component, ...more });
const modal = (more: object) => ({ custom_id: "m", title: "T", components: [label(input)], ...more });
const parts = (count: number) => Array.from({ length: count }, (_, index) => label({ ...input, custom_id: `t${index}` }));
const old = (text: string) => ({ type: 1, components: [{ ...input, label: text }] });

const modalLimits: [string, object, object][] = [
  ["a title of 45", { title: x(45) }, { title: x(46) }],
  ["a custom id of 100", { custom_id: x(100) }, { custom_id: x(101) }],
  ["5 parts", { components: parts(5) }, { components: parts(6) }],
  ["labels of 45", { components: [label(input, { label: x(45) })] }, { components: [label(input, { label: x(46) })] }],
  ["labels of 45 in rows", { components: [old(x(45))] }, { components: [old(x(46))] }],
  ["custom ids used once", { components: parts(2) }, { components: [label(input), label(input)] }],
  ["a label of its own only in rows", { components: [old("a")] }, { components: [label({ ...input, label: "a" })] }],
  [
    "25 options",
    { components: [label({ type: 3, custom_id: "s", options: options(25) })] },
    { components: [label({ type: 3, custom_id: "s", options: options(26) })] },
  ],
  [
    "10 files",
    { components: [label({ type: 19, custom_id: "f", max_values: 10 })] },
    { components: [label({ type: 19, custom_id: "f", max_values: 11 })] },
  ],
  ["texts", { components: [{ type: 10, content: "a" }] }, { components: [button("b")] }],
  [
    "4,000 characters in a field",
    { components: [label({ ...input, max_length: 4000 })] },
    { components: [label({ ...input, max_length: 4001 })] },
  ],
];

/** A bot that answers a command, or what is typed, with this data. */
async function answering(data: () => object, type: number, { onTestFinished }: Pick<TestContext, "onTestFinished">, ackDeadlineMs = 3000) {
  const sandbox = await startSandbox({ ackDeadlineMs }, onTestFinished);
  const guild = sandbox.createGuild({ name: "Harbour" });
  const ann = sandbox.createUser("ann");
  guild.addMember(ann);
  const client = await startBot(sandbox, {}, onTestFinished);
  const statuses: { status: number; body: unknown }[] = [];
  const answer = async ({ id, token }: Interaction): Promise<void> => {
    statuses.push(await callApi(sandbox, "POST", `/interactions/${id}/${token}/callback`, { type, data: data() }));
  };
  client.on("interactionCreate", (interaction) => void answer(interaction));
  await client.application.commands.set([
    { name: "go", description: "Go", options: [{ type: 3, name: "a", description: "b", autocomplete: true }] },
  ]);
  return { keys: sandbox.as(ann).in(guild), statuses };
}

test.each(modalLimits)("a modal may have %s and not more", async (_name, good, bad) => {
  let data: object = modal(bad);
  const { keys, statuses } = await answering(() => data, 9, { onTestFinished });
  const refused = await keys.runSlashCommand("go");
  await expect.poll(() => statuses).toMatchObject([{ status: 400, body: { code: 50035 } }]);
  expect(refused.interaction.modal).toBeNull();
  data = modal(good);
  expect(await (await keys.runSlashCommand("go")).modal()).toMatchObject(modal(good));
});

const choices = (count: number) => Array.from({ length: count }, (_, index) => ({ name: `n${index}`, value: `${index}` }));

test.concurrent.for([
  ["25 choices", choices(25), choices(26)],
  ["names of 100", [{ name: x(100), value: "v" }], [{ name: x(101), value: "v" }]],
  ["names that are not empty", [{ name: "n", value: "v" }], [{ name: "", value: "v" }]],
  ["values of 100", [{ name: "n", value: x(100) }], [{ name: "n", value: x(101) }]],
] as const)("autocomplete may have %s and not more", async ([_name, good, bad], { expect, onTestFinished }) => {
  let data: object = { choices: bad };
  const { keys, statuses } = await answering(() => data, 8, { onTestFinished }, 1500);
  // The refused answer leaves the person waiting; nothing of it arrives.
  const waiting = keys.autocomplete("go", "x").catch(() => "nothing");
  await expect.poll(() => statuses).toMatchObject([{ status: 400, body: { code: 50035 } }]);
  data = { choices: good };
  expect(await keys.autocomplete("go", "x")).toEqual(good);
  expect(await waiting).toBe("nothing");
});

test.each([
  ["user commands with spaces and capitals", { type: 2, name: "Intel Profile" }, { type: 2, name: x(33) }],
  ["message commands without description", { type: 3, name: "Save as evidence" }, { type: 3, name: "Save", description: "no" }],
  [
    "user commands without options",
    { type: 2, name: "A", options: [] },
    { type: 2, name: "A", options: [{ type: 3, name: "a", description: "b" }] },
  ],
  ["three types", { type: 3, name: "A" }, { type: 9, name: "A" }],
  [
    "names of commands in another language",
    { name: "a", description: "b", name_localizations: { de: "fall" } },
    { name: "a", description: "b", name_localizations: { de: "Der Fall" } },
  ],
  [
    "choices of 100",
    { name: "a", description: "b", options: [{ type: 3, name: "c", description: "d", choices: [{ name: "n", value: x(100) }] }] },
    { name: "a", description: "b", options: [{ type: 3, name: "c", description: "d", choices: [{ name: "n", value: x(101) }] }] },
  ],
  ["8,000 characters", wide(78), wide(82)],
])("a command may have %s and not more", async (_name, good, bad) => {
  const sandbox = await startSandbox();
  const path = `/applications/${sandbox.env().DISCORD_CLIENT_ID}/commands`;
  expect((await callApi(sandbox, "POST", path, good)).status).toBe(201);
  expect(await callApi(sandbox, "POST", path, bad)).toMatchObject({ status: 400, body: { code: 50035 } });
  expect((await callApi(sandbox, "GET", path)).body).toHaveLength(1);
});

/** A command of so many hundred characters. */
function wide(hundreds: number): object {
  const option = (name: string, count: number) => ({
    type: 3,
    name,
    description: "d",
    choices: Array.from({ length: count }, (_, index) => ({ name: `n${index}`.padEnd(50, "x"), value: `${index}`.padEnd(50, "x") })),
  });
  return {
    name: "wide",
    description: "w",
    options: ["a", "b", "c", "d"].map((name, index) => option(name, Math.max(0, Math.min(25, hundreds - index * 25)))),
  };
}

test("a language that Discord does not have is refused, wherever a command says it", async () => {
  const sandbox = await startSandbox();
  const path = `/applications/${sandbox.env().DISCORD_CLIENT_ID}/commands`;
  const choice = (locale: string) => ({ name: "One", value: "one", name_localizations: { [locale]: "Eins" } });
  const option = (locale: string) => ({ type: 3, name: "which", description: "w", choices: [choice(locale)] });
  const everywhere = (locale: string): object[] => [
    { name: "slash", description: "s", name_localizations: { [locale]: "strich" } },
    { name: "slash", description: "s", description_localizations: { [locale]: "S" } },
    {
      name: "slash",
      description: "s",
      options: [{ type: 3, name: "which", description: "w", description_localizations: { [locale]: "W" } }],
    },
    { name: "slash", description: "s", options: [option(locale)] },
    { type: 2, name: "Menu", name_localizations: { [locale]: "Auswahl" } },
  ];
  for (const command of everywhere("en"))
    expect(await callApi(sandbox, "PUT", path, [command])).toMatchObject({ status: 400, body: { code: 50035 } });
  for (const command of everywhere("de")) expect((await callApi(sandbox, "PUT", path, [command])).status).toBe(200);
});

test("a sixth user command is refused, and the number of slash commands counts apart", async () => {
  const sandbox = await startSandbox();
  const path = `/applications/${sandbox.env().DISCORD_CLIENT_ID}/commands`;
  const all = Array.from({ length: 6 }, (_, index) => ({ type: 2, name: `C ${index}` }));
  expect(await callApi(sandbox, "PUT", path, all)).toMatchObject({ status: 400, body: { code: 30032 } });
  expect((await callApi(sandbox, "PUT", path, all.slice(1))).status).toBe(200);
  expect(await callApi(sandbox, "POST", path, all[0])).toMatchObject({ status: 400, body: { code: 30032 } });
  expect((await callApi(sandbox, "POST", path, { name: "slash", description: "s" })).status).toBe(201);
});
