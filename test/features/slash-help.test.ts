import { beforeAll, describe, expect, test } from "vitest";
import { nameOf } from "../../src/commands/table.ts";
import { commandTable } from "../../src/features.ts";
import { commandsOf, groupNames, mostUsed, tasks } from "../../src/features/help/tasks.ts";
import type { User } from "../../sandbox/index.ts";
import { shareWorld } from "../contract/world.ts";
import type { Level } from "../support/world.ts";

const shared = shareWorld();
const people = {} as Record<Level, User>;

beforeAll(async () => {
  const { world } = shared;
  for (const level of ["owner", "moderator", "viewer"] as const) people[level] = await world.staff(level);
});

/** A command as Discord shows it so that it can be pressed. */
function mention(name: string): string {
  const { commands } = shared.world.sandbox.inside.world.application;
  const found = [...commands.values()].find(({ name: own }) => own === name.split(" ")[0]);
  return `</${name}:${found?.id ?? "?"}>`;
}

async function ask(user: User, options: Record<string, string> = {}, locale?: string) {
  const { world } = shared;
  Object.assign(user, { locale });
  await world.sandbox.caughtUp();
  const run = await world.sandbox.as(user).in(world.guild).runSlashCommand("help", options);
  return { run, reply: await run.reply() };
}

/** Every command that a person is shown, subject by subject. */
async function everything(user: User, locale?: string): Promise<string[]> {
  const { run, reply } = await ask(user, {}, locale);
  const [menu] = reply.components.flatMap(({ components }) => components) as { options?: { value: string }[]; custom_id: string }[];
  const found: string[] = [reply.content];
  for (const { value } of menu?.options ?? []) {
    const chosen = await (await run.select(menu?.custom_id ?? "", [value])).reply();
    expect(chosen.embeds).toHaveLength(1);
    expect(chosen.embeds[0]?.description).not.toContain("…");
    found.push(chosen.embeds[0]?.description ?? "");
  }
  return found;
}

describe("the tables of /help", () => {
  test("have every command in exactly one subject", () => {
    const commands = [...new Set(commandTable().entries.map(({ command }) => command))].toSorted();
    expect(groupNames.flatMap(commandsOf).toSorted()).toEqual(commands);
  });

  test("name commands that exist, each once", () => {
    const known = new Set(commandTable().entries.map(nameOf));
    for (const names of [mostUsed, tasks.map(({ entry }) => entry)]) {
      expect(names.filter((name) => !known.has(name))).toEqual([]);
      expect(new Set(names).size).toBe(names.length);
    }
  });

  test("put what is used most before the rest of its command", () => {
    const review = commandTable()
      .entries.filter(({ command }) => command === "review")
      .map(({ path }) => path);
    expect(review.slice(0, 4)).toEqual(["queue", "next", "show", "approve"]);
    expect(review.indexOf("stats")).toBeGreaterThan(review.indexOf("history"));
    const cases = commandTable()
      .entries.filter(({ command }) => command === "case")
      .map(({ path }) => path);
    expect(cases.indexOf("timeline")).toBeLessThan(cases.indexOf("template list"));
  });
});

describe("/help", () => {
  test("is there for everybody", () => {
    const { commands } = shared.world.sandbox.inside.world.application;
    expect([...commands.values()].find(({ name }) => name === "help")?.default_member_permissions).toBeNull();
  });

  test("shows a moderator their usual tasks, the most frequent first, and none that they may not do", async () => {
    const { reply } = await ask(people.moderator);
    const lines = reply.content.split("\n");
    expect(lines[0]).toBe("**What you can do here**");
    expect(lines[1]).toBe(`• Check a person or a server: ${mention("blacklist check")}`);
    expect(lines).toContain(`• Warn or punish somebody: ${mention("request punishment")}`);
    expect(lines.indexOf(`• See what waits for a decision: ${mention("review queue")}`)).toBeGreaterThan(0);
    expect(reply.content).not.toContain("setup wizard");
    expect(reply.content.length).toBeLessThan(2000);
  });

  test("shows in each subject what a person may do: everything to an owner", async () => {
    const all = (await everything(people.owner)).join("\n");
    const missing = commandTable()
      .entries.map(nameOf)
      .filter((name) => !all.includes(`</${name}:`));
    expect(missing).toEqual([]);
    expect(all).not.toMatch(/\b\w+ = |undefined|\{\w+\}/);
  });

  test("leaves out for a moderator and a viewer what needs more than they hold", async () => {
    const shown = Object.fromEntries(
      await Promise.all((["moderator", "viewer"] as const).map(async (level) => [level, (await everything(people[level])).join("\n")])),
    ) as Record<"moderator" | "viewer", string>;
    for (const name of ["blacklist check", "staff list", "request appeal", "mydata", "help"])
      for (const level of ["moderator", "viewer"] as const) expect(shown[level], `${level}: ${name}`).toContain(mention(name));
    for (const name of [
      "blacklist add",
      "staff suspend",
      "setup clients create",
      "permission grant",
      "staffrole delete",
      "review reverse",
      "setup wizard",
    ])
      for (const level of ["moderator", "viewer"] as const) expect(shown[level], `${level}: ${name}`).not.toContain(mention(name));
    for (const name of ["request punishment", "case open", "intel authorize"]) {
      expect(shown.moderator).toContain(mention(name));
      expect(shown.viewer).not.toContain(mention(name));
    }
  });

  test("shows a resident the commands for everybody and how to reach the staff, and nothing of the staff's", async () => {
    const resident = shared.world.member();
    const { reply } = await ask(resident);
    expect(reply.content).toBe(
      [
        "You are not on the staff here, so this is what you can use:",
        `• ${mention("mydata")}: See what this service stores about you`,
        `• ${mention("help")}: See what you can do here, and how`,
        "",
        "If the staff decided something about you, the message you got says how to appeal.",
        "To reach the staff, write to one of the moderators of this server.",
      ].join("\n"),
    );
    expect(reply.components).toEqual([]);
  });

  test("says it in German", async () => {
    const { reply } = await ask(people.owner, {}, "de");
    expect(reply.content.split("\n").slice(0, 2)).toEqual([
      "**Das kannst du hier tun**",
      `• Eine Person oder einen Server prüfen: ${mention("blacklist check")}`,
    ]);
    const all = (await everything(people.owner, "de")).join("\n");
    expect(all).not.toContain("What you can do");
    expect(all).toContain(`${mention("mydata")}: Ansehen, was dieser Dienst über dich speichert`);
    const resident = shared.world.member();
    expect((await ask(resident, {}, "de")).reply.content).toContain("Du gehörst hier nicht zum Team");
  });

  test("explains one command: what it does, its options in words, and an example", async () => {
    const { reply } = await ask(people.moderator, { task: "/Request punishment" });
    expect(reply.content).toBe(mention("request punishment"));
    const [embed] = reply.embeds;
    expect(embed?.title).toBe("/request punishment");
    const lines = embed?.description?.split("\n") ?? [];
    expect(lines[0]).toBe("Ask to warn or punish a person.");
    expect(lines).toContain("• `user`: The person it is about (needed)");
    expect(embed?.description).toContain("A form then asks for: The reason, for those who decide;");
    expect(lines.at(-1)).toBe("Example: `/request punishment user:@somebody action:note`");
    const german = (await ask(people.moderator, { task: "request punishment" }, "de")).reply.embeds[0]?.description;
    expect(german).toContain("• `user`: Die Person, um die es geht (nötig)");
    expect(german).not.toContain("person it is about");
  });

  test("explains every command within the limits of Discord", async () => {
    const names = commandTable().entries.map(nameOf);
    for (const locale of ["en-US", "de"])
      for (const name of names.filter((_, index) => index % 10 === (locale === "de" ? 0 : 5))) {
        const [embed] = (await ask(people.owner, { task: name }, locale)).reply.embeds;
        expect(embed?.description, name).toBeDefined();
        expect(embed?.description?.endsWith("…"), name).toBe(false);
      }
  });

  test("says of a command that a person may not use as of one that does not exist, and nothing is noted", async () => {
    const { world } = shared;
    const denied = () => world.app.database.read.auditEntry.count({ where: { action: "access.denied" } });
    const before = await denied();
    for (const task of ["blacklist add", "no such command"]) {
      const { reply } = await ask(people.moderator, { task });
      expect(reply.content).toBe(`There is no command of this name that you can use. ${mention("help")} lists those you can use.`);
      expect(reply.embeds).toEqual([]);
    }
    await everything(people.viewer);
    expect(await denied()).toBe(before);
  });

  test("offers while somebody types the commands that they may use, by name and description", async () => {
    const { world } = shared;
    const offered = async (user: User, typed: string) => await world.sandbox.as(user).in(world.guild).autocomplete("help", typed);
    Object.assign(people.moderator, { locale: "de" });
    expect(await offered(people.moderator, "/blacklist ch")).toEqual([
      { name: "/blacklist check · Prüfen, ob Personen oder Server auf der Sperrliste stehen", value: "blacklist check" },
    ]);
    expect(await offered(people.moderator, "blacklist add")).toEqual([]);
    expect((await offered(world.member(), "")).map(({ value }) => value)).toEqual(["mydata", "help"]);
  });
});
