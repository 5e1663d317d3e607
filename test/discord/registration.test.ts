import { ApplicationCommandOptionType as Option } from "discord.js";
import { expect, test } from "vitest";
import type { Command } from "../../src/discord/command.ts";
import { createRegistration, differences, payloadOf } from "../../src/discord/registration.ts";
import { createDiscordRest } from "../../src/discord/rest.ts";
import type { Sandbox } from "../../src/sandbox/index.ts";
import { createLog, startSandbox, until } from "./support.ts";

const run = () => ({ content: "" });
const commands: Command[] = [
  {
    payload: {
      name: "case",
      description: "Cases",
      options: [
        {
          name: "open",
          description: "Open",
          type: Option.Subcommand,
          options: [
            { name: "subject", description: "Who", type: Option.User, required: true },
            { name: "reason", description: "Why", type: Option.String, max_length: 1000, choices: [{ name: "Spam", value: "spam" }] },
          ],
        },
      ],
    },
    subcommands: { open: run },
  },
  { payload: { name: "mydata", description: "What is stored about you", default_member_permissions: null }, run },
];

function register(sandbox: Sandbox, wanted: readonly Command[] = commands) {
  const { logger, log } = createLog();
  const env = sandbox.env();
  const rest = createDiscordRest({ apiBase: env.DISCORD_API_BASE, token: env.DISCORD_TOKEN, logger });
  const registration = createRegistration({ rest, clientId: env.DISCORD_CLIENT_ID, commands: wanted, logger, retryMs: 20 });
  registration.start();
  return { registration, log };
}

const puts = (sandbox: Sandbox) => sandbox.exchanges.filter((exchange) => exchange.method === "PUT").length;

test("commands are registered once; unchanged ones are not sent again", async () => {
  const sandbox = await startSandbox();
  const first = register(sandbox);
  await until(() => first.registration.isDone());
  expect(puts(sandbox)).toBe(1);
  expect(first.log.join("")).toContain('"+1:case"');
  const second = register(sandbox);
  await until(() => second.registration.isDone());
  expect(puts(sandbox)).toBe(1);
});

test("a changed, a new and a gone command are sent in one go", async () => {
  const sandbox = await startSandbox();
  const first = register(sandbox);
  await until(() => first.registration.isDone());
  const changed = [
    { ...commands[0]!, payload: { ...commands[0]!.payload, description: "All about cases" } },
    { payload: { name: "audit", description: "Audit" }, run },
  ];
  const { registration, log } = register(sandbox, changed);
  await until(() => registration.isDone());
  expect(log.join("")).toContain('["~1:case","+1:audit","-1:mydata"]');
});

test("a failure is tried again", async () => {
  const sandbox = await startSandbox();
  sandbox.faults.rest({ route: "PUT /applications/:id/commands", status: 403, times: 2 });
  const { registration, log } = register(sandbox);
  await until(() => registration.isDone());
  expect(puts(sandbox)).toBe(3);
  expect(log.filter((line) => line.includes("could not be registered"))).toHaveLength(2);
});

test("commands are for guilds only and hidden unless they say otherwise", () => {
  expect(payloadOf(commands[0]!)).toMatchObject({ default_member_permissions: "0", contexts: [0], integration_types: [0] });
  expect(payloadOf(commands[1]!)).toMatchObject({ default_member_permissions: null });
});

test("what Discord fills in is no difference, a changed limit is", () => {
  const sent = payloadOf(commands[0]!);
  const echoed = { ...sent, id: "1", version: "2", type: 1, nsfw: false, dm_permission: false, name_localizations: null };
  expect(differences([echoed], [sent])).toEqual([]);
  const older = Object.entries(echoed).filter(([key]) => key !== "contexts" && key !== "integration_types");
  expect(differences([Object.fromEntries(older)], [sent])).toEqual([]);
  expect(differences([{ ...echoed, contexts: null }], [sent])).toEqual(["~1:case"]);
  const options = JSON.parse(JSON.stringify(sent["options"]).replace("1000", "900")) as unknown;
  expect(differences([{ ...echoed, options }], [sent])).toEqual(["~1:case"]);
});
