import { expect, test } from "vitest";
import { shareWorld, staffAtConsole } from "../contract/world.ts";

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
