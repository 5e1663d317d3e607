import { expect, test } from "vitest";
import { createFollower, createTeller, follow, refresh } from "./follows-ground.ts";
import { freshId } from "./workflows-ground.ts";

test("in Discord a list is followed by a form, shown without its key, adopted from and stopped; a check says by how many lists, in both languages", async () => {
  const follower = await createFollower();
  const { world, admin } = follower;
  world.guild.allowCommands([world.guild.everyoneRole]);
  const person = freshId();
  const teller = await createTeller(() => ({
    body: JSON.stringify([{ kind: "user", subject_id: person, number: "N7", category: "raid", severity: "high" }]),
  }));
  await follow(follower, { name: "Nobody yet", kind: "file" });
  const opened = await world.sandbox.as(admin).in(world.guild).runSlashCommand("follows add", { kind: "file", trust: "high" });
  const sent = await opened.submitModal({ name: "Harbour Watch", address: teller.url });
  expect(JSON.stringify(await sent.reply())).toContain("Harbour Watch");
  const id: string = (await world.get("/lists", { actor: admin })).body.data.find(({ name }: any) => name === "Harbour Watch").id;
  await refresh(follower, id);

  expect(await world.slash(admin, "follows list")).toMatch(/Harbour Watch.*trust 90/);
  expect(await world.slash(admin, "follows entries", { list: id })).toMatch(/N7.*Raid.*High/i);
  expect(await world.slash(admin, "blacklist check", { ids: person })).toContain("on 1 of 2 lists you follow: Harbour Watch · N7");
  admin.locale = "de";
  expect(await world.slash(admin, "blacklist check", { ids: person })).toContain("auf 1 von 2 Listen, denen ihr folgt: Harbour Watch · N7");
  expect(await world.slash(admin, "follows show", { list: id })).toMatch(/gefolgt/);
  admin.locale = "en-US";
  const viewer = await world.staff("viewer");
  expect(await world.slash(viewer, "blacklist check", { ids: person })).not.toMatch(/lists you follow|Harbour/);

  const adopting = await world.sandbox.as(admin).in(world.guild).runSlashCommand("follows adopt", { list: id, entry: "N7" });
  const adopted = await (await adopting.submitModal({ "reason-public": "Seen there, too." })).reply();
  expect(adopted.content).toContain("**BL-000001** is your own record now.");
  const asked = await world.sandbox.as(admin).in(world.guild).runSlashCommand("follows stop", { list: id });
  expect((await asked.reply()).content).toContain("Follow **Harbour Watch** no more?");
  expect((await world.get(`/lists/${id}`, { actor: admin })).status).toBe(200);
});
