import { commandTable } from "../../src/features.ts";
import { describe, expect, test, vi } from "vitest";
import { commandPayloads } from "../../src/commands/payloads.ts";
import type { Verbs } from "../../src/commands/verbs.ts";
import { systemCall } from "../../src/kernel/call.ts";
import { ProblemError } from "../../src/kernel/errors.ts";
import { uuid7 } from "../../src/kernel/ids.ts";
import type { User } from "../../sandbox/index.ts";
import { shareWorld, staffAtConsole } from "../contract/world.ts";
import { createWorld, type World, type WorldOptions } from "../support/world.ts";

const cli = () => systemCall("cli", uuid7());

async function emptyWorld(options: WorldOptions = {}) {
  const world = await createWorld({ ...options, ladder: false });
  const owner = world.sandbox.createUser("owner");
  await world.app.permissions.owners.add(cli(), owner.id);
  world.guild.addMember(owner, { roles: [world.guild.createRole("console", { permissions: ["Administrator"] })] });
  return { world, owner };
}

async function begin(world: World, person: User) {
  const run = await vi.waitFor(() => world.sandbox.as(person).in(world.guild).runSlashCommand("setup wizard"), 60_000);
  await run.reply();
  return run;
}

describe("/setup wizard", () => {
  test("gives nobody another level than the one it names, whatever a role's key sounds like", async () => {
    const { world, owner } = await emptyWorld();
    await world.app.staff.roles.put(cli(), "moderator", { name: "Moderator", rank: 80, level: "admin", discord: [] });
    const run = await begin(world, owner);
    await run.select("sw:act:roles:moderator", [world.roles.moderator]);
    await world.sandbox.waitFor(() => run.current()?.content.includes(`(moderator): <@&${world.roles.moderator.id}>`) === true);
    const person = await world.staff("moderator");
    expect(world.app.access.of(person.id).level).toBe("moderator");
  });

  test("takes no role away that somebody else has mapped since the menu was shown", async () => {
    const world = await createWorld();
    const [owner, other] = [await staffAtConsole(world, "owner"), await staffAtConsole(world, "owner")];
    const [theirs, mine] = [world.guild.createRole("theirs"), world.guild.createRole("mine")];
    const run = await begin(world, owner);
    await world.slash(other, "staffrole map", { key: "senior", "discord-role": theirs as never });
    const chosen = await run.select("sw:act:roles:senior", [world.roles.senior, mine]);
    await world.sandbox.waitFor(() => run.current()?.content.includes(mine.id) === true || chosen.followups().length > 0);
    const { discord } = (await world.get("/staffroles/senior", { actor: owner })).body.data;
    const ids = discord.map(({ role_id: id }: { role_id: string }) => id);
    expect(ids.toSorted()).toEqual([world.roles.senior.id, theirs.id, mine.id].toSorted());
  });

  test("takes no role away that its menu had no room to show", async () => {
    const world = await createWorld();
    const owner = await staffAtConsole(world, "owner");
    const all = Array.from({ length: 11 }, (_, index) => world.guild.createRole(`mod ${index.toString()}`));
    const discord = all.map(({ id }) => ({ guild_id: world.guild.id, role_id: id }));
    const changed = await world.patch("/staffroles/senior", { discord }, { actor: owner });
    expect(changed.status, JSON.stringify(changed.body)).toBe(200);
    const run = await world.sandbox.as(owner).in(world.guild).runSlashCommand("setup wizard");
    const menu = (await run.reply()).components[2]?.components?.[0] as unknown as { default_values: { id: string }[] };
    const shown = menu.default_values.map(({ id }) => id);
    expect(shown).toHaveLength(10);
    const chosen = all.filter(({ id }) => shown.includes(id)).slice(1);
    await run.select("sw:act:roles:senior", chosen);
    await world.sandbox.waitFor(() => run.current()?.content.includes(shown[0] ?? "") === false);
    const after = (await world.get("/staffroles/senior", { actor: owner })).body.data.discord;
    expect(after.map(({ role_id: id }: { role_id: string }) => id)).toHaveLength(10);
  });

  test("says that the storage is busy instead of that somebody may not see a step", async () => {
    let isBusy = false;
    const aroundVerbs = (verbs: Verbs): Verbs => ({
      ...verbs,
      run(operation, call, input) {
        if (isBusy && operation === "listChannels") throw new ProblemError("storage_busy", { retryAfter: 1 });
        return verbs.run(operation, call, input);
      },
    });
    const { world, owner } = await emptyWorld({ aroundVerbs });
    const run = await begin(world, owner);
    isBusy = true;
    const pressed = await run.clickButton("Next ▶");
    await world.sandbox.waitFor(() => run.current()?.content.includes("step 2") === true || pressed.followups().length > 0);
    expect(run.current()?.content).not.toContain("You may not see this step");
    expect(pressed.followups()[0]?.content).toContain("storage_busy");
  });
});

describe("/setup", () => {
  const shared = shareWorld();

  test("offers only channels that messages can be posted in, as the guide does", () => {
    const setup = commandPayloads(commandTable()).find(({ name }) => name === "setup") as unknown as {
      options: { name: string; options: object[] }[];
    };
    const channels = setup.options.find(({ name }) => name === "channels")?.options ?? [];
    const kinds = channels.filter((option) => "type" in option && option.type === 7).map((option) => (option as never)["channel_types"]);
    expect(kinds).toEqual([
      [0, 5],
      [0, 5],
      [0, 5],
    ]);
  });

  test("says of a key until when it works, and not in words of callsigns and blacklist records", async () => {
    const { world } = shared;
    const owner = await staffAtConsole(world, "owner");
    const made = await world.slash(owner, "setup clients create", { name: "site", scopes: "staff.read" });
    expect(made).toMatch(/works until <t:\d+:f>/);
    const [choice] = await world.sandbox.as(owner).in(world.guild).autocomplete("setup clients show", { focused: "client", value: "site" });
    const client = String(choice?.value);
    for (const said of [
      await world.slash(owner, "setup clients show", { client }),
      await world.slash(owner, "setup clients edit", { client, name: "website" }),
    ]) {
      expect(said).toMatch(/until <t:\d+:f>/);
      expect(said).toContain(`<@${owner.id}>`);
      expect(said).not.toMatch(/Kept until|Listed by/);
    }
  });

  test("tells a changed policy with the kind's name and with lengths in words", async () => {
    const { world } = shared;
    const owner = await staffAtConsole(world, "owner");
    const changed = await world.slash(owner, "setup policy", { kind: "alt-request", decision: "3d" });
    const reset = await world.slash(owner, "setup policy-reset", { kind: "alt-request" });
    for (const said of [changed, reset]) {
      expect(said).toContain("linked accounts");
      expect(said).not.toMatch(/\bseconds\b|decision\\_/);
    }
    expect(changed).toContain("decision 3 days");
  });
});
