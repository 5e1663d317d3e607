import { beforeAll, describe, expect, test } from "vitest";
import type { User } from "../../sandbox/index.ts";
import { staffAtConsole } from "../contract/world.ts";
import { createWorld, type World } from "../support/world.ts";

describe("/staffrole", () => {
  let world: World;
  let owner: User;
  beforeAll(async () => {
    let end = (): Promise<void> => Promise.resolve();
    world = await createWorld({ onEnd: (way) => (end = way) });
    owner = await staffAtConsole(world, "owner");
    return () => end();
  });

  const roleOf = async (key: string) => (await world.get(`/staffroles/${key}`, { actor: owner })).body.data;
  const idsOf = async (key: string) => ((await roleOf(key)).discord as { role_id: string }[]).map(({ role_id: id }) => id);
  const run = async (words: string, options: Record<string, never> | Record<string, unknown>, by = owner) =>
    (
      await (
        await world.sandbox
          .as(by)
          .in(world.guild)
          .runSlashCommand(words, options as never)
      ).reply()
    ).content;

  test("maps one Discord role more, and takes it away again, and leaves the others", async () => {
    const more = world.guild.createRole("more *mods*");
    await world.sandbox.waitFor(() => world.app.guildState.role(world.guild.id, more.id) !== undefined);
    const shown = await run("staffrole map", { key: "moderator", "discord-role": more });
    expect(shown).toContain(`<@&${more.id}>`);
    expect(await idsOf("moderator")).toEqual([world.roles.moderator.id, more.id]);
    await run("staffrole map", { key: "moderator", "discord-role": more });
    expect(await idsOf("moderator")).toEqual([world.roles.moderator.id, more.id]);
    await run("staffrole unmap", { key: "moderator", "discord-role": more });
    expect(await idsOf("moderator")).toEqual([world.roles.moderator.id]);
    expect(await run("staffrole unmap", { key: "moderator", "discord-role": more })).toContain("Name a Discord role");
    expect(await run("staffrole unmap", { key: "moderator" })).toContain("validation_failed");
    expect(await idsOf("moderator")).toEqual([world.roles.moderator.id]);
  });

  test("takes the mapping of a vanished Discord role away by its id", async () => {
    const gone = world.guild.createRole("gone");
    await world.sandbox.waitFor(() => world.app.guildState.role(world.guild.id, gone.id) !== undefined);
    await run("staffrole map", { key: "viewer", "discord-role": gone });
    world.guild.deleteRole(gone);
    await world.sandbox.waitFor(() => world.app.guildState.role(world.guild.id, gone.id) === undefined);
    expect(await run("staffrole show", { key: "viewer" })).toContain(`\`${gone.id}\` ⚠ is gone from Discord`);
    await run("staffrole unmap", { key: "viewer", "discord-role-id": gone.id });
    expect(await idsOf("viewer")).toEqual([world.roles.viewer.id]);
  });

  test("makes a role, limits it, and never replaces one that is there", async () => {
    const made = await run("staffrole create", { key: "trainee", name: "Trainee *", level: "viewer", rank: 5 });
    expect(made).toContain("**Trainee \\*** (`trainee`)");
    await run("staffrole capacity", { key: "trainee", capacity: 3 });
    expect((await roleOf("trainee")).capacity).toBe(3);
    await run("staffrole capacity", { key: "trainee" });
    expect((await roleOf("trainee")).capacity).toBeNull();
    const before = await roleOf("moderator");
    expect(await run("staffrole create", { key: "moderator", name: "Other", level: "viewer", rank: 5 })).toContain("precondition_failed");
    expect(await roleOf("moderator")).toEqual(before);
    await run("staffrole edit", { key: "trainee", name: "Beginner" });
    expect((await roleOf("trainee")).name).toBe("Beginner");
  });

  test("deletes a role only after a question", async () => {
    await run("staffrole create", { key: "short", name: "Short", level: "viewer", rank: 4 });
    const asked = await world.sandbox.as(owner).in(world.guild).runSlashCommand("staffrole delete", { key: "short", reason: "Not needed" });
    expect((await asked.reply()).content).toContain("Delete this staff role?");
    expect((await roleOf("short")).name).toBe("Short");
    await asked.clickButton("Yes, do it");
    await world.sandbox.waitFor(() => asked.current()?.content.includes("is deleted") === true);
    expect((await world.get("/staffroles/short", { actor: owner })).status).toBe(404);
  });

  test("refuses as HTTP does, and changes nothing", async () => {
    const [admin, viewer] = [await staffAtConsole(world, "admin"), await staffAtConsole(world, "viewer")];
    const before = (await world.get("/staffroles", { actor: owner })).body.data;
    const free = world.guild.createRole("free");
    await world.sandbox.waitFor(() => world.app.guildState.role(world.guild.id, free.id) !== undefined);
    expect(await run("staffrole map", { key: "viewer", "discord-role": free }, viewer)).toContain("permission_denied");
    expect(await run("staffrole map", { key: "owner", "discord-role": free }, admin)).toContain("hierarchy_violation");
    expect(await run("staffrole map", { key: "viewer", "discord-role": world.roles.admin }, owner)).toContain("duplicate_active_record");
    expect(await run("staffrole map", { key: "nobody", "discord-role": free })).toContain("record_not_found");
    expect((await world.get("/staffroles", { actor: owner })).body.data).toEqual(before);
  });

  test("lists roles for whoever may see them, and completes keys by name", async () => {
    const viewer = await staffAtConsole(world, "viewer");
    const shown = await world.slash(viewer, "staffrole list");
    expect(shown).toContain(`<@&${world.roles.senior.id}>`);
    const choices = await world.sandbox.as(viewer).in(world.guild).autocomplete("staffrole show", "seni");
    expect(choices).toMatchObject([{ value: "senior" }]);
  });
});
