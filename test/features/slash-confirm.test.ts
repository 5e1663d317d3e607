import { expect, test } from "vitest";
import { shareWorld, staffAtConsole } from "../contract/world.ts";
import { flawsOf, give } from "./refusals-ground.ts";

const shared = shareWorld({ env: { CONFIRM_IN_DISCORD: "permissions,keys", SECOND_PERSON_FOR_DANGER: "true" } });
const permissionsOf = async (id: string) => {
  const owner = await shared.world.staff("owner");
  return (await shared.world.get(`/permissions/users/${id}`, { actor: owner })).body.data.overrides as { key: string }[];
};
/** A dangerous permission is granted in Discord: it waits for a second person. */
const grant = async () => {
  const { world } = shared;
  const [owner, person] = [await staffAtConsole(world, "owner"), await world.staff("viewer")];
  const options = { user: person, permission: "staff.suspend", reason: "For the exams" };
  const run = await world.sandbox.as(owner).in(world.guild).runSlashCommand("permission grant", options);
  const held = await run.reply();
  return { world, owner, person, run, held, code: /`([0-9A-Z]{6})`/.exec(held.content)?.[1] ?? "" };
};

test("a second person sees a held change, and one press carries it out", async () => {
  const { world, person, held, code } = await grant();
  expect(held.content).toContain("Nothing is changed yet");
  expect(held.components.flatMap(({ components = [] }) => components.map(({ label }) => label))).toEqual(["Decline"]);
  const second = await staffAtConsole(world, "owner");
  const [choice] = await world.sandbox.as(second).in(world.guild).autocomplete("confirm show", code);
  const run = await world.sandbox
    .as(second)
    .in(world.guild)
    .runSlashCommand("confirm show", { code: String(choice?.value) });
  expect((await run.reply()).content).toContain("waits for a second person");
  expect(await permissionsOf(person.id)).toEqual([]);
  await run.clickButton("Confirm");
  await world.sandbox.waitFor(() => run.current()?.content.startsWith("Done: ") === true);
  expect(run.current()?.components).toEqual([]);
  expect(await permissionsOf(person.id)).toMatchObject([{ key: "staff.suspend" }]);
  const after = await world.sandbox
    .as(second)
    .in(world.guild)
    .runSlashCommand("confirm show", { code: String(choice?.value) });
  expect((await after.reply()).components).toEqual([]);
});

test("a change whose asker may not do it any more is not carried out, and its refusal speaks of them", async () => {
  for (const [language, wanted] of [
    ["en-US", "It was confirmed, but could not be carried out. The person who asked may not do it any more."],
    ["de", "Es wurde bestätigt, ließ sich aber nicht ausführen. Die Person, die es wollte, darf das nicht mehr."],
  ] as const) {
    const { world, owner, person: subject, code } = await grant();
    world.guild.setRoles(owner, [world.roles.viewer]);
    const person = await staffAtConsole(world, "owner");
    const said = await give({ world, person, words: "confirm accept", given: { code } }, language);
    expect(said).toContain(wanted);
    expect(flawsOf(said, "permission_denied"), said).toEqual([]);
    expect(await permissionsOf(subject.id)).toEqual([]);
  }
});

test("whoever asked takes a held change back by a press, and it cannot be confirmed any more", async () => {
  const { world, person, run, code } = await grant();
  await run.clickButton("Decline");
  await world.sandbox.waitFor(() => run.current()?.content.startsWith("Declined: ") === true);
  const second = await staffAtConsole(world, "owner");
  expect(await world.slash(second, "confirm accept", { code })).toContain("record_not_found");
  expect(await permissionsOf(person.id)).toEqual([]);
});

test("what was asked for over HTTP is confirmed by a press of the person who asked, and then waits for the second one", async () => {
  const { world } = shared;
  const [owner, person] = [await staffAtConsole(world, "owner"), await world.staff("viewer")];
  const overrides = [{ key: "staff.suspend", effect: "allow", reason: "For the exams" }];
  const asked = await world.patch(`/permissions/users/${person.id}`, { overrides }, { actor: owner });
  const { code } = asked.body.data.confirmation_required ?? asked.body.data;
  const run = await world.sandbox.as(owner).in(world.guild).runSlashCommand("confirm show", { code });
  await run.reply();
  await run.clickButton("Confirm");
  await world.sandbox.waitFor(() => run.current()?.content.includes("a second person has to confirm it") === true);
  expect(await permissionsOf(person.id)).toEqual([]);
});

test("the person who asked cannot be the second one, and somebody whom a change does not concern learns nothing", async () => {
  const { world, owner, person, code } = await grant();
  const stranger = await staffAtConsole(world, "viewer");
  expect(await world.slash(owner, "confirm accept", { code })).toMatch(/conflict_of_interest|invalid_transition/);
  const unknown = await world.slash(stranger, "confirm accept", { code: "222222" });
  expect(unknown).toContain("record_not_found");
  for (const verb of ["show", "accept", "decline"]) expect(await world.slash(stranger, `confirm ${verb}`, { code })).toBe(unknown);
  expect(await permissionsOf(person.id)).toEqual([]);
});

const labelsOf = ({ components }: { components: readonly { components?: readonly { label?: string }[] }[] }) =>
  components.map(({ components: row = [] }) => row.map(({ label }) => label));

test("each line of the list has the answers that its reader can give, and a press of one leaves the others as they are", async () => {
  const { world, owner, person, code } = await grant();
  const other = await world.staff("viewer");
  await world.slash(owner, "permission grant", { user: other, permission: "staff.suspend", reason: "For the exams" });
  const second = await staffAtConsole(world, "owner");
  const run = await world.sandbox.as(second).in(world.guild).runSlashCommand("confirm list");
  const rows = labelsOf(await run.reply());
  expect(rows).toContainEqual([`Confirm · ${code}`, `Decline · ${code}`, `Show · ${code}`]);
  expect(rows.length).toBeGreaterThan(1);
  expect(rows.length).toBeLessThanOrEqual(5);
  const card = await (await run.clickButton(`Show · ${code}`)).reply();
  expect(card.content).toContain(code);
  expect(await permissionsOf(person.id)).toEqual([]);
  const done = await (await run.clickButton(`Confirm · ${code}`)).reply();
  expect(done.content).toContain("Done: ");
  expect(await permissionsOf(person.id)).toMatchObject([{ key: "staff.suspend" }]);
  expect(await permissionsOf(other.id)).toEqual([]);
  const again = await (await run.clickButton(`Decline · ${code}`)).reply();
  expect(again.content).toMatch(/invalid_transition|record_not_found/);
  expect(await permissionsOf(person.id)).toMatchObject([{ key: "staff.suspend" }]);
});

test("whoever asked finds in the list how to take it back, and nothing to confirm it with", async () => {
  const { world, owner, person, code } = await grant();
  const run = await world.sandbox.as(owner).in(world.guild).runSlashCommand("confirm list");
  const labels = labelsOf(await run.reply()).flat() as string[];
  expect(labels.filter((label) => label.includes(code))).toEqual([]);
  expect(labels.filter((label) => label.startsWith("Confirm · ") && !/ [0-9A-Z]{6}$/.test(label))).toEqual([]);
  // Whatever has no code for this reader is what they asked for.
  const [first = "", ...others] = labels.filter((label) => label.startsWith("Decline · ") && !/ [0-9A-Z]{6}$/.test(label));
  expect(others).toEqual([]);
  const declined = await (await run.clickButton(first)).reply();
  expect(declined.content).toContain("Declined: ");
  expect(await permissionsOf(person.id)).toEqual([]);
  const second = await staffAtConsole(world, "owner");
  expect(await world.slash(second, "confirm accept", { code })).toContain("record_not_found");
});

test("the list of somebody whom no change concerns is empty", async () => {
  const { world } = await grant();
  const stranger = await staffAtConsole(world, "viewer");
  const reply = await (await world.sandbox.as(stranger).in(world.guild).runSlashCommand("confirm list")).reply();
  expect([reply.content, reply.components]).toEqual(["Nothing waits for you.", []]);
});
