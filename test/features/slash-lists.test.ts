import { beforeAll, describe, expect, test } from "vitest";
import { commandTable, routeTable } from "../../src/features.ts";
import type { User } from "../../sandbox/index.ts";
import { createWorld, type World } from "../support/world.ts";
import { playAll, type PlayedWorld } from "./lists-ground.ts";

const shapes = new Map(routeTable().map(({ spec }) => [spec.operationId, spec.success.shape]));
/** Every entry that answers a list in pages. */
const lists = commandTable()
  .entries.filter(({ operation, asFiles, answers }) => shapes.get(operation) === "list" && asFiles !== true && answers === undefined)
  .map(({ command, path }) => `${command} ${path}`.trim());

/** Lists of nothing but what people wrote, and of sentences of the service. */
const words: ReadonlySet<string> = new Set(["case notes", "case note-history", "case history", "review comments"]);

/** What Discord renders, or shows to be copied. */
const rendered = /`[^`\n]+`|<@&?\d+>|<#\d+>|<t:\d+:\w>/g;
const faults: Readonly<Record<string, RegExp>> = {
  "a bare id": /\b\d{17,20}\b/,
  "a key": /\b[a-z]+_[a-z_]+\b/,
  "a time as programs write it": /\d{4}-\d\d-\d\dT\d\d:/,
  JSON: /[{[]"|"[}\]]/,
  "a value that is not there": /\b(?:undefined|null|NaN)\b/,
  "many seconds": /\b(?:12[1-9]|1[3-9]\d|[2-9]\d\d|\d{4,}) (?:seconds|Sekunden)\b/,
};

const faultsIn = (text: string): string[] => {
  const plain = text.replaceAll("\\", "").replaceAll(rendered, " ");
  return Object.entries(faults).flatMap(([name, fault]) => {
    const found = fault.exec(plain);
    return found === null ? [] : [`${name}: …${plain.slice(Math.max(0, found.index - 40), found.index + 40)}…`];
  });
};

describe("lists in Discord", () => {
  let world: World;
  let played: PlayedWorld;
  beforeAll(async () => {
    let end = (): Promise<void> => Promise.resolve();
    world = await createWorld({ onEnd: (way) => (end = way), env: { SECOND_PERSON_FOR_DANGER: "true" } });
    played = await playAll(world);
    return () => end();
  });
  const speak = (user: User, locale: string) => {
    const known = world.sandbox.inside.world.users.get(user.id);
    if (known === undefined) throw new Error("there is no such person");
    known.locale = locale;
  };
  const reply = async (entry: string, locale = "en-US", user = played.owner) => {
    speak(user, locale);
    const run = await world.sandbox
      .as(user)
      .in(world.guild)
      .runSlashCommand(entry, played.given[entry] ?? {});
    return { run, reply: await run.reply() };
  };
  const textOf = ({ content, embeds }: Awaited<ReturnType<typeof reply>>["reply"]): string =>
    [content, ...embeds.map(({ title, description }) => [title, description].filter(Boolean).join("\n"))].join("\n");
  /** All that can be read in controls. */
  const labelsOf = ({ components }: Awaited<ReturnType<typeof reply>>["reply"]): string =>
    [...JSON.stringify(components).matchAll(/"(?:label|placeholder|description)":"([^"]*)"/g)].map(([, label]) => label).join("\n");

  test.each(lists)("%s says what people can read, in both languages", async (entry) => {
    const said: string[] = [];
    for (const locale of ["en-US", "de"]) {
      const { reply: shown } = await reply(entry, locale);
      const text = textOf(shown);
      expect(text, locale).not.toMatch(/^-# [a-z_]+$/m);
      expect(shown.embeds, `${entry} has nothing to show`).not.toEqual([]);
      expect(faultsIn(text), `${locale}: ${text}`).toEqual([]);
      expect(faultsIn(labelsOf(shown)), locale).toEqual([]);
      said.push(text);
    }
    if (!words.has(entry)) expect(said[0]).not.toBe(said[1]);
  });

  test("a request in a queue says what is asked, for whom, who filed it and when it is due", async () => {
    const { reply: shown } = await reply("review queue");
    const line = textOf(shown)
      .split("\n")
      .find((one) => one.includes("Warning for"));
    const whole = new RegExp(
      String.raw`Warning for <@${played.ann.id}> · filed by <@${played.moderator.id}> · due <t:\d+:R> · in review · taken on by <@\d+>$`,
    );
    expect(line).toMatch(whole);
    const german = textOf((await reply("review queue", "de")).reply);
    expect(german).toMatch(
      new RegExp(String.raw`Verwarnung für <@${played.ann.id}> · eingereicht von <@${played.moderator.id}> · fällig <t:`),
    );
    expect(german).not.toContain("Warning for");
  });

  test("a title that a client gave is shown as it was given, with people as mentions", async () => {
    const subject = world.member();
    const body = { user_id: subject.id, action: "note", reason: "Asked to be reminded.", title: `Talk to ${subject.id} again` };
    expect((await world.post("/workflows/punishment", body, { actor: played.moderator })).status).toBe(201);
    const said = textOf((await reply("review queue")).reply);
    expect(said).toContain(`Talk to <@${subject.id}> again`);
    expect(said).not.toContain("Note for");
  });

  test("the title that is stored names nobody by number", async () => {
    const { data } = (await world.get("/workflows?limit=200", { actor: played.owner })).body;
    const titles = data.map(({ title }: { title: string }) => title).filter((title: string) => !title.startsWith("Talk to"));
    expect(new Set(titles).size).toBeGreaterThan(8);
    for (const title of titles) expect(title).not.toMatch(/\d{17,20}|_/);
  });

  const opening: readonly (readonly [entry: string, shows: RegExp])[] = [
    ["review queue", /"title":"[A-Z]{3}-REQ-\d{6}"/],
    ["request mine", /"title":"[A-Z]{3}-REQ-\d{6}"/],
    ["request draft list", /Suggested request/],
    ["blacklist search", /"title":"BL-\d{6}/],
    ["case list", /"title":"CASE-\d{6}/],
    ["case template list", /first_contact/],
    ["roster list", /On the roster since/],
    ["callsign list", /"title":"N\W+001"/],
    ["callsign pools", /"title":"Callsigns"/],
    ["staff list", /level/i],
  ];
  test.each(opening)("a menu under %s opens one of them", async (entry, shows) => {
    const { run, reply: list } = await reply(entry);
    const menu = list.components.flatMap((row: any) => row.components).findLast(({ type }: { type: number }) => type === 3);
    const opened = await (await run.select(menu.custom_id, [menu.options[0].value])).reply();
    expect(`${opened.content}\n${JSON.stringify(opened.embeds)}`).toMatch(shows);
    expect(opened.content).not.toMatch(/^-# [a-z_]+$/m);
  });
});
