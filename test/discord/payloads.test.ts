// @module-tag sqlite
// @module-tag slow
import { commandTable } from "../../src/features.ts";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import type { Entry, OptionSpec } from "../../src/commands/entry.ts";
import { commandPayloads, optionTypes } from "../../src/commands/payloads.ts";
import type { Verbs } from "../../src/commands/verbs.ts";
import { showText } from "../../src/kernel/storable.ts";
import type { RouteSpec } from "../../src/operations/route.ts";
import { resolve } from "../../sandbox/command-options.ts";
import { walkComponents, type Component } from "../../sandbox/components.ts";
import type { Run } from "../../sandbox/interaction-run.ts";
import type { User, Exchange } from "../../sandbox/index.ts";
import { createJudge, hasSpec, specPath } from "../sandbox/openapi-judge.ts";
import { hostileTexts, hostileValue } from "../support/hostile.ts";
import { RESTJSONErrorCodes } from "discord.js";
import { exchangeProblems } from "../support/openapi-limits.ts";
import { commandData, rawDoor } from "../support/raw-door.ts";
import { sizeOf } from "../support/size.ts";
import { createWorld, type World } from "../support/world.ts";

const { entries, menus } = commandTable();

/** How often a kind of button, menu or form is used; what leads to other commands says something new more often. */
const [goes, uses] = [sizeOf({ quick: 5, all: 40, long: 100 }), sizeOf({ quick: 1, all: 3, long: 3 })];

const held = { isHostile: false, seed: 0, verbs: [] as Verbs[] };

/** In place of the verbs: whatever is asked is answered, with the longest and worst that the schema of its answer allows. */
function aroundVerbs(verbs: Verbs): Verbs {
  const run: Verbs["run"] = (operation, call, input) =>
    held.isHostile
      ? Promise.resolve(worst(verbs.spec(operation), input.query?.["cursor"] !== undefined))
      : verbs.run(operation, call, input);
  const around = { ...verbs, run };
  held.verbs.push(around);
  return around;
}

function worst({ operationId, success }: RouteSpec, isLast: boolean): unknown {
  if (success.shape === "raw")
    return { body: taken(hostileTexts.join("\n")), headers: { "Content-Disposition": 'attachment; filename="x.csv"' } };
  const known = views.get(operationId) ?? [1, 2, 3, 4].map((seed) => taken(hostileValue(success.schema, seed * 3)));
  views.set(operationId, known);
  if (success.shape !== "list") return pick(known, (held.seed += 1));
  const notes = success.notes === undefined ? {} : { notes: taken(hostileValue(success.notes, 1)) };
  return { data: Array.from({ length: 12 }, (_, index) => pick(known, index)), next_cursor: isLast ? null : "more", ...notes };
}

const views = new Map<string, unknown[]>();

/** As the service takes what others wrote: without the marks that stand around what it says itself. */
function taken(view: unknown): unknown {
  if (typeof view === "string") return showText(view);
  if (Array.isArray(view)) return view.map(taken);
  if (typeof view !== "object" || view === null) return view;
  return Object.fromEntries(Object.entries(view).map(([name, value]) => [showText(name), taken(value)]));
}

const pick = <T>(list: readonly T[], index: number): T => list[index % list.length] as T;

/** The worst a client would let pass: within the limits of the option. */
function valueOf({ kind, choices, min = 0, max }: OptionSpec, index: number, ids: Record<"user" | "role" | "channel", string>) {
  if (kind === "user" || kind === "role" || kind === "channel") return ids[kind];
  if (kind === "boolean") return true;
  if (kind === "integer" || kind === "number") return max ?? min + 1;
  if (choices !== undefined) return pick(choices, index);
  const text = pick(hostileTexts, index);
  return text.repeat(Math.ceil((max ?? 6000) / text.length)).slice(0, max ?? 6000);
}

const nameOf = ({ command, path }: Entry) => `${command} ${path}`.trim();

describe("everything that is sent to Discord", () => {
  let world: World;
  let open: ReturnType<typeof rawDoor>;
  let admin: User;
  let ids: Record<"user" | "role" | "channel", string>;
  const logged: string[] = [];
  const unanswered: string[] = [];
  const used = new Map<string, number>();

  beforeAll(async () => {
    let end = (): Promise<void> => Promise.resolve();
    world = await createWorld({ onEnd: (way) => (end = way), log: (line) => logged.push(line), aroundVerbs });
    const { inside } = world.sandbox;
    const [channel] = inside.world.guilds.get(world.guild.id)?.channels.values() ?? [];
    if (channel === undefined) throw new Error("there is no channel");
    open = rawDoor(world.sandbox, world.guild.id);
    admin = await world.staff("owner", "@everyone **x** \u202e");
    const person = world.member("<@&1> ```");
    ids = { user: person.id, role: world.roles.admin.id, channel: channel.id };
    held.isHostile = true;
    // Made beforehand: while they are made nothing else runs.
    for (const { operation } of entries) await held.verbs[0]?.run(operation, undefined as never, {});
    const resolved = resolve(inside.world, inside.world.guilds.get(world.guild.id) as never, [person]);
    await session(resolved);
    held.isHostile = false;
    return () => end();
  });

  afterAll(() => void (held.isHostile = false));

  /** What Discord's client would offer to press, choose and fill in, is used once. */
  async function follow(run: Run, words: string, depth: number): Promise<void> {
    const isOver = await until(run, words);
    if (!isOver || depth === 0) return;
    const { interaction } = run;
    if (interaction.modal !== null) {
      const components = interaction.modal.components.map((part) => ({ ...part, component: filled(part.component) }));
      const data = { custom_id: interaction.modal.custom_id, components };
      return follow(open(admin, { type: 5, data, source: interaction.source }), `${words} > form`, depth - 1);
    }
    const shown = [interaction.original, ...interaction.followups].filter((one) => one !== null);
    for (const message of shown) {
      for (const one of walkComponents(message.components as unknown as Component[])) {
        if (one.custom_id === undefined || one.disabled === true || !isNews(one)) continue;
        const values = one.options === undefined ? [ids.user] : one.options.slice(0, 1).map(({ value }) => value);
        const data = { custom_id: one.custom_id, component_type: one.type, id: one.id, ...(one.type !== 2 && { values, resolved: {} }) };
        await follow(open(admin, { type: 3, data, source: message }), `${words} > ${one.label ?? one.custom_id}`, depth - 1);
      }
    }
  }

  /** Controls of one kind are used a few times; the third page of the fiftieth list says nothing new. */
  function isNews({ custom_id: id = "", label = "" }: Component): boolean {
    const [name = "", what = ""] = id.split(":");
    const kind = ["ls", "go", "fm"].includes(name) ? `${name} ${label}` : `${name} ${what}`;
    used.set(kind, (used.get(kind) ?? 0) + 1);
    return (used.get(kind) ?? 0) <= (name === "go" ? goes : uses);
  }

  function filled(field: Component | undefined): object {
    const { type, custom_id: id, options, max_length: most = 4000 } = field ?? { type: 4 };
    const own = { type, custom_id: id, id: 1 };
    if (type === 4) return { ...own, value: pick(hostileTexts, most).slice(0, most) };
    return { ...own, values: type === 19 ? [] : options === undefined ? [ids.user] : options.slice(0, 1).map(({ value }) => value) };
  }

  async function until({ interaction }: Run, words: string): Promise<boolean> {
    const isDone = () => interaction.answered || interaction.missed;
    const isAnswered = await world.sandbox.waitFor(isDone, 60_000).then(
      () => interaction.answered,
      () => false,
    );
    if (!isAnswered) unanswered.push(words);
    return isAnswered;
  }

  async function session(resolved: object): Promise<void> {
    const runs = entries.flatMap((entry, index) => {
      const options = entry.options ?? [];
      const given = (wanted: readonly OptionSpec[]) =>
        wanted
          .filter(({ kind }) => kind !== "file")
          .map((option, at) => ({ name: option.name, type: optionTypes[option.kind], value: valueOf(option, index + at, ids) }));
      const whole = { type: 2, data: commandData(entry, given(options), { resolved }) };
      const bare = { type: 2, data: commandData(entry, given(options.filter(({ required }) => required)), { resolved }) };
      const typed = options
        .filter(({ completes, time }) => completes !== undefined || time !== undefined)
        .map(({ name }) => ({
          type: 4,
          data: commandData(entry, [{ name, type: 3, value: pick(hostileTexts, index).slice(0, 100), focused: true }]),
        }));
      return [whole, bare, ...typed].map((opening) => ({ opening, words: `/${nameOf(entry)}` }));
    });
    const onPerson = menus
      .filter(({ kind }) => kind === "user")
      .map(({ name }) => ({ opening: { type: 2, data: { id: "1", type: 2, name, target_id: ids.user, resolved } }, words: name }));
    const waiting = [...runs, ...onPerson];
    const worker = async (): Promise<void> => {
      for (let next = waiting.shift(); next !== undefined; next = waiting.shift()) await follow(open(admin, next.opening), next.words, 2);
    };
    await Promise.all([worker(), worker(), worker(), worker()]);
  }

  test("every command, form, button and choice has an answer, and nothing fails while it is worded", () => {
    expect(unanswered).toEqual([]);
    const failures = logged.map(
      (line) => JSON.parse(line) as { level: number | string; msg: string; command?: string; err?: { message: string } },
    );
    expect(
      failures
        .filter(({ msg }) => /failed|refused an answer|was lost/.test(msg))
        .map(({ msg, command, err }) => [msg, command, err?.message]),
    ).toEqual([]);
    expect(world.sandbox.exchanges.length).toBeGreaterThan(entries.length);
  });

  test("is within Discord's limits, and alerts nobody", () => {
    const sent = world.sandbox.exchanges.map((exchange) => ({ exchange, problems: exchangeProblems(exchange) }));
    const checked = sent.filter(({ problems }) => problems !== undefined);
    expect(checked.length).toBeGreaterThan(entries.length * 2);
    // An answer that is sent again, as nothing was heard of it in time, is refused where the first attempt arrived.
    const isRefused = ({ status, responseBody }: Exchange) =>
      status >= 400 && (responseBody as { code?: unknown } | null)?.code !== RESTJSONErrorCodes.InteractionHasAlreadyBeenAcknowledged;
    const wrong = checked.filter(({ problems, exchange }) => (problems ?? []).length > 0 || isRefused(exchange));
    expect(wrong.map(({ problems, exchange }) => [exchange.route, exchange.status, problems, exchange.responseBody])).toEqual([]);
  });

  test("shows nothing of what people wrote in effect", () => {
    const texts = world.sandbox.exchanges.flatMap(({ requestBody }) => markdownIn(requestBody));
    expect(texts.length).toBeGreaterThan(entries.length);
    const bad = texts.filter((text) =>
      /@everyone|<@&(?!\d{17,20}>)|\[link\]\(|https?:\/\/evil|\u202e/.test(text.replaceAll(/\\[\s\S]/g, "")),
    );
    expect(bad.map((text) => text.slice(0, 300))).toEqual([]);
  });

  test.skipIf(!hasSpec)(hasSpec ? "fits Discord's own document" : `not checked: there is no document at ${specPath}`, () => {
    const verdict = createJudge().check(world.sandbox.exchanges);
    expect([...new Set(verdict.bad.map(({ exchange, part, problem }) => `${exchange} ${part} ${problem}`))]).toEqual([]);
    expect(verdict.checked).toBeGreaterThan(entries.length * 2);
  });
});

test("the registered commands are those of the table, five menus of a kind at most, forms of one to five fields", () => {
  const kinds = commandPayloads(commandTable()).map(({ type = 1 }) => type);
  for (const kind of [2, 3]) expect(kinds.filter((one) => one === kind).length).toBeLessThanOrEqual(5);
  for (const { form, options = [] } of entries) {
    expect(form?.length ?? 1).toBeLessThanOrEqual(5);
    expect(options.length).toBeLessThanOrEqual(25);
    for (const { choices = [], completes } of [...options, ...(form ?? [])] as OptionSpec[]) {
      expect(choices.length).toBeLessThanOrEqual(25);
      expect(choices.length > 0 && completes !== undefined).toBe(false);
    }
  }
});

/** The texts of a message that Discord renders. */
function markdownIn(body: unknown): string[] {
  const sent = ((body as { data?: object } | undefined)?.data ?? body ?? {}) as {
    content?: string;
    embeds?: { title?: string; description?: string; fields?: { name: string; value: string }[] }[];
  };
  if (typeof sent !== "object") return [];
  const embeds = (sent.embeds ?? []).flatMap(({ title, description, fields = [] }) => [
    title,
    description,
    ...fields.flatMap(({ name, value }) => [name, value]),
  ]);
  return [sent.content, ...embeds].filter((text): text is string => typeof text === "string" && text !== "");
}
