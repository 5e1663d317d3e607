// @module-tag sqlite
import {
  ApplicationCommandOptionType as Option,
  ApplicationCommandType as Kind,
  Routes,
  type RESTPostAPIApplicationCommandsJSONBody,
} from "discord.js";
import fc from "fast-check";
import { expect, onTestFinished, test } from "vitest";
import { compareLists, payloadOf, type Fields } from "../../src/discord/registration/compare.ts";
import { createRegistration } from "../../src/discord/client.ts";
import { createDiscordRest } from "../../src/discord/rest/rest.ts";
import type { Sandbox } from "../../sandbox/index.ts";
import { createLog, createStand, goLive, startSandbox, until } from "./support.ts";
import { runsOf } from "../support/size.ts";

type Payload = RESTPostAPIApplicationCommandsJSONBody;

const casePayload: Payload = {
  name: "case",
  description: "Cases",
  description_localizations: { de: "Fälle", fr: "Dossiers" },
  options: [
    {
      name: "open",
      description: "Open",
      type: Option.Subcommand,
      options: [
        { name: "subject", description: "Who", type: Option.User, required: true },
        {
          name: "reason",
          description: "Why",
          type: Option.String,
          max_length: 1000,
          choices: [
            { name: "Spam", value: "spam", name_localizations: { de: "Müll" } },
            { name: "Raid", value: "raid" },
          ],
        },
      ],
    },
    { name: "close", description: "Close", type: Option.Subcommand },
  ],
};
const mydata: Payload = { name: "mydata", description: "What is stored about you", default_member_permissions: null };
const report: Payload = { type: Kind.Message, name: "Report this" };
const history: Payload = { type: Kind.User, name: "History" };
const payloads = [casePayload, mydata, report, history];

const twenty: Payload[] = Array.from({ length: 20 }, (_, index) => ({ name: `verb-${index.toString()}`, description: "Does something" }));

function restOf(sandbox: Sandbox) {
  const { logger, log } = createLog();
  const env = sandbox.env();
  const rest = createDiscordRest({ apiBase: env.DISCORD_API_BASE, token: env.DISCORD_TOKEN, logger, repeatMs: 10 });
  onTestFinished(() => rest.stop());
  return { rest, clientId: env.DISCORD_CLIENT_ID, logger, log };
}

function register(sandbox: Sandbox, wanted: readonly Payload[] = payloads) {
  const { log, ...given } = restOf(sandbox);
  const registration = createRegistration({ ...given, payloads: wanted, retryMs: 20 });
  onTestFinished(() => registration.stop());
  registration.start();
  return { registration, log };
}

/** Register and wait until it is done. @returns the log */
async function settle(sandbox: Sandbox, wanted?: readonly Payload[]): Promise<string> {
  const { registration, log } = register(sandbox, wanted);
  await until(() => registration.isDone());
  return log.join("");
}

/** Calls that change something, in the order they came. */
const writes = (sandbox: Sandbox) => sandbox.exchanges.filter(({ method }) => method !== "GET").map(({ method }) => method);

/** What Discord holds, by name; a command that was sent again has another version. */
async function held(sandbox: Sandbox): Promise<Map<string, Fields>> {
  const { rest, clientId } = restOf(sandbox);
  const list = await rest.call<Fields[]>({ method: "GET", route: Routes.applicationCommands(clientId), purpose: "registration" });
  return new Map(list.map((command) => [String(command["name"]), command]));
}

test("commands of all three kinds are registered once; unchanged ones are not sent again", async () => {
  const sandbox = await startSandbox();
  expect(await settle(sandbox)).toContain('["+1:case","+1:mydata","+3:Report this","+2:History"]');
  expect(writes(sandbox)).toEqual(["PUT"]);
  expect(await settle(sandbox)).not.toContain("registered");
  expect(writes(sandbox)).toEqual(["PUT"]);
});

test("a service that is told not to register neither reads nor changes the list", async () => {
  const commands = [{ payload: mydata, run: () => ({ content: "" }) }];
  const off = await createStand({ discord: { commands, registersCommands: false } });
  await goLive(off);
  const on = await createStand({ sandbox: off.sandbox, discord: { commands } });
  await goLive(on);
  const calls = () => on.sandbox.exchanges.filter(({ path }) => path.endsWith("/commands")).map(({ method }) => method);
  await until(() => calls().includes("PUT"));
  expect(calls()).toEqual(["GET", "PUT"]);
});

test("two changed among twenty are sent alone, and the others stay as they are", async () => {
  const sandbox = await startSandbox();
  await settle(sandbox, twenty);
  const before = await held(sandbox);
  const changed = twenty.map((one, index) => (index === 3 || index === 7 ? { ...one, description: "Does something else" } : one));
  expect(await settle(sandbox, changed)).toContain('["~1:verb-3","~1:verb-7"]');
  expect(writes(sandbox)).toEqual(["PUT", "PATCH", "PATCH"]);
  const after = await held(sandbox);
  for (const [name, command] of after) {
    expect(command["id"]).toBe(before.get(name)?.["id"]);
    if (name === "verb-3" || name === "verb-7") expect(command["description"]).toBe("Does something else");
    else expect(command).toEqual(before.get(name));
  }
  expect(after.size).toBe(20);
});

test("one new and one gone are added and removed alone, what is gone first", async () => {
  const sandbox = await startSandbox();
  await settle(sandbox, twenty);
  const wanted = [...twenty.slice(1), report];
  expect(await settle(sandbox, wanted)).toContain('["+3:Report this","-1:verb-0"]');
  expect(writes(sandbox)).toEqual(["PUT", "DELETE", "POST"]);
  expect([...(await held(sandbox)).keys()]).toEqual(wanted.map(({ name }) => name));
});

test("where half of the commands differ, the whole list is sent in one go", async () => {
  const sandbox = await startSandbox();
  await settle(sandbox, twenty);
  const changed = twenty.map((one, index) => (index < 10 ? { ...one, nsfw: true } : one));
  await settle(sandbox, changed);
  expect(writes(sandbox)).toEqual(["PUT", "PUT"]);
  await settle(
    sandbox,
    changed.map((one, index) => (index < 9 ? { ...one, nsfw: false } : one)),
  );
  expect(writes(sandbox)).toEqual(["PUT", "PUT", ...Array.from({ length: 9 }, () => "PATCH")]);
});

test("a command changed by hand in Discord's list is put back, also what our list never names", async () => {
  const sandbox = await startSandbox();
  await settle(sandbox, [...twenty, ...payloads]);
  const { rest, clientId } = restOf(sandbox);
  const id = String((await held(sandbox)).get("mydata")?.["id"]);
  const options = [{ name: "more", description: "More", type: Option.Boolean }];
  const body = { options, nsfw: true, name_localizations: { de: "daten" }, description_localizations: { de: "Daten" } };
  await rest.call({ method: "PATCH", route: Routes.applicationCommand(clientId, id), body, purpose: "registration" });
  expect(await settle(sandbox, [...twenty, ...payloads])).toContain('["~1:mydata"]');
  expect((await held(sandbox)).get("mydata")).toMatchObject({ id, nsfw: false, name_localizations: null, description_localizations: null });
  expect(await settle(sandbox, [...twenty, ...payloads])).not.toContain("registered");
});

test("two services with the same list that start together leave one list and then send nothing", async () => {
  const sandbox = await startSandbox();
  await settle(sandbox, twenty);
  const wanted = [...twenty.slice(1), report, history];
  await Promise.all([settle(sandbox, wanted), settle(sandbox, wanted)]);
  expect([...(await held(sandbox)).keys()].toSorted()).toEqual(wanted.map(({ name }) => name).toSorted());
  const sent = writes(sandbox).length;
  await Promise.all([settle(sandbox, wanted), settle(sandbox, wanted)]);
  expect(writes(sandbox)).toHaveLength(sent);
});

test.each([
  ["a rate limit", { route: "PUT /applications/:id/commands", status: 429, retryAfter: 0.05, times: 2 }],
  ["a command whose answer is lost", { route: "PUT /applications/:id/commands", status: 503, late: true }],
])("after %s it is tried again until it works", async (_, fault) => {
  const sandbox = await startSandbox();
  sandbox.faults.rest(fault);
  const { registration, log } = register(sandbox);
  await until(() => registration.isDone());
  expect(log.filter((line) => line.includes("could not be registered"))).toEqual([]);
  expect((await held(sandbox)).size).toBe(4);
});

/** A command whose option says more than Discord takes, at a place that a tree of errors names by numbers. */
const wordy: Payload = {
  ...casePayload,
  options: [
    { name: "close", description: "Close", type: Option.Subcommand },
    {
      name: "open",
      description: "Open",
      type: Option.Subcommand,
      options: [{ name: "reason", description: "why ".repeat(26), type: Option.String }],
    },
  ],
};

test.each([
  ["in the whole list", [], [...payloads.slice(1), wordy], "PUT"],
  ["on its own", twenty, [...twenty, wordy], "POST"],
  ["as a change", [...twenty, casePayload], [...twenty, wordy], "PATCH"],
])("a command that Discord refuses %s is named with its option and the reason, and not sent again", async (_, before, wanted, method) => {
  const sandbox = await startSandbox();
  if (before.length > 0) await settle(sandbox, before);
  const { registration, log } = register(sandbox, wanted);
  const line = await until(() => log.find((text) => text.includes("slash commands")) ?? "");
  expect(JSON.parse(line)).toMatchObject({
    level: 50,
    status: 400,
    code: 50_035,
    reason: "Invalid Form Body",
    commands: ["/case open reason description: Must be between 1 and 100 in length. (BASE_TYPE_BAD_LENGTH)"],
    msg: expect.stringContaining("Discord refused the slash commands"),
  });
  expect(line).not.toContain("trying again");
  expect(line.length).toBeLessThan(1000);
  expect(registration.isDone()).toBe(false);
  expect(writes(sandbox).at(-1)).toBe(method);
});

test.each([
  [403, { message: "Missing Access", code: 50_001 }],
  [401, { message: "401: Unauthorized", code: 0 }],
])("a registration that ends with %i is told and not tried again", async (status, body) => {
  const sandbox = await startSandbox();
  const refusal = sandbox.faults.rest({ route: "GET /applications/:id/commands", status, body });
  const { log } = register(sandbox);
  const line = await until(() => log.find((text) => text.includes("slash commands")) ?? "");
  expect(JSON.parse(line)).toMatchObject({ level: 50, status, code: body.code, reason: body.message, commands: [] });
  expect(line).not.toContain("trying again");
  expect(refusal.hits).toBe(1);
});

test("while Discord is away it is tried again until it works", async () => {
  const sandbox = await startSandbox();
  const back = sandbox.faults.down(Infinity);
  const { registration, log } = register(sandbox);
  await until(() => log.find((text) => text.includes("trying again")));
  sandbox.faults.up();
  await back;
  await until(() => registration.isDone());
  expect((await held(sandbox)).size).toBe(4);
});

test("a registration that failed and is tried again tells what Discord answered", async () => {
  const sandbox = await startSandbox();
  sandbox.faults.rest({ route: "GET /applications/:id/commands", status: 503, times: 4 });
  const { log } = register(sandbox);
  const line = await until(() => log.find((text) => text.includes("trying again")) ?? "");
  expect(JSON.parse(line)).toMatchObject({ level: 40, err: { status: 503 } });
});

test.each([
  ["POST", "POST /applications/:id/commands", [...twenty, report]],
  ["PATCH", "PATCH /applications/:id/commands/:id", [{ ...twenty[0]!, nsfw: true }, ...twenty.slice(1)]],
  ["DELETE", "DELETE /applications/:id/commands/:id", twenty.slice(1)],
])("a %s that Discord carries out without answering is repeated, and leaves the list as wanted", async (_, route, wanted) => {
  const sandbox = await startSandbox();
  await settle(sandbox, twenty);
  sandbox.faults.rest({ route, status: 503, late: true });
  expect(await settle(sandbox, wanted)).not.toContain("could not be registered");
  const { changes } = compareLists(
    [...(await held(sandbox)).values()],
    wanted.map((payload) => payloadOf(payload)),
  );
  expect(changes).toEqual([]);
});

test("a command that somebody removes in between is made again, and one to remove is left alone", async () => {
  const sandbox = await startSandbox();
  await settle(sandbox, twenty);
  const gone = { status: 404, body: { message: "Unknown application command", code: 10_063 } };
  sandbox.faults.rest({ route: "PATCH /applications/:id/commands/:id", ...gone });
  sandbox.faults.rest({ route: "DELETE /applications/:id/commands/:id", ...gone });
  const log = await settle(sandbox, [{ name: "verb-0", description: "Does more" }, ...twenty.slice(1, 19)]);
  expect(log).not.toContain("could not be registered");
  expect(writes(sandbox)).toEqual(["PUT", "DELETE", "PATCH", "POST"]);
  expect((await held(sandbox)).get("verb-0")).toMatchObject({ description: "Does more" });
});

test("where Discord holds a command of its own, nothing is sent that would take it away", async () => {
  const sandbox = await startSandbox();
  const body = [{ id: "80351110224678912", type: 4, name: "launch" }];
  sandbox.faults.rest({ route: "GET /applications/:id/commands", status: 200, body, times: 2 });
  await settle(sandbox, []);
  expect(writes(sandbox)).toEqual([]);
  await settle(sandbox, payloads);
  expect(writes(sandbox)).toEqual(["POST", "POST", "POST", "POST"]);
});

test("commands are for guilds only and hidden unless they say otherwise; the list of one guild says nothing of places", () => {
  expect(payloadOf(casePayload)).toMatchObject({ default_member_permissions: "0", contexts: [0], integration_types: [0] });
  expect(payloadOf(mydata)).toMatchObject({ default_member_permissions: null });
  expect(payloadOf(mydata, true)).toEqual(mydata);
});

/** The details of the one command, after a change of what Discord holds. */
function detailsAfter(change: (held: Record<string, unknown>) => Fields, payload = casePayload) {
  const sent = payloadOf(payload);
  const echoed = { ...structuredClone(sent), id: "1", version: "2", type: payload.type ?? 1, nsfw: false, dm_permission: false };
  const { changes } = compareLists([change({ name_localizations: null, ...echoed })], [sent]);
  return changes.flatMap((one) => (one.kind === "changed" ? one.details : []));
}

test("what Discord fills in is no difference, nor is the order of languages and fields", () => {
  expect(detailsAfter((command) => command)).toEqual([]);
  expect(detailsAfter(({ contexts, integration_types, ...older }) => older)).toEqual([]);
  expect(detailsAfter((command) => ({ ...command, description_localizations: { fr: "Dossiers", de: "Fälle" } }))).toEqual([]);
  expect(detailsAfter((command) => Object.fromEntries(Object.entries(command).toReversed()))).toEqual([]);
  expect(detailsAfter((command) => ({ ...command, description: "", options: [] }), report)).toEqual([]);
});

const swap = (of: string, to: string) => (command: Fields) => JSON.parse(JSON.stringify(command).replace(of, to)) as Fields;
const nested = (change: (options: Fields[]) => unknown) => (command: Record<string, unknown>) => {
  const [open, ...rest] = command["options"] as Fields[];
  return { ...command, options: [{ ...open, options: change(open?.["options"] as Fields[]) }, ...rest] };
};

test.each<[string, (command: Record<string, unknown>) => Fields, object]>([
  ["a limit", swap("1000", "900"), { path: ["open", "reason"], field: "max_length", before: 900, after: 1000 }],
  ["a text", swap('"Cases"', '"All"'), { path: [], field: "description", before: "All", after: "Cases" }],
  ["a language", swap("Fälle", "Akten"), { path: [], field: "description_localizations.de", before: "Akten", after: "Fälle" }],
  [
    "a language of a choice",
    swap("Müll", "Mist"),
    { path: ["open", "reason", '"spam"'], field: "name_localizations.de", before: "Mist", after: "Müll" },
  ],
  ["a choice", swap('"raid"', '"flood"'), { path: ["open", "reason", '"flood"'], field: "choice", before: "there", after: null }],
  ["a place", (command) => ({ ...command, contexts: null }), { path: [], field: "contexts", before: null, after: [0] }],
  [
    "rights",
    (command) => ({ ...command, default_member_permissions: "8" }),
    { path: [], field: "default_member_permissions", before: "8", after: "0" },
  ],
  ["a kind of option", swap('"type":6', '"type":9'), { path: ["open", "subject"], field: "type", before: "Mentionable", after: "User" }],
  ["an option", nested((options) => options.slice(1)), { path: ["open", "subject"], field: "option", before: null, after: "there" }],
  [
    "the order of nested options",
    nested((options) => options.toReversed()),
    { path: ["open"], field: "order of options", before: "reason, subject", after: "subject, reason" },
  ],
])("%s changed by hand is told with its path, before and after", (_, change, detail) => {
  expect(detailsAfter(change)[0]).toEqual(detail);
});

test("the commands Discord makes by itself are no difference", () => {
  const { changes, foreign } = compareLists([{ id: "1", type: 4, name: "launch" }], []);
  expect({ changes, foreign }).toEqual({ changes: [], foreign: 1 });
});

test("whatever Discord held, carrying out the difference leaves nothing that differs", async () => {
  const sandbox = await startSandbox();
  const name = fc.constantFrom("a", "b", "c", "d", "e", "f");
  const option = fc.record({
    type: fc.constantFrom(Option.String, Option.Integer),
    name,
    description: fc.constantFrom("One", "Two"),
    required: fc.constant(false),
    choices: fc.constantFrom([], [{ name: "x", value: "1" }]),
  });
  const payload = fc.record(
    {
      name,
      description: fc.constantFrom("One", "Two"),
      nsfw: fc.boolean(),
      description_localizations: fc.constantFrom({ de: "Eins" }, { de: "Zwei", fr: "Deux" }, null),
      options: fc.uniqueArray(option, { selector: (one) => one.name, maxLength: 3 }),
    },
    { requiredKeys: ["name", "description"] },
  ) as fc.Arbitrary<Payload>;
  const list = fc.uniqueArray(payload, { selector: (one) => one.name });
  await fc.assert(
    fc.asyncProperty(list, async (wanted) => {
      await settle(sandbox, wanted);
      const known = [...(await held(sandbox)).values()];
      expect(
        compareLists(
          known,
          wanted.map((one) => payloadOf(one)),
        ),
      ).toMatchObject({ changes: [], unchanged: wanted.length });
      const sent = writes(sandbox).length;
      await settle(sandbox, wanted);
      expect(writes(sandbox)).toHaveLength(sent);
    }),
    { numRuns: runsOf(60) },
  );
});
