import { beforeAll, expect, test } from "vitest";
import type { User } from "../../sandbox/index.ts";
import { shareWorld, staffAtConsole } from "../contract/world.ts";
import { actionsOf, settled } from "./native-actions-ground.ts";

const shared = shareWorld();
const why = "Advertising in direct messages.";
let mona: User;
let owner: User;

beforeAll(async () => {
  [mona, owner] = [await staffAtConsole(shared.world, "moderator"), await staffAtConsole(shared.world, "owner")];
});

/** Somebody banned by hand, and the answer of the command that shows it. */
async function banned(command: string, reader: User) {
  const { world } = shared;
  const person = world.member();
  world.guild.ban(person, { by: mona, reason: why });
  await settled(world);
  const [action] = await actionsOf(world, person, owner);
  const list = await world.sandbox.as(reader).in(world.guild).runSlashCommand(command, { user: person });
  await list.reply();
  return { world, person, id: action?.id ?? "", list };
}

const casesAbout = async (person: User) => (await shared.world.get(`/cases?subject=${person.id}`, { actor: owner })).body.data;
const requestsAbout = async (person: User) => (await shared.world.get(`/workflows?subject=${person.id}`, { actor: owner })).body.data;

test.each(["intel by-hand", "case timeline"])("a choice under /%s shows who did it and why, and changes nothing", async (command) => {
  const { world, person, id, list } = await banned(command, owner);
  const shown = await (await list.select("do:na", [id])).reply();
  const told = JSON.stringify(shown.embeds);
  expect(told).toContain(`<@${mona.id}>`);
  expect(told).toContain(why);
  expect(told).toContain(world.guild.id);
  expect(shown.ephemeral).toBe(true);
  expect(await casesAbout(person)).toEqual([]);
  expect(await requestsAbout(person)).toEqual([]);
});

test("Make it a case opens one case about the person, with what was done as its first note", async () => {
  const { world, person, id, list } = await banned("intel by-hand", owner);
  const shown = await list.select("do:na", [id]);
  await shown.reply();
  const opened = await (await shown.clickButton("Make it a case")).reply();
  const cases = await casesAbout(person);
  expect(cases).toHaveLength(1);
  expect(opened.content).toContain(cases[0].number);
  expect(cases[0].title).toBe("Banned by hand in Discord");
  const notes = (await world.get(`/cases/${cases[0].number}/notes`, { actor: owner })).body.data;
  expect(notes).toHaveLength(1);
  expect(notes[0].body).toContain(why);
  expect(notes[0].body).toContain(mona.id);
  expect(await requestsAbout(person)).toEqual([]);
});

test("Suggest listing opens a form with the reason of the ban; what is sent is a request, and nobody is listed yet", async () => {
  const { world, person, id, list } = await banned("intel by-hand", mona);
  const shown = await list.select("do:na", [id]);
  await shown.reply();
  const offered = await shown.clickButton("Suggest listing");
  expect((await offered.reply()).content).toContain(why);
  const form = await offered.clickButton("Change it");
  expect(JSON.stringify(await form.modal())).toContain(`"value":"${why}"`);
  expect(await requestsAbout(person)).toEqual([]);
  const sent = await form.submitModal({ reason: why, category: "scam", severity: "medium" });
  const answer = await sent.reply();
  const requests = await requestsAbout(person);
  expect(requests).toMatchObject([{ type: "blacklist-user", status: "pending" }]);
  expect(answer.content).toContain(requests[0].reference.replaceAll("-", String.raw`\-`));
  expect((await world.get(`/blacklist?subject=${person.id}`, { actor: owner })).body.data).toEqual([]);
  expect(await casesAbout(person)).toEqual([]);
});

test("who may not read cases is shown nothing of it, and who lost that right opens nothing with a button they still have", async () => {
  const admin = await staffAtConsole(shared.world, "admin");
  const { world, person, id, list } = await banned("intel by-hand", admin);
  const viewer = await staffAtConsole(world, "viewer");
  const refused = await (await world.sandbox.as(viewer).in(world.guild).runSlashCommand("intel by-hand", { user: person })).reply();
  expect(refused.content).toContain("cases.read");
  const shown = await list.select("do:na", [id]);
  await shown.reply();
  world.guild.setRoles(admin, [world.roles.viewer]);
  // Asked for over HTTP, which waits until the service has stored the role.
  expect((await world.get(`/native-actions/${id}`, { actor: admin })).status).toBe(403);
  for (const label of ["Make it a case", "Suggest listing"]) {
    const late = await (await shown.clickButton(label)).reply();
    expect(late.content).toContain("can't");
    expect(JSON.stringify([refused, late.content])).not.toContain(why);
  }
  expect(await casesAbout(person)).toEqual([]);
  expect(await requestsAbout(person)).toEqual([]);
});
