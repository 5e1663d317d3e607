import { beforeAll, expect, test } from "vitest";
import { systemClock } from "../../src/kernel/clock.ts";
import type { User } from "../../sandbox/index.ts";
import { shareWorld, staffAtConsole } from "../contract/world.ts";
import { filePunishment } from "./review-ground.ts";

const time = { offset: 0 };
const shared = shareWorld({ clock: { now: () => new Date(systemClock.now().getTime() + time.offset) } });
const cast: { author: User; admin: User; reference: string } = {} as never;
beforeAll(async () => {
  cast.author = await staffAtConsole(shared.world, "moderator");
  cast.admin = await staffAtConsole(shared.world, "admin");
  cast.reference = await filePunishment(shared.world, cast.author);
});

const ask = (user: User) => shared.world.sandbox.as(user).in(shared.world.guild);
const place = () => `/workflows/punishment/${cast.reference}/comments`;
const said = async (): Promise<{ id: string; body: string; revision: number }[]> =>
  (await shared.world.get(`${place()}?limit=200`, { actor: cast.admin })).body.data;
const find = async (id: string) => (await said()).find((one) => one.id === id);
const write = async (actor: User, body: string): Promise<string> =>
  (await shared.world.post(place(), { body }, { actor })).body.data.id as string;
const run = (user: User, comment: string, more: object = {}) =>
  ask(user).runSlashCommand("review comment-edit", { reference: cast.reference, comment, ...more });

test("the form holds the comment as it reads, and what is sent takes its place", async () => {
  const id = await write(cast.admin, "The second *witness* answered.");
  const given = await run(cast.admin, id);
  expect((await given.reply()).content).toContain("The second \\*witness\\* answered.");
  const pressed = await given.clickButton("Change it");
  const form = await pressed.modal();
  expect(JSON.stringify(form)).toContain('"value":"The second *witness* answered."');
  const sent = await pressed.submitModal({ body: "Both witnesses answered." });
  expect(JSON.stringify((await sent.reply()).embeds)).toContain("Both witnesses answered.");
  expect(await find(id)).toMatchObject({ body: "Both witnesses answered.", revision: 2 });
  const { read } = shared.world.app.database;
  const entries = await read.auditEntry.findMany({ where: { action: "workflow.comment_edit" } });
  expect(entries.map(({ via, actorId }) => [via, actorId])).toEqual([["slash", cast.admin.id]]);
});

test("with the text beside it no form is shown", async () => {
  const id = await write(cast.admin, "One");
  expect(JSON.stringify((await (await run(cast.admin, id, { body: "Two" })).reply()).embeds)).toContain("Two");
  expect(await find(id)).toMatchObject({ body: "Two" });
});

test("what was changed meanwhile is not written over", async () => {
  const id = await write(cast.admin, "One");
  const given = await run(cast.admin, id);
  await given.reply();
  await shared.world.patch(`${place()}/${id}`, { body: "Two" }, { actor: cast.admin });
  const sent = await (await given.clickButton("Change it")).submitModal({ body: "Three" });
  expect((await sent.reply()).content).toContain("precondition_failed");
  expect(await find(id)).toMatchObject({ body: "Two", revision: 2 });
});

test("another person's words, an unknown comment and a late change are refused as over HTTP", async () => {
  const senior = await staffAtConsole(shared.world, "senior");
  const [id, later] = [await write(cast.admin, "Mine"), await write(cast.admin, "Old")];
  expect((await (await run(senior, id, { body: "Theirs" })).reply()).content).toContain("permission_denied");
  expect((await (await run(cast.admin, "none")).reply()).content).toContain("record_not_found");
  time.offset = 16 * 60_000;
  expect((await (await run(cast.admin, later, { body: "New" })).reply()).content).toContain("invalid_transition");
  time.offset = 0;
  expect([await find(id), await find(later)]).toMatchObject([{ body: "Mine" }, { body: "Old" }]);
});

test("whoever may not read a comment is shown nothing of it", async () => {
  const id = await write(cast.admin, "Between us");
  const reply = await (await run(cast.author, id)).reply();
  expect(reply.content).toContain("record_not_found");
  expect(JSON.stringify(reply)).not.toContain("Between us");
  const [completed] = [await complete(cast.author, "")];
  expect(JSON.stringify(completed)).not.toContain("Between us");
});

const complete = (user: User, value: string) =>
  ask(user).autocomplete("review comment-edit", { focused: "comment", value, options: { reference: cast.reference } });

test("one's own comments are offered, the newest first, and nobody else's", async () => {
  const [first, second] = [await write(cast.admin, "Alpha word"), await write(cast.admin, "Beta word")];
  await write(cast.author, "Gamma word");
  const offered = await complete(cast.admin, "word");
  expect(offered.map(({ value }) => value)).toEqual([second, first]);
  expect((await complete(cast.admin, "alpha")).map(({ value }) => value)).toEqual([first]);
});
