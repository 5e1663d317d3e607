// @module-tag sqlite
import { ApplicationCommandOptionType as Option } from "discord.js";
import { expect, test, vi } from "vitest";
import { z } from "zod";
import type { Command } from "../../src/discord/command.ts";
import { escapeText, messageOf } from "../../src/discord/replies.ts";
import { type Call, requirePermission } from "../../src/kernel/call.ts";
import { ProblemError } from "../../src/kernel/errors.ts";
import type { User } from "../../sandbox/index.ts";
import { createStand, goLive, until, type StandOptions } from "./support.ts";

const subject = { name: "subject", description: "Who it is about", type: Option.User, required: true } as const;
const text = { name: "text", description: "Words", type: Option.String, required: true, autocomplete: true } as const;

/** A command per behaviour, all under one name. */
function createCommands(calls: Call[] = []): Command[] {
  return [
    {
      payload: {
        name: "case",
        description: "Cases",
        default_member_permissions: null,
        options: [
          { name: "open", description: "Open a case", type: Option.Subcommand, options: [subject] },
          { name: "say", description: "Repeat words", type: Option.Subcommand, options: [text] },
          { name: "long", description: "Answer at length", type: Option.Subcommand },
          { name: "public", description: "Answer for all", type: Option.Subcommand },
          { name: "slow", description: "Take time", type: Option.Subcommand },
          { name: "denied", description: "Refuse", type: Option.Subcommand },
          { name: "wrong", description: "Parse", type: Option.Subcommand },
          { name: "broken", description: "Fail", type: Option.Subcommand },
          { name: "unknown", description: "Nothing runs", type: Option.Subcommand },
        ],
      },
      subcommands: {
        open(options, call) {
          calls.push(call);
          return { content: `Opened for ${options.getUser("subject", true).id}` };
        },
        say: (options) => ({ content: escapeText(options.getString("text", true)) }),
        long: () => ({ content: "x".repeat(3000), files: [{ name: "all.txt", content: "everything" }] }),
        public: () => ({ content: "For all of you", ephemeral: false }),
        slow: () => new Promise((resolve) => setTimeout(() => resolve({ content: "done" }), 3000)),
        denied: (_options, call) => {
          requirePermission(
            { ...call, actor: { ...call.actor!, isStaff: true, decide: () => ({ allowed: false, reasons: [] }) } },
            "cases.create",
          );
          return { content: "done" };
        },
        wrong: () => ({ content: z.object({ reason: z.string().min(3) }).parse({ reason: "x" }).reason }),
        broken: () => {
          throw new Error("a secret of the inside");
        },
      },
      autocomplete: ({ value }) =>
        Array.from({ length: 30 }, (_, index) => ({ name: `${value}${index.toString()}`, value: `v${index.toString()}` })),
    },
  ];
}

async function createHarbour(options: Partial<NonNullable<StandOptions["discord"]>> = {}, sandbox: StandOptions["sandbox"] = {}) {
  const calls: Call[] = [];
  const stand = await createStand({ sandbox, discord: { commands: createCommands(calls), ...options } });
  const guild = stand.sandbox.createGuild({ name: "Harbour" });
  const ann = stand.sandbox.createUser("ann");
  const bob = stand.sandbox.createUser("bob");
  guild.addMember(ann);
  guild.addMember(bob);
  await goLive(stand);
  await until(() => stand.sandbox.exchanges.some((exchange) => exchange.method === "PUT"));
  await until(() => stand.log.some((line) => line.includes("registered")));
  const run = (path: string, given?: Record<string, string | User>) => stand.sandbox.as(ann).in(guild).runSlashCommand(path, given);
  return { ...stand, guild, ann, bob, calls, run };
}

test("a command runs as the person who gave it, and answers only them", async () => {
  const { run, bob, ann, calls } = await createHarbour();
  const started = await run("case open", { subject: bob });
  expect(await started.reply()).toMatchObject({ content: `Opened for ${bob.id}`, ephemeral: true });
  expect(calls).toMatchObject([{ client: null, via: "slash", idempotency: null, replayed: false, actor: { id: ann.id } }]);
  expect(calls[0]?.requestId).toBe(started.interaction.id);
});

test("a slow command is acknowledged in time and answered later", async () => {
  const { run } = await createHarbour({}, { ackDeadlineMs: 2500 });
  const started = await run("case slow");
  expect((await started.acked).afterMs).toBeLessThan(2500);
  expect(await started.reply()).toMatchObject({ content: "done" });
});

test("a missing permission is said once, by its title, with whom to ask, and the code", async () => {
  const { run } = await createHarbour();
  const { content, ephemeral } = await (await run("case denied")).reply();
  expect(content).toBe("You can't open cases here. Ask an admin for the permission *Open cases* (`cases.create`).\n-# permission_denied");
  expect(ephemeral).toBe(true);
});

test("a wrong field is named", async () => {
  const { run } = await createHarbour();
  expect((await (await run("case wrong")).reply()).content).toBe("Reason: Use at least 3 characters.\n-# validation_failed");
});

test("an unexpected error tells a number and nothing else; the log has the rest", async () => {
  const { run, log } = await createHarbour();
  const started = await run("case broken");
  const { content } = await started.reply();
  expect(content).toContain(started.interaction.id);
  expect(content).not.toContain("secret");
  expect(log.some((line) => line.includes("a secret of the inside") && line.includes(started.interaction.id))).toBe(true);
});

test("a failure to find the person is answered too", async () => {
  const { run } = await createHarbour({ actorOf: () => Promise.reject(new ProblemError("storage_busy", { retryAfter: 2 })) });
  expect((await (await run("case public")).reply()).content).toMatch(/Try again <t:\d+:R>\./);
});

test("a command nothing runs for is refused politely", async () => {
  const { run } = await createHarbour();
  expect((await (await run("case unknown")).reply()).content).toBe("This command is not known here (any more).");
});

test("a server that is not configured is refused and nothing runs", async () => {
  const { run, calls, bob } = await createHarbour({ served: new Set(["100000000000000001"]) });
  expect((await (await run("case open", { subject: bob })).reply()).content).toContain(
    "This server does not belong to the community this bot serves",
  );
  expect(calls).toEqual([]);
});

test("an answer for everyone is a message of its own", async () => {
  const { run } = await createHarbour();
  const started = await run("case public");
  await until(() => started.followups().length === 1);
  expect(started.followups()).toMatchObject([{ content: "For all of you", ephemeral: false }]);
  expect(started.current()).toMatchObject({ ephemeral: true });
});

test("an answer that is too long is cut with a note, and files are attached", async () => {
  const { run, sandbox } = await createHarbour();
  const { content } = await (await run("case long")).reply();
  expect(content).toHaveLength(2000);
  expect(content).toMatch(/… \(cut: .*\)$/);
  const edit = sandbox.exchanges.findLast((exchange) => exchange.method === "PATCH");
  expect(edit?.requestHeaders["content-type"]).toMatch(/multipart/);
});

test("text of users is shown as it is: no mention, no link, no formatting", async () => {
  const { run, sandbox } = await createHarbour();
  const started = await run("case say", { text: "<@1> @everyone **x** [y](https://z)" });
  const { content } = await started.reply();
  expect(content).toBe("\\<\\@1\\> \\@everyone \\*\\*x\\*\\* \\[y\\]\\(https\\://z\\)");
  const edit = sandbox.exchanges.findLast((exchange) => exchange.method === "PATCH");
  expect(edit?.requestBody).toMatchObject({ allowed_mentions: { parse: [] } });
});

test("choices are given while typing, at most 25", async () => {
  const { sandbox, ann, guild } = await createHarbour();
  const choices = await sandbox.as(ann).in(guild).autocomplete("case say", "ab");
  expect(choices).toHaveLength(25);
  expect(choices[24]).toMatchObject({ name: "ab24", value: "v24" });
});

test("an answer that Discord does not take is logged, and the next command works", async () => {
  const { run, sandbox, log } = await createHarbour();
  sandbox.faults.rest({ route: "PATCH /webhooks/:id/:token/messages/@original", status: 404, times: 1 });
  const started = await run("case public");
  await until(() => log.some((line) => line.includes("an answer to Discord was lost")));
  expect(log.join("")).not.toContain(started.interaction.token);
  expect((await (await run("case wrong")).reply()).content).toContain("validation_failed");
});

test("a cut never leaves half a character", () => {
  const { content } = messageOf({ content: "😀".repeat(1500) });
  expect(content).not.toMatch(/[\ud800-\udbff](?![\udc00-\udfff])/);
  expect(content.length).toBeLessThanOrEqual(2000);
});

test("more answers than Discord takes of other calls in a second wait for nothing", async () => {
  const { run } = await createHarbour();
  // A second that never ends: what is kept to so many calls a second would wait for good.
  vi.useFakeTimers({ now: Date.now(), toFake: ["Date"] });
  try {
    const runs = await Promise.all(Array.from({ length: 60 }, () => run("case say", { text: "hello" })));
    const replies = await Promise.all(runs.map((one) => one.reply()));
    expect(new Set(replies.map(({ content }) => content))).toEqual(new Set(["hello"]));
  } finally {
    vi.useRealTimers();
  }
});
