// @module-tag both
// @module-tag slow
import { expect, test } from "vitest";
import { systemCall } from "../../src/kernel/call.ts";
import { uuid7 } from "../../src/kernel/ids.ts";
import { community, within } from "./stances-community.ts";

const many = 500;
const allowed = 20;
/** Ends only what hangs, also on a machine that does much else. */
const patient = 400_000;

test("a mistaken import of 500 members acts on 20, then waits for a confirmation; one press undoes them all", async () => {
  const { world, bay, stance, admin, owner } = await community({ ACTION_BREAKER: allowed.toString() });
  await stance(bay, { category: "raid", stance: "apply", action: "ban" });
  const people = bay.addMembers(many);
  await within(() => people.every(({ id }) => world.app.guildState.presences.joinedAt(bay.id, id) !== undefined), patient);
  bay.addMember(owner, { roles: [bay.createRole("console", { permissions: ["Administrator"] })] });
  const records = people.map(({ id }) => ({ kind: "user", subject_id: id, category: "raid", severity: "high" }));
  const told = await world.post("/blacklist/import?dry_run=true", { records }, { actor: admin });
  expect(told.body.data.guilds, JSON.stringify(told.body)).toEqual([
    { guild_id: bay.id, notify: 0, propose: 0, apply: many, take_back: 0, waiting: many - allowed },
  ]);
  expect(bay.bans()).toEqual([]);
  const imported = await world.post("/blacklist/import", { records }, { actor: admin });
  expect(imported.status, JSON.stringify(imported.body)).toBe(200);
  const path = `/guilds/${bay.id}/held-actions`;
  const held = async () => (await world.get(path, { actor: admin })).body.data;
  const waits = { state: "waiting", acted: allowed, waiting: many - allowed };
  const { read } = world.app.database;
  const states = async () => ({
    banned: bay.bans().length,
    compared: many - (await read.listCheck.count()),
    actions: await read.listAction.groupBy({ by: ["state", "attempts", "lastError"], _count: true }),
  });
  await within(async () => bay.bans().length === allowed && (await held()).waiting === many - allowed, patient, states);
  await world.app.lists.worker.catchUp(systemCall("job", uuid7()));
  expect(await held()).toMatchObject(waits);
  expect(bay.bans()).toHaveLength(allowed);

  const run = await world.sandbox.as(owner).in(bay).runSlashCommand("setup lists held", {});
  const card = await run.reply();
  expect(card.content).toContain(`${waits.waiting.toString()} people wait`);
  expect(card.components.flatMap(({ components = [] }) => components.map(({ label }) => label))).toEqual([
    "Do all of it",
    "Undo all of it",
  ]);
  // The press asks once more, as what follows reaches hundreds.
  const question = await run.clickButton("Undo all of it");
  const asked = await question.reply();
  const [yes] = asked.components.flatMap(({ components = [] }) => components.map(({ label }) => label ?? ""));
  expect(bay.bans()).toHaveLength(allowed);
  await (await question.clickButton(yes ?? "")).reply();
  await within(() => bay.bans().length === 0, patient, states);
  expect(await held()).toMatchObject({ state: "none", waiting: 0 });
  expect((await world.post(`${path}/confirm`, undefined, { actor: admin })).body).toMatchObject({ code: "invalid_transition" });

  // They are not acted on again for the same records.
  for (const user of people) if (bay.member(user) === undefined) bay.addMember(user);
  await world.app.lists.worker.catchUp(systemCall("job", uuid7()));
  expect(bay.bans()).toEqual([]);
}, 1_500_000);
