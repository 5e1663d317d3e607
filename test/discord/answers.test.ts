// @module-tag sqlite
import { ApplicationCommandOptionType as Option } from "discord.js";
import { expect, test } from "vitest";
import type { Command } from "../../src/discord/command.ts";
import { createStand, goLive, until } from "./support.ts";

const first = "POST /interactions/:id/:token/callback";
const edit = "PATCH /webhooks/:id/:token/messages/@original";
const word = { name: "word", description: "A word", type: Option.String, autocomplete: true } as const;

/** A link whose pauses between repetitions begin with so many milliseconds. Its own three seconds count, not how busy the machine is. */
async function createDoor(repeatMs = 1) {
  let ran = 0;
  const command: Command = {
    payload: { name: "echo", description: "Answers", default_member_permissions: null, options: [word] },
    run: () => ({ content: `answer ${(ran += 1).toString()}` }),
    autocomplete: () => [{ name: "one", value: "1" }],
  };
  const stand = await createStand({ sandbox: { ackDeadlineMs: 20_000 }, discord: { commands: [command], repeatMs } });
  const guild = stand.sandbox.createGuild({ name: "Harbour" });
  const ann = stand.sandbox.createUser("ann");
  guild.addMember(ann);
  await goLive(stand);
  await until(() => stand.log.some((line) => line.includes("registered")));
  return { ...stand, at: stand.sandbox.as(ann).in(guild), ran: () => ran };
}

test("an answer that Discord fails to take is sent again until it is taken, and the command runs once", async () => {
  const { at, sandbox, ran } = await createDoor();
  const fault = sandbox.faults.rest({ route: edit, status: 503, times: 8 });
  expect((await (await at.runSlashCommand("echo")).reply()).content).toBe("answer 1");
  expect([fault.hits, ran()]).toEqual([8, 1]);
});

test("the first answer is sent again within its three seconds, with pauses", async () => {
  const { at, sandbox, ran } = await createDoor(100);
  const fault = sandbox.faults.rest({ route: first, status: 502, times: 3 });
  expect((await (await at.runSlashCommand("echo")).reply()).content).toBe("answer 1");
  expect([fault.hits, ran()]).toEqual([3, 1]);
  const times = sandbox.exchanges.filter(({ path }) => path.endsWith("/callback")).map(({ at: time }) => time);
  expect(times.at(-1)! - times[0]!).toBeGreaterThan(450);
});

test("a first answer that Discord took without saying so counts", async () => {
  const { at, sandbox, ran } = await createDoor();
  sandbox.faults.rest({ route: first, status: 500, late: true });
  expect((await (await at.runSlashCommand("echo")).reply()).content).toBe("answer 1");
  expect(ran()).toBe(1);
});

test("a first answer that hangs is sent again while there is time", async () => {
  const { at, sandbox } = await createDoor();
  sandbox.faults.rest({ route: first, hang: true });
  expect((await (await at.runSlashCommand("echo")).reply()).content).toBe("answer 1");
});

test("choices are sent again as well", async () => {
  const { at, sandbox } = await createDoor();
  sandbox.faults.rest({ route: first, status: 500, times: 6 });
  expect(await at.autocomplete("echo", "o")).toEqual([{ name: "one", value: "1" }]);
});

test("an answer that Discord never takes as an edit is told by a message, for the asker alone", async () => {
  const { at, sandbox, ran } = await createDoor(0.2);
  const fault = sandbox.faults.rest({ route: edit, status: 503, times: 1000 });
  expect(await (await at.runSlashCommand("echo")).reply()).toMatchObject({ content: "answer 1", ephemeral: true });
  expect([fault.hits, ran()]).toEqual([20, 1]);
});

test.each([401, 403, 404])("an answer that Discord refuses with %i is not sent again", async (status) => {
  const { at, sandbox, log } = await createDoor();
  const fault = sandbox.faults.rest({ route: edit, status, times: 9 });
  const run = await at.runSlashCommand("echo");
  await until(() => log.some((line) => line.includes("an answer to Discord was lost")));
  expect(fault.hits).toBe(1);
  expect(run.followups()).toEqual([]);
});

test("a command whose first answer is refused does not run", async () => {
  const { at, sandbox, log, ran } = await createDoor();
  const body = { message: "Unknown interaction", code: 10_062 };
  const fault = sandbox.faults.rest({ route: first, status: 404, body, times: 9 });
  await at.runSlashCommand("echo");
  await until(() => log.some((line) => line.includes("an answer to Discord was lost")));
  expect([fault.hits, ran()]).toEqual([1, 0]);
});
