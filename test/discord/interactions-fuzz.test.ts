import { commandTable } from "../../src/features.ts";
import { setTimeout as delay } from "node:timers/promises";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import type { OptionSpec } from "../../src/commands/entry.ts";
import { optionTypes } from "../../src/commands/payloads.ts";
import { Prisma } from "../../src/generated/sqlite/client.ts";
import { systemCall } from "../../src/kernel/call.ts";
import { problems } from "../../src/kernel/errors.ts";
import { uuid7 } from "../../src/kernel/ids.ts";
import { walkComponents, type Component } from "../../sandbox/components.ts";
import type { Run } from "../../sandbox/interaction-run.ts";
import type { User } from "../../sandbox/index.ts";
import { createDice } from "../support/dice.ts";
import { hostileTexts } from "../support/hostile.ts";
import { commandData, rawDoor } from "../support/raw-door.ts";
import { createWorld, type World } from "../support/world.ts";
import { seedOf, sizeOf, tier } from "../support/size.ts";

const { entries, menus } = commandTable();

/** How many interactions are made. */
const all = sizeOf({ quick: 60, all: 300, long: 5000 });
const seed = seedOf(1);
/** Commands take rights away as well: after so many a world is made anew, so that not everything ends in a refusal. */
const perWorld = 500;
const rounds = Array.from({ length: Math.ceil(all / perWorld) }, (_, index) => ({
  start: seed + index,
  count: Math.min(perWorld, all - index * perWorld),
}));
/** Longer than Discord waits, as it stands on the same thread here. */
const ackMs = 15_000;
/** How long the database stays busy once all is acknowledged: in the quick tier that they are is enough, else also that more time than Discord gives is no harm. */
const busyMs = tier === "quick" ? 0 : 4000;

/** Names that controls of entries go by. */
const presses = entries.flatMap(({ press }) => press?.name ?? []);

/** What is logged when Discord does what it never does, or was made to. */
const expected = new Set(["No focused option for autocomplete interaction.", "Invalid Form Body"]);

interface Fault {
  route: string;
  status: number;
  body?: object;
  retryAfter?: number;
  times: number;
}

const callback = "POST /interactions/:id/:token/callback";
const edit = "PATCH /webhooks/:id/:token/messages/@original";
const faults: readonly Fault[] = [
  { route: callback, status: 404, body: { message: "Unknown interaction", code: 10_062 }, times: 1 },
  { route: callback, status: 500, times: 9 },
  { route: callback, status: 429, retryAfter: 0.1, times: 1 },
  { route: edit, status: 401, body: { message: "Invalid Webhook Token", code: 50_027 }, times: 1 },
  { route: edit, status: 500, times: 9 },
  { route: edit, status: 400, body: { message: "Invalid Form Body", code: 50_035 }, times: 1 },
];

describe.each(rounds)("$count interactions that are wrong in one way or another (seed $start)", ({ count, start }) => {
  const dice = createDice(start);
  const logged: { level: string | number; msg: string; command?: string; err?: { message?: string } }[] = [];
  const unhandled: unknown[] = [];
  const note = (reason: unknown) => void unhandled.push(reason);
  let world: World;
  let open: ReturnType<typeof rawDoor>;
  let people: User[] = [];
  let fleeting: User;
  let ids: string[] = [];
  /** Controls that were offered to somebody once. */
  const offered: { by: User; source: Parameters<typeof open>[1]["source"]; control: Component }[] = [];
  let someMessage: Parameters<typeof open>[1]["source"] = null;
  const wrong: string[] = [];
  const answered = { refused: 0, done: 0, forms: 0, choices: 0, lost: 0 };

  beforeAll(async () => {
    let end = (): Promise<void> => Promise.resolve();
    world = await createWorld({ onEnd: (way) => (end = way), log: (line) => logged.push(JSON.parse(line)) });
    process.on("unhandledRejection", note);
    open = rawDoor(world.sandbox, world.guild.id);
    fleeting = await world.staff("admin");
    people = [await world.staff("owner"), await world.staff("moderator"), await world.staff("viewer"), world.member(), fleeting];
    ids = [world.guild.id, world.roles.admin.id, "1", "123456789012345678", "99999999999999999999", ...people.map(({ id }) => id)];
    const pool = { key: "north", name: "North", department: "NORTH", template: "{dept}-{n:03}", ranges: [[1, 900]] };
    await world.post("/callsigns/pools", pool, { actor: people[0] as User });
    const run = open(people[0] as User, { type: 2, data: commandData({ command: "callsign", path: "pools" }, []) });
    await run.reply();
    someMessage = run.interaction.original;
    return async () => {
      process.off("unhandledRejection", note);
      await end();
    };
  });

  afterAll(() => world.sandbox.faults.clear());

  function wildValue({ kind, choices = [] }: Pick<OptionSpec, "kind" | "choices">): unknown {
    if (dice.chance(0.3))
      return dice.pick<unknown>([null, true, -1, 1e308, 2 ** 60, "", " ", {}, [], "not a number", dice.pick(hostileTexts)]);
    if (kind === "boolean") return dice.chance(0.5);
    if (kind === "integer" || kind === "number") return dice.pick([0, 1, 7, -5, 1.5, 10 ** 9]);
    if (kind === "text") return dice.pick([...choices, "north", "NORTH-001", "BLU-2026-00001", dice.pick(ids), dice.pick(hostileTexts)]);
    return dice.pick(ids);
  }

  function wildOptions(options: readonly OptionSpec[]): object[] {
    const some = options.filter(() => dice.chance(0.75));
    const given = some.map((option) => ({
      name: option.name,
      type: dice.chance(0.9) ? optionTypes[option.kind] : dice.pick([3, 4, 5, 6, 7, 8, 10, 11]),
      value: wildValue(option),
    }));
    return dice.chance(0.2) ? [...given, { name: dice.pick(["nobody", "__proto__", "x".repeat(200)]), type: 3, value: "x" }] : given;
  }

  function wildCommand(): Parameters<typeof open>[1] {
    const entry = dice.pick(entries);
    const broken = dice.chance(0.1) ? { ...entry, path: dice.pick(["", "nothing", "no such", `${entry.path} more`]) } : entry;
    const named = dice.chance(0.05) ? { ...broken, command: dice.pick(["gone", "constructor", "__proto__"]) } : broken;
    return { type: 2, data: commandData(named, wildOptions(entry.options ?? [])) };
  }

  function wildTyping(): Parameters<typeof open>[1] {
    const entry = dice.pick(entries.filter(({ options = [] }) => options.some(({ completes }) => completes !== undefined)));
    const { name } = dice.pick((entry.options ?? []).filter(({ completes }) => completes !== undefined));
    const typed = { name, type: 3, value: wildValue({ kind: "text" }), ...(dice.chance(0.9) && { focused: true }) };
    return {
      type: 4,
      data: commandData(entry, [...wildOptions(entry.options ?? []).filter((one) => !("name" in one && one.name === name)), typed]),
    };
  }

  function wildMenu(): Parameters<typeof open>[1] {
    const { name, kind } = dice.pick(menus);
    // Discord always brings along the message that was meant.
    const target = kind === "user" ? dice.pick(ids) : (someMessage?.id ?? "");
    const message = {
      id: target,
      channel_id: someMessage?.channelId,
      content: dice.pick(hostileTexts),
      author: { id: people[3]?.id, username: "x" },
    };
    const resolved =
      kind === "user"
        ? {}
        : { messages: { [target]: { ...message, embeds: [], attachments: [], timestamp: "2026-01-01T00:00:00.000Z", type: 0 } } };
    return {
      type: 2,
      data: { id: "1", type: kind === "user" ? 2 : 3, name: dice.chance(0.1) ? "gone" : name, target_id: target, resolved },
    };
  }

  function wildPress(): { by: User; opening: Parameters<typeof open>[1] } {
    const known = offered.length === 0 ? undefined : dice.pick(offered.slice(-40));
    const broken = `do:${dice.pick(presses)}:${Array.from({ length: 1 + dice.below(4) }, () => dice.pick(["%E0%A4%A", "%", "~", "~!", "-1", "99", "x", ...ids])).join(":")}`;
    const mangled = dice.chance(0.5)
      ? broken
      : dice.pick([
          "",
          ":",
          "x:y:z",
          "fm:none",
          "go:none:yes",
          "ls:none:1",
          "do:none",
          "cf:accept:none",
          "wf:approve:none:1",
          "wf",
          "do::::::",
          "x".repeat(100),
        ]);
    const id = known?.control.custom_id ?? mangled;
    const changed = dice.chance(0.4) ? dice.pick([mangled, mangled, `${id}:more`, id.slice(0, -2), id.replace(/\d+$/, "999")]) : id;
    const type = known?.control.type ?? 2;
    const values = type === 2 ? {} : { values: (known?.control.options ?? []).slice(0, 1).map(({ value }) => value), resolved: {} };
    // Discord always says what a control sits on.
    const source = known?.source ?? someMessage ?? null;
    const by = known === undefined || dice.chance(0.3) ? dice.pick(people) : known.by;
    return { by, opening: { type: 3, source, data: { custom_id: changed.slice(0, 100), component_type: type, id: 1, ...values } } };
  }

  function wildForm(run: Run): Parameters<typeof open>[1] {
    const { modal, source } = run.interaction;
    const components = (modal?.components ?? []).map(({ component, ...part }) => {
      const { type = 4, custom_id: id = "x", options } = component ?? {};
      const text = {
        type,
        custom_id: dice.chance(0.9) ? id : "nobody",
        id: 2,
        value: dice.pick(["Because of what was said there", "", "x", ...hostileTexts]).slice(0, 4000),
      };
      const chosen = { type, custom_id: id, id: 2, values: options === undefined ? [dice.pick(ids)] : [options[0]?.value ?? "x"] };
      return { ...part, component: type === 4 ? text : chosen };
    });
    const id = dice.chance(0.9) ? (modal?.custom_id ?? "fm:none") : "fm:none";
    return { type: 5, source, data: { custom_id: id, components: dice.chance(0.95) ? components : [] } };
  }

  /** Settles when an interaction has its answer, or nothing more can come. */
  async function over(run: Run, fault: Fault | undefined): Promise<void> {
    const { interaction } = run;
    const isOver = (): boolean => interaction.answered || interaction.missed;
    if (fault === undefined || fault.status === 429) return void (await world.sandbox.waitFor(isOver, 60_000));
    await Promise.race([world.sandbox.waitFor(isOver, 60_000).catch(() => undefined), delay(150)]);
  }

  /** Looking at somebody's data is noted a little later, and changes nothing else. */
  const rowsNow = async (): Promise<string> => {
    const { read } = world.app.database;
    const models = Object.keys(Prisma.ModelName).filter((model) => !/^(Audit|DataRead|Setting|Member|Guild|Outbox|Event)/.test(model));
    const counts = await Promise.all(models.map((model) => read[(model.charAt(0).toLowerCase() + model.slice(1)) as "setting"].count()));
    return models.map((model, index) => `${model} ${(counts[index] ?? 0).toString()}`).join("\n");
  };
  /** What commands wrote; the service does its own in its own time. */
  const writes = (): Promise<number> => world.app.database.read.auditEntry.count({ where: { outcome: { not: "denied" }, via: "slash" } });

  const codes = new Set(Object.keys(problems));
  const refusal = (text: string): string | undefined => {
    const code = /-# (\w+)/.exec(text)?.[1];
    if (code !== undefined && codes.has(code)) return code;
    return /^This (command is not known|server does not belong|is not served)/.test(text) ? "not here" : undefined;
  };

  /** What somebody got, held against what may be. */
  function judge(run: Run, by: User, fault: Fault | undefined): "refused" | "asked" | "done" {
    const { interaction } = run;
    const words = `${interaction.type.toString()} ${interaction.name} ${JSON.stringify(interaction.data).slice(0, 400)}`;
    const complain = (what: string): void => void wrong.push(`${what}: ${words}`);
    if (interaction.ack === null) {
      if (fault === undefined || fault.status === 429) complain("not acknowledged");
      answered.lost += 1;
      return "refused";
    }
    if (interaction.ack.afterMs >= ackMs) complain("acknowledged late");
    if (interaction.choices !== null) {
      answered.choices += 1;
      return "asked";
    }
    if (interaction.modal !== null) {
      answered.forms += 1;
      return "asked";
    }
    const message = interaction.followups.at(-1) ?? interaction.original;
    if (message === null) return "refused";
    if ((message.flags & 64) === 0) complain("seen by everybody");
    if (/Something went wrong here/.test(message.content) && fault === undefined)
      complain(`failed (${logged.findLast(({ err }) => err !== undefined)?.err?.message ?? ""})`);
    for (const control of walkComponents(message.components as unknown as Component[]))
      if (control.custom_id !== undefined && control.disabled !== true) offered.push({ by, source: message, control });
    const code = refusal(message.content);
    if (code === undefined) answered.done += 1;
    else answered.refused += 1;
    if (code !== undefined) return "refused";
    return [...walkComponents(message.components as unknown as Component[])].some(({ custom_id: id = "" }) => id.startsWith("go:"))
      ? "asked"
      : "done";
  }

  async function once(index: number): Promise<void> {
    const fault = dice.chance(0.08) ? dice.pick(faults) : undefined;
    const before = await writes();
    const rows = index % 10 === 0 ? await rowsNow() : undefined;
    const handle = fault === undefined ? undefined : world.sandbox.faults.rest(fault);
    const kind = dice.pick(["command", "command", "command", "typing", "menu", "press", "press", "twice", "fleeting"]);
    const pressed = kind === "press" || kind === "twice" || kind === "fleeting" ? wildPress() : undefined;
    const by = kind === "fleeting" ? fleeting : (pressed?.by ?? dice.pick(people));
    if (kind === "fleeting") await setRoles([]);
    const opening = pressed?.opening ?? (kind === "typing" ? wildTyping() : kind === "menu" ? wildMenu() : wildCommand());
    const runs = [open(by, opening), ...(kind === "twice" ? [open(by, opening)] : [])];
    await Promise.all(runs.map((run) => over(run, fault)));
    handle?.clear();
    const ends = runs.map((run) => judge(run, by, fault));
    const [first] = runs;
    if (first?.interaction.modal && dice.chance(0.8)) {
      const form = open(by, wildForm(first));
      await over(form, undefined);
      ends.push(judge(form, by, undefined));
    }
    if (kind === "fleeting") await setRoles([world.roles.admin]);
    const isQuiet = ends.every((end) => end !== "done") && (fault === undefined || ends.includes("refused")) && fault?.route !== edit;
    if (!isQuiet) return;
    const after = await writes();
    if (after !== before)
      wrong.push(
        `${(after - before).toString()} writes, and the answer says there was none: ${JSON.stringify(opening.data).slice(0, 400)}`,
      );
    if (rows !== undefined) expect(await rowsNow()).toBe(rows);
  }

  async function setRoles(roles: Parameters<World["guild"]["setRoles"]>[1]): Promise<void> {
    world.guild.setRoles(fleeting, roles);
    const isStaff = roles.length > 0;
    const isSeen = (): boolean => world.app.access.of(fleeting.id).isStaff === isStaff;
    // Somebody may have been suspended, or their role taken from the staff, by an earlier command: then they stay without.
    await world.sandbox
      .waitFor(isSeen, isStaff ? 1000 : 15_000)
      .catch((error: unknown) => (isStaff ? undefined : Promise.reject(error as Error)));
  }

  test("each has its answer or a clear refusal, and changes nothing where it says so", { timeout: 60_000 + count * 200 }, async () => {
    for (let index = 0; index < count; index += 1) {
      await once(index);
      if (index % 50 === 0) expect((await world.get("/health", { key: null })).status).toBe(200);
    }
    expect(wrong).toEqual([]);
    expect(unhandled).toEqual([]);
    const failures = logged.filter(({ level, msg, err }) => (level === "error" || level === 50) && !expected.has(err?.message ?? msg));
    expect(failures.map(({ msg, command, err }) => [msg, command, err?.message])).toEqual([]);
    for (const kind of ["refused", "done", "forms", "choices"] as const) expect([kind, answered[kind] > 0]).toEqual([kind, true]);
  });

  test("a database that is busy delays the answer, never the acknowledgement", async () => {
    const owner = people[0] as User;
    let release = (): void => undefined;
    const isHeld = new Promise<void>((taken) => {
      void world.app.database
        .write(systemCall("cli", uuid7()), async (tx) => {
          await tx.lock("callsigns");
          await tx.db.setting.findFirst();
          taken();
          await new Promise<void>((done) => (release = done));
        })
        .catch(note);
    });
    await isHeld;
    const next = entries.find(({ command, path }) => command === "callsign" && path === "next");
    if (next === undefined) throw new Error("there is no /callsign next");
    const runs = Array.from({ length: 3 }, () =>
      open(owner, { type: 2, data: commandData(next, [{ name: "pool", type: 3, value: "north" }]) }),
    );
    await Promise.all(runs.map(({ acked }) => acked));
    expect(runs.map(({ interaction }) => interaction.answered)).toEqual([false, false, false]);
    // PostgreSQL gives up waiting for the lock meanwhile, and says so.
    await delay(busyMs);
    release();
    await Promise.all(runs.map((run) => world.sandbox.waitFor(() => run.interaction.answered, 60_000)));
    for (const { interaction } of runs) {
      expect(interaction.ack?.afterMs).toBeLessThan(ackMs);
      const said = `${interaction.original?.content ?? ""}${JSON.stringify(interaction.original?.embeds)}`;
      expect(said).toMatch(/NORTH\\*-\d+|storage_busy|timeout/);
    }
    expect(unhandled).toEqual([]);
  });
});
