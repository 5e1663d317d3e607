// @module-tag sqlite
// @module-tag slow
import { afterAll, describe, expect, test } from "vitest";
import type { Entry, OptionSpec } from "../../src/commands/entry.ts";
import { optionTypes } from "../../src/commands/payloads.ts";
import { commandTable } from "../../src/features.ts";
import { walkComponents } from "../../sandbox/components.ts";
import type { Run } from "../../sandbox/interaction-run.ts";
import type { Shown, User } from "../../sandbox/index.ts";
import { createDice } from "../support/dice.ts";
import { englishLines } from "../support/english-words.ts";
import { commandData, rawDoor } from "../support/raw-door.ts";
import { seedOf, sizeOf } from "../support/size.ts";
import { createWorld, type World } from "../support/world.ts";
import { createRecords } from "./fuzz/records.ts";
import { cases, environments } from "./parity/cases.ts";
import type { Case, Scene, Way } from "./parity/scene.ts";
import { staffAtConsole } from "./world.ts";

type Everybody = Scene & { outsider: User };
const people = ["owner", "admin", "senior", "ann", "outsider"] as const;
const ends: (() => Promise<void>)[] = [];
afterAll(async () => void (await Promise.all(ends.map((end) => end()))));

/** Every text in what somebody sends. */
function textsIn(value: unknown): string[] {
  if (typeof value === "string") return [value];
  return typeof value === "object" && value !== null && !(value instanceof Uint8Array) ? Object.values(value).flatMap(textsIn) : [];
}

/** A world that notes what is written over HTTP. */
async function createNoted(env: Record<string, string>): Promise<{ world: World; written: Set<string> }> {
  const made = await createWorld({ onEnd: (end) => ends.push(end), env });
  const written = new Set<string>();
  const noting =
    (ask: World["post"]): World["post"] =>
    (path, body, options) => {
      for (const text of textsIn(body)) written.add(text);
      return ask(path, body, options);
    };
  const world = Object.assign(Object.create(made) as World, {
    post: noting(made.post),
    patch: noting(made.patch),
    put: noting(made.put),
  });
  return { world, written };
}

/** A world whose people read German. */
async function setUp(env: Record<string, string>): Promise<{ scene: Everybody; written: Set<string> }> {
  const { world, written } = await createNoted(env);
  const pool = { key: "north", name: "North", template: "N-{n:03}", ranges: [[1, 30]] };
  expect((await world.post("/callsigns/pools", pool, { actor: await world.staff("owner") })).status).toBe(201);
  const [owner, admin, senior] = [
    await staffAtConsole(world, "owner"),
    await staffAtConsole(world, "admin"),
    await staffAtConsole(world, "senior"),
  ];
  const [ann, bob, outsider] = [world.member("ann"), world.member("bob"), world.member("outsider")];
  world.guild.setRoles(outsider, [world.guild.createRole("door", { permissions: ["Administrator"] })]);
  await world.get("/confirmations", { actor: owner, signed: true });
  const scene = { world, owner, admin, senior, ann, bob, outsider, kept: {} };
  for (const name of people) scene[name].locale = "de";
  return { scene, written };
}

/** Gives a command, fills its form in and says yes where it asks. @returns everything it showed */
async function give(scene: Scene, entry: string, way: Way, actor: User, written: Set<string>): Promise<Shown[]> {
  const { world } = scene;
  const [given, form] = [way.given?.(scene) ?? {}, way.form?.(scene) ?? {}];
  for (const text of textsIn([given, form])) written.add(text);
  let run = await world.sandbox.as(actor).in(world.guild).runSlashCommand(entry, given);
  const { type } = await run.acked;
  if (type === 9) run = await run.submitModal(form);
  const reply = await run.reply();
  if (!JSON.stringify(reply.components).includes("Ja, ausführen")) return [reply];
  const pressed = await run.clickButton("Ja, ausführen");
  return [reply, await pressed.reply(), ...pressed.followups()];
}

/** What people write in Discord, and titles that the service gives itself, in English as the HTTP API has them. */
async function writtenIn({ app, sandbox }: World): Promise<string[]> {
  const { read } = app.database;
  const messages = [...sandbox.inside.world.channels.values()].flatMap((channel) => [...channel.messages.values()]);
  const found = [await read.workflowRequest.findMany({ select: { title: true } }), await read.case.findMany({ select: { title: true } })];
  return [...found.flat().map(({ title }) => title), ...messages.filter(({ author }) => !author.bot).map(({ content }) => content)];
}

describe.each(Object.entries(cases))("who reads German is answered in German: %s", (about, list) => {
  const world = setUp(environments[about] ?? {});

  test.each(list.map((one, index): Case & { number: number } => ({ ...one, number: index + 1 })))(
    "$number. $entry",
    async ({ entry, by = "owner", before, isOpen = false, wrong, ...way }) => {
      const { scene, written } = await world;
      await before?.(scene);
      const shown = [
        ...(isOpen ? [] : await give(scene, entry, way, scene.outsider, written)),
        ...(wrong === undefined ? [] : await give(scene, entry, wrong, scene[by], written)),
        ...(await give(scene, entry, way, scene[by], written)),
      ];
      const texts = [...written, ...(await writtenIn(scene.world))];
      expect([...new Set(shown.flatMap((reply) => englishLines(reply, texts)))]).toEqual([]);
    },
  );
});

type Visible = Pick<Shown, "content" | "embeds" | "components">;

/** What somebody sees next: a reply, a form, or what they are offered while they type. */
async function shownBy(run: Run): Promise<{ what: "replies" | "forms" | "choices"; message: Visible }> {
  const { type } = await run.acked;
  const { choices, modal } = run.interaction;
  const nothing = { embeds: [], components: [] };
  if (type === 8) return { what: "choices", message: { ...nothing, content: (choices ?? []).map(({ name }) => name).join("\n") } };
  if (type === 9) return { what: "forms", message: { ...nothing, content: modal?.title ?? "", components: modal?.components ?? [] } };
  const reply = await run.reply();
  const followups = run.followups();
  return {
    what: "replies",
    message: {
      content: [reply, ...followups].map(({ content }) => content).join("\n"),
      embeds: [reply, ...followups].flatMap(({ embeds }) => embeds),
      components: [reply, ...followups].flatMap(({ components }) => components),
    },
  };
}

/** How many commands are given with whatever fits their options. */
const count = sizeOf({ quick: 150, all: 400, long: 20_000 });
const seed = seedOf(1);
/** Commands take rights away as well: after so many somebody else goes on. */
const perPerson = 25;

test(
  `who reads German is answered in German: ${count.toString()} commands with whatever fits (seed ${seed.toString()})`,
  async () => {
    const dice = createDice(seed);
    const { world, written } = await createNoted({});
    const records = await createRecords(world);
    const open = rawDoor(world.sandbox, world.guild.id);
    const listed = ["PUN-REQ-000001", "INV-REQ-000001", "REC-REQ-000001", "CASE-000001", "BL-000001", "NORTH-001", "north", "moderator"];
    const plain = ["30d", "2027-01-01 18:00", "cases.read", "Europe/Berlin", "22:00", "gibt es nicht", "x", "https://example.org/a"];
    const places = [world.guild.id, world.roles.viewer.id, "99999999999999999999", ...records.ids];

    const valueOf = ({ kind, choices }: OptionSpec): unknown => {
      if (choices !== undefined) return dice.pick(choices);
      if (kind === "boolean") return dice.chance(0.5);
      if (kind === "integer" || kind === "number") return dice.pick([0, 1, 2, 7, 400]);
      if (kind === "text") return dice.pick([...listed, ...plain, dice.pick(places)]);
      return dice.pick(places);
    };
    const optionsOf = ({ options = [] }: Entry): object[] =>
      options
        .filter(({ kind, required }) => kind !== "file" && (required === true || dice.chance(0.5)))
        .map((option) => ({ name: option.name, type: optionTypes[option.kind], value: valueOf(option) }));
    const typingIn = ({ options = [] }: Entry, given: readonly object[]): object[] =>
      options.flatMap(({ name, completes }) => (completes === undefined ? [] : [...given, { name, type: 3, value: "", focused: true }]));

    const wrong = new Set<string>();
    const seen = { replies: 0, forms: 0, choices: 0, presses: 0 };
    let person = world.member();
    // Commands also take away what makes a Discord role one of the staff.
    const levels = ["owner", "owner", "owner", "admin", "moderator", "senior"] as const;
    const isMapped = (level: (typeof levels)[number]): boolean =>
      world.app.access.roles().some(({ discord }) => discord.some(({ roleId }) => roleId === world.roles[level].id));
    for (let number = 0; number < count; number += 1) {
      if (number % perPerson === 0) person = await world.staff(dice.pick(levels.filter(isMapped)));
      person.locale = "de";
      const entry = dice.pick(commandTable().entries);
      const given = optionsOf(entry);
      const typing = dice.chance(0.2) ? typingIn(entry, given).slice(-1) : [];
      const run = open(person, { type: typing.length === 0 ? 2 : 4, data: commandData(entry, [...given, ...typing]) });
      let shown = await shownBy(run);
      const texts = [...written, ...textsIn(given)];
      const look = async (what: string): Promise<void> => {
        seen[shown.what] += 1;
        for (const line of englishLines(shown.message, [...texts, ...(await writtenIn(world))])) wrong.add(`${what}: ${line}`);
      };
      await look(`/${entry.command} ${entry.path}`);
      const buttons = [...walkComponents(shown.message.components)].filter(
        ({ type, disabled, custom_id: id }) => type === 2 && disabled !== true && id !== undefined,
      );
      if (shown.what !== "replies" || buttons.length === 0 || dice.chance(0.3)) continue;
      const { custom_id: pressed = "", label = "" } = dice.pick(buttons);
      shown = await shownBy(await run.clickButton({ custom_id: pressed }));
      seen.presses += 1;
      await look(`/${entry.command} ${entry.path}, ${label}`);
    }
    expect([...wrong]).toEqual([]);
    for (const [part, times] of Object.entries(seen)) expect([part, times > count / 50]).toEqual([part, true]);
  },
  count * 2000,
);
