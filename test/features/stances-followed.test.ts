import { expect, test } from "vitest";
import { community, isBanned, limitMs, within } from "./stances-community.ts";

/** A community that follows the list of a file, and says what it holds. */
async function followers() {
  const given = await community();
  const { world, admin } = given;
  const made = await world.post("/lists", { name: "Harbour Watch", kind: "file" }, { actor: admin });
  expect(made.status, JSON.stringify(made.body)).toBe(201);
  const list = made.body.data.id as string;
  const says = async (...users: { id: string }[]) => {
    const records = users.map(({ id }, index) => ({
      kind: "user",
      subject_id: id,
      number: `HW-${index.toString()}`,
      category: "raid",
      severity: "high",
    }));
    const sent = await world.put(`/lists/${list}/file`, { records }, { actor: admin });
    expect(sent.status, JSON.stringify(sent.body)).toBe(200);
  };
  return { ...given, list, says };
}

test("each server does about people of a followed list what its rule for that list says, and takes it back with the entry", async () => {
  const { world, harbour, bay, cove, stance, rows, list, says } = await followers();
  await stance(bay, { list, category: "any", stance: "apply", action: "ban" });
  await stance(cove, { list, category: "any", stance: "ignore" }, { category: "any", stance: "apply", action: "ban" });
  const user = world.sandbox.createUser("wanted elsewhere");
  for (const guild of [harbour, bay, cove]) guild.addMember(user);
  await says(user);
  expect(await within(() => isBanned(bay, user))).toBeLessThan(limitMs);
  await within(async () => (await rows(user)).every(({ state }) => state === "done"));
  const done = await rows(user);
  expect(done).toHaveLength(2);
  expect([harbour, bay].map(({ id }) => done.find(({ guildId }) => guildId === id))).toMatchObject([
    { stance: "notify", listId: list, recordReference: "Harbour Watch HW-0" },
    { stance: "apply", changed: true },
  ]);
  expect(cove.member(user)).toBeDefined();
  expect((await world.get("/blacklist?count=true", {})).body.page.total).toBe(0);
  await says();
  expect(await within(() => !isBanned(bay, user))).toBeLessThan(limitMs);
});

test("who joins after a restart is met, also when only a followed list names them", async () => {
  const { world, bay, stance, list, says } = await followers();
  await stance(bay, { list, category: "raid", stance: "apply", action: "kick" });
  const user = world.sandbox.createUser("wanted elsewhere");
  await says(user);
  await world.restart();
  bay.addMember(user);
  expect(await within(() => bay.member(user) === undefined)).toBeLessThan(limitMs);
});

test("a list that is followed no more has no rules left, and what was done because of it is taken back", async () => {
  const { world, bay, stance, list, says, admin, owner } = await followers();
  const ours = { category: "scam", stance: "ignore" };
  await stance(bay, { list, category: "any", stance: "apply", action: "ban" }, ours);
  const user = world.sandbox.createUser("wanted elsewhere");
  bay.addMember(user);
  await says(user);
  await within(() => isBanned(bay, user));
  const path = `/guilds/${bay.id}/stance`;
  const before = (await world.get(path, { actor: admin })).body.data;
  expect(before.rules[0]).toMatchObject({ list, list_name: "Harbour Watch" });
  expect((await world.delete(`/lists/${list}`, undefined, { actor: admin })).status).toBe(200);
  expect(await within(() => !isBanned(bay, user))).toBeLessThan(limitMs);
  const { rules, revision } = (await world.get(path, { actor: admin })).body.data;
  expect(rules).toMatchObject([{ list: "own", list_name: "own", ...ours }]);
  expect(revision).toBe(before.revision + 1);
  const again = await world.put(path, { rules: [{ list, category: "any", stance: "ignore" }] }, { actor: owner });
  expect(again.body.errors).toMatchObject([{ pointer: "/rules/0/list", code: "unknown_reference" }]);
});

test("/setup lists set chooses for a followed list by its name, and the alert about its people leads to it", async () => {
  const { world, harbour, owner, says, admin } = await followers();
  for (const role of Object.values(world.roles)) harbour.setRolePermissions(role, ["Administrator"]);
  const channel = harbour.createChannel("alerts");
  expect((await world.put(`/channels/${harbour.id}`, { alerts: channel.id }, { actor: owner })).status).toBe(200);
  const user = world.sandbox.createUser("wanted elsewhere");
  harbour.addMember(user);
  await says(user);
  const told = () => harbour.messages().filter(({ channelId }) => channelId === channel.id);
  await within(() => told().length === 1);
  expect(told()[0]?.embeds[0]?.description).toContain("1 person on **Harbour Watch** is in this server.");
  const [alert] = told();
  if (alert === undefined) throw new Error("nothing was told");
  const opened = await world.sandbox.as(admin).in(harbour).press(alert, "Open");
  expect(JSON.stringify((await opened.reply()).embeds)).toContain("Harbour Watch");
  const list = (await world.get("/lists", { actor: admin })).body.data[0].id as string;
  const run = await world.sandbox.as(owner).in(harbour).runSlashCommand("setup lists set", { category: "raid", stance: "ignore", list });
  const question = await run.reply();
  expect(question.content).toContain("**raid** (Harbour Watch) ignore");
  const [yes] = question.components.flatMap(({ components = [] }) => components.map(({ label }) => label ?? ""));
  await (await run.clickButton(yes ?? "")).reply();
  await within(() => told()[0]?.embeds[0]?.description === "Nobody needs to look at this any more.");
});
