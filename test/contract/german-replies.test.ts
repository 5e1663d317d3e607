import { afterAll, describe, expect, test } from "vitest";
import type { Shown, User } from "../../src/sandbox/index.ts";
import { englishLines } from "../support/english-words.ts";
import { createWorld, type World } from "../support/world.ts";
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

/** A world whose people read German, and notes what they write. */
async function setUp(env: Record<string, string>): Promise<{ scene: Everybody; written: Set<string> }> {
  const made = await createWorld({ onEnd: (end) => ends.push(end), env });
  const written = new Set<string>();
  const noting =
    <Rest extends unknown[], Result>(ask: (path: string, body?: unknown, ...rest: Rest) => Result) =>
    (path: string, body?: unknown, ...rest: Rest): Result => {
      for (const text of textsIn(body)) written.add(text);
      return ask(path, body, ...rest);
    };
  const world: World = Object.assign(Object.create(made) as World, {
    post: noting(made.post),
    patch: noting(made.patch),
    put: noting(made.put),
  });
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
