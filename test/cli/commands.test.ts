// @module-tag sqlite
// @module-tag slow
import { commandTable } from "../../src/features.ts";
import {
  ApplicationCommandOptionType as Option,
  ApplicationCommandType as Kind,
  type RESTPostAPIApplicationCommandsJSONBody,
} from "discord.js";
import { expect, onTestFinished, test, vi } from "vitest";
import type { CommandsMeans } from "../../src/cli/commands.ts";
import { runCli } from "../../src/cli/program.ts";
import { commandPayloads } from "../../src/commands/payloads.ts";
import { tokenInstruction } from "../../src/discord/gateway/close-codes.ts";
import { worded } from "../../src/kit/say.ts";
import { createSandbox, type Sandbox } from "../../sandbox/index.ts";
import { secretTexts, validEnvironment } from "../config/environment.ts";
import { createWorkplace, dotEnv, type Outcome } from "./run.ts";

type Payload = RESTPostAPIApplicationCommandsJSONBody;

const reason = { name: "reason", description: "Why", type: Option.String, max_length: 1000 } as const;
const casePayload: Payload = {
  name: "case",
  description: "Cases",
  options: [{ name: "open", description: "Open", type: Option.Subcommand, options: [reason] }],
};
const report: Payload = { type: Kind.Message, name: "Report this" };
const rest: Payload[] = Array.from({ length: 8 }, (_, index) => ({ name: `verb-${index.toString()}`, description: "Does something" }));
const ours = [casePayload, report, ...rest];
const changed: Payload[] = [
  { ...casePayload, options: [{ name: "open", description: "Open", type: Option.Subcommand, options: [{ ...reason, max_length: 900 }] }] },
  { type: Kind.User, name: "History" },
  ...rest,
];

/** An operator beside a local Discord: no database, no service. */
async function createOperator(variables: Record<string, string> = {}) {
  const sandbox = await createSandbox();
  onTestFinished(() => sandbox.stop());
  const env = { ...validEnvironment(), ...sandbox.env(), DATA_DIR: "/nowhere/to/write", ...variables };
  const work = await createWorkplace(dotEnv(env));
  onTestFinished(() => work[Symbol.asyncDispose]());
  const run = async (line: string, standIns: Partial<CommandsMeans> = {}): Promise<Outcome> => {
    const before = process.cwd();
    process.chdir(work.directory);
    try {
      const outcome = await runHere(["commands", ...line.split(" ")], standIns);
      for (const secret of secretTexts(env)) expect(outcome.stdout + outcome.stderr).not.toContain(secret);
      return outcome;
    } finally {
      process.chdir(before);
    }
  };
  return { sandbox, work, run };
}

/** In this process, with our list and without a terminal unless told otherwise. */
async function runHere(argv: readonly string[], standIns: Partial<CommandsMeans>): Promise<Outcome> {
  const written = { stdout: "", stderr: "" };
  const spies = (["stdout", "stderr"] as const).map((stream) =>
    vi.spyOn(process[stream], "write").mockImplementation((text) => {
      written[stream] += text.toString();
      return true;
    }),
  );
  try {
    return {
      code: await runCli(argv, { payloads: () => ours, isTerminal: () => false, pace: { callMs: 5000, repeatMs: 10 }, ...standIns }),
      ...written,
    };
  } finally {
    for (const spy of spies) spy.mockRestore();
  }
}

const writes = (sandbox: Sandbox) => sandbox.exchanges.filter(({ method }) => method !== "GET").map(({ method }) => method);

test("diff, deploy, diff: what is shown is done, and a second time there is nothing", async () => {
  const { run, sandbox } = await createOperator();
  const first = await run("diff");
  expect(first).toMatchObject({ code: 2, stderr: "New: 10, changed: 0, gone: 0, as they should be: 0.\n" });
  expect(first.stdout.split("\n").slice(0, 3)).toEqual(["+ /case", '+ message menu "Report this"', "+ /verb-0"]);
  expect(writes(sandbox)).toEqual([]);
  expect(await run("deploy")).toMatchObject({ code: 0, stdout: first.stdout });
  const nothing = { code: 0, stdout: "", stderr: "Nothing differs; commands as they should be: 10.\n" };
  expect(await run("diff")).toEqual(nothing);
  expect(await run("deploy")).toEqual(nothing);
  expect(writes(sandbox)).toEqual(["PUT"]);
});

test("a change is told by option and field, and sent alone", async () => {
  const { run, sandbox } = await createOperator();
  await run("deploy");
  const payloads = () => changed;
  const shown = await run("diff", { payloads });
  expect(shown).toEqual({
    code: 2,
    stdout: '~ /case open reason max_length: 1000 -> 900\n+ user menu "History"\n- message menu "Report this"\n',
    stderr: "New: 1, changed: 1, gone: 1, as they should be: 8.\n",
  });
  const done = await run("deploy", { payloads });
  expect(done).toMatchObject({ code: 0, stdout: '- message menu "Report this"\n~ /case\n+ user menu "History"\n' });
  expect(writes(sandbox)).toEqual(["PUT", "DELETE", "PATCH", "POST"]);
  expect(await run("diff", { payloads })).toMatchObject({ code: 0, stdout: "" });
});

test("at most a hundred lines are shown, then a count; JSON holds all of them", async () => {
  const { run } = await createOperator();
  const options = Array.from({ length: 25 }, (_, index) => ({ ...reason, name: `option-${index.toString()}` }));
  const long = Array.from({ length: 5 }, (_, index): Payload => ({ name: `long-${index.toString()}`, description: "Long", options }));
  await run("deploy", { payloads: () => long });
  const payloads = () =>
    long.map(
      (one): Payload => ({ ...one, description: "Longer", options: options.map((option) => ({ ...option, max_length: 9 })) }) as Payload,
    );
  const lines = (await run("diff", { payloads })).stdout.trimEnd().split("\n");
  expect(lines).toHaveLength(101);
  expect(lines[100]).toBe("… and 30 more");
  const { code, stdout } = await run("diff --json", { payloads });
  expect(code).toBe(2);
  const answer = JSON.parse(stdout) as { equal: boolean; commands: { details: unknown[] }[] };
  expect(answer).toMatchObject({ guild_id: null, equal: false, unchanged: 0 });
  expect(answer.commands.flatMap(({ details }) => details)).toHaveLength(130);
});

test("clear asks, leaves the list as it is without a yes, and takes everything away with one", async () => {
  const { run, sandbox } = await createOperator();
  await run("deploy");
  expect(await run("clear")).toMatchObject({
    code: 1,
    stdout: "",
    stderr: "Nothing was removed. Without a terminal to ask at, add `--yes`.\n",
  });
  const asked: string[] = [];
  const answering = (answer: string): Partial<CommandsMeans> => ({
    isTerminal: () => true,
    ask: (question) => Promise.resolve(asked.push(question)).then(() => answer),
  });
  for (const answer of ["", "y", "no"])
    expect(await run("clear", answering(answer))).toMatchObject({ code: 1, stderr: "Nothing was removed.\n" });
  expect(asked[0]).toMatch(/^Remove 10 commands for every server \(\/case, message menu "Report this", /);
  expect(writes(sandbox)).toEqual(["PUT"]);
  expect(await run("clear", answering("Yes"))).toMatchObject({ code: 0, stdout: expect.stringContaining("- /case\n") });
  expect(writes(sandbox)).toEqual(["PUT", "PUT"]);
  expect(await run("clear", answering("no"))).toMatchObject({ code: 0, stdout: "" });
  expect(asked).toHaveLength(4);
});

test("the list of one server is another one, and is tried and cleared alone", async () => {
  const { run, sandbox } = await createOperator();
  const guild = sandbox.createGuild({ name: "Harbour" });
  await run("deploy");
  expect(await run(`deploy --guild ${guild.id}`, { payloads: () => changed })).toMatchObject({ code: 0 });
  expect(await run(`diff --guild ${guild.id}`, { payloads: () => changed })).toMatchObject({ code: 0 });
  expect(await run("diff")).toMatchObject({ code: 0 });
  const sent = sandbox.exchanges.filter(({ path }) => path.includes(guild.id)).map(({ requestBody }) => JSON.stringify(requestBody));
  expect(sent.join("")).not.toContain("contexts");
  const { code, stdout } = await run(`clear --guild ${guild.id} --yes --json`);
  expect({ code, answer: JSON.parse(stdout) as unknown }).toMatchObject({ code: 0, answer: { guild_id: guild.id, unchanged: 0 } });
  expect(await run("diff")).toMatchObject({ code: 0 });
});

test("a server the bot is not in is named, with the address that adds it", async () => {
  const { run, sandbox } = await createOperator();
  const guild = sandbox.createGuild({ name: "Elsewhere", withBot: false });
  const { code, stdout, stderr } = await run(`deploy --guild ${guild.id}`);
  expect({ code, stdout }).toEqual({ code: 1, stdout: "" });
  expect(stderr).toContain(`in server ${guild.id}`);
  expect(stderr).toContain(`client_id=${sandbox.env().DISCORD_CLIENT_ID}&scope=bot+applications.commands&guild_id=${guild.id}`);
});

test.each(["diff", "deploy", "clear --yes"])(
  "%s: a refused token, another application and a Discord that is away fail with 1 and in words",
  async (verb) => {
    const { run, sandbox } = await createOperator();
    const refused = sandbox.faults.rest({ route: "*", status: 401, times: 99 });
    expect(await run(verb)).toEqual({ code: 1, stdout: "", stderr: `${worded(tokenInstruction)}\n` });
    refused.clear();
    const forbidden = sandbox.faults.rest({ route: "*", status: 403, times: 99 });
    expect(await run(verb)).toMatchObject({ code: 1, stdout: "", stderr: expect.stringContaining("have to be of the same application") });
    forbidden.clear();
    sandbox.faults.rest({ route: "*", status: 503, times: 99 });
    const away = await run(verb);
    expect(away).toMatchObject({ code: 1, stdout: "" });
    expect(away.stderr).toMatch(/^Discord cannot be reached at http:\S+\/api\. What was sent stays; /);
    expect(writes(sandbox)).toEqual([]);
  },
);

test("a rate limit is told and waited for; one that is too long is told and not waited for", async () => {
  const { run, sandbox } = await createOperator();
  sandbox.faults.rest({ route: "PUT /applications/:id/commands", status: 429, retryAfter: 1 });
  const waited = await run("deploy", { pace: { callMs: 500 } });
  expect(waited).toMatchObject({ code: 0, stderr: expect.stringMatching(/^Discord asks to wait \d s; waiting\.\nNew: 10, /) });
  sandbox.faults.rest({ route: "PUT /applications/:id/commands", status: 429, retryAfter: 3600 });
  const refused = await run("clear --yes");
  expect(refused).toMatchObject({ code: 1, stdout: "" });
  expect(refused.stderr).toMatch(/^Discord takes no more changes for 36\d\d s\./);
});

test("a failure half-way leaves what was sent, and the next deploy goes on from there", async () => {
  const { run, sandbox } = await createOperator();
  await run("deploy");
  const payloads = () => changed;
  const broken = sandbox.faults.rest({ route: "PATCH /applications/:id/commands/:id", status: 503, times: 99 });
  expect(await run("deploy", { payloads })).toMatchObject({ code: 1, stdout: '- message menu "Report this"\n' });
  expect(broken.hits).toBe(3);
  broken.clear();
  expect(await run("deploy", { payloads })).toMatchObject({ code: 0, stdout: '~ /case\n+ user menu "History"\n' });
});

test("what Discord refuses in the list is told in its own words", async () => {
  const { run, sandbox } = await createOperator();
  const { code, stderr } = await run("deploy", { payloads: () => [...ours, { name: "Upper", description: "Wrong" }] });
  expect(code).toBe(1);
  expect(stderr.split("\n").slice(0, 2)).toEqual([
    "Discord refused the commands (400, code 50035): Invalid Form Body",
    expect.stringMatching(/^ {2}\/Upper name: .+ \([A-Z_]+\)$/),
  ]);
  expect(sandbox.unhandled).toEqual([]);
});

test("what Discord refuses in many places comes in short lines, the first twenty and how many more", async () => {
  const { run, sandbox } = await createOperator();
  const wrong = {
    description: { _errors: [{ code: "BASE_TYPE_BAD_LENGTH", message: `Must be shorter than ${"very ".repeat(200)}long.` }] },
  };
  const errors = Object.fromEntries(ours.flatMap((_, index) => [[index, { ...wrong, name: wrong.description, type: wrong.description }]]));
  const body = { message: "Invalid Form Body", code: 50_035, errors };
  sandbox.faults.rest({ route: "PUT /applications/:id/commands", status: 400, body });
  const lines = (await run("deploy")).stderr.trimEnd().split("\n");
  expect(lines).toHaveLength(22);
  expect(lines[1]).toMatch(/^ {2}\/case description: Must be shorter/);
  expect(lines.at(-1)).toBe("  … and 10 more");
  expect(Math.max(...lines.map(({ length }) => length))).toBeLessThan(250);
});

test("a name in Discord's list steers no terminal", async () => {
  const { run } = await createOperator();
  const evil: Payload = { type: Kind.User, name: "\u001B[2J\u202Eevil" };
  await run("deploy", { payloads: () => [...ours, evil] });
  const { stdout } = await run("diff");
  expect(stdout).toBe('- user menu "?[2J?evil"\n');
});

test("the list of the program needs no service, no database and no connection, and the program ends by itself", async () => {
  const { work, sandbox } = await createOperator();
  const names = commandPayloads(commandTable()).map(({ name }) => name);
  const shown = await work.provost(["commands", "diff", "--json"]);
  expect(shown.code).toBe(2);
  expect((JSON.parse(shown.stdout) as { commands: { name: string }[] }).commands.map(({ name }) => name)).toEqual(names);
  expect(await work.provost(["commands", "deploy"])).toMatchObject({ code: 0 });
  expect(await work.here(["commands", "diff"])).toMatchObject({ code: 0, stdout: "" });
  expect(sandbox.gatewayLog).toEqual([]);
});

test.each(["commands", "commands diff", "commands deploy", "commands clear"])(
  "%s has a help, and refuses what it does not know with 2",
  async (line) => {
    const help = await runHere([...line.split(" "), "--help"], {});
    expect(help).toMatchObject({ code: 0, stdout: expect.stringContaining(`Usage: provost ${line}`) });
    for (const wrong of [["--no-such-option"], ["one", "two"], ["--guild", "harbour"]])
      expect(await runHere([...line.split(" "), ...wrong], {})).toMatchObject({ code: 2, stdout: "" });
  },
);
