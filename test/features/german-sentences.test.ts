// @module-tag sqlite
import { describe, expect, test } from "vitest";
import { deJoints, deSentences } from "../../src/locales.ts";
import { languages, type Texts } from "../../src/kit/say.ts";
import { catalog } from "../../src/kernel/permissions.ts";
import { createSentences } from "../../src/kernel/sentences.ts";
import { sourceSentences, type SourceSentence } from "../support/source-sentences.ts";

/** Sentences that no reply in Discord shows, by where they stand. */
const elsewhere: readonly { path: RegExp; around?: RegExp; unless?: RegExp; text?: RegExp; because: string }[] = [
  { path: /\.routes\.ts$/, unless: /^(regex|refine)$/, because: "it describes the HTTP API" },
  { path: /^src\//, around: /^(description|example|examples):$/, because: "it describes a field of the HTTP API" },
  { path: /^src\/features\/workflows\/kinds\//, around: /^summary:$/, because: "it describes a kind of request in the HTTP API" },
  { path: /^src\/kernel\/keyset\.ts$/, text: /next_cursor/, because: "it describes pages of the HTTP API" },
  { path: /^src\//, around: /^new (Database)?Error$/, because: "operators read it at a start or at the command line" },
  { path: /^src\/(database\/refusals|kernel\/operator-errors)\.ts$/, because: "operators read it at a start or at the command line" },
  {
    path: /^src\/features\/evidence\/(move|place|stores\/.*)\.ts$/,
    because: "operators read it at a start, at the command line, or in the log",
  },
  { path: /^src\/(database\/network-file-system|discord\/rest\/clock-check)\.ts$/, because: "operators read it in the log" },
  { path: /^src\/discord\/guild\/settings-check\.ts$/, because: "operators read it in the log" },
  { path: /^src\/discord\/oauth\.ts$/, text: /DISCORD_CLIENT_SECRET/, because: "operators read it in the log" },
  { path: /^src\/features\/privacy\/journal\/journal\.ts$/, because: "operators read it at a start" },
  { path: /^src\/features\/audit\/restore\.ts$/, because: "only the command line accepts a restored chain" },
  { path: /^src\/features\/keys\/(assertion|authenticate|claims)\.ts$/, because: "only requests over HTTP carry keys and assertions" },
  { path: /^src\/features\/events\//, because: "only clients over HTTP follow events" },
  { path: /^src\/features\/workflows\/bulk\//, because: "only clients over HTTP decide in bulk" },
  { path: /^src\/features\/privacy\/(privacy\.policy|parts\/parts)\.ts$/, because: "the HTTP API has it; pages word it from their texts" },
  { path: /^src\/features\/workflows\/commands\/notices\.ts$/, because: "it joins texts that have keys" },
];

/** What sentences read as whose parts come from elsewhere. */
const limits = ["", " until {at}", " in the guild {guild}", " in the guild {guild} until {at}"];
const ends = ["until it is lifted", "until {day}"];
const units = ["characters", "entries"];
const composed: Readonly<Record<string, readonly string[]>> = {
  "Use exactly {limit}.": units.map((unit) => `Use exactly {count} ${unit}.`),
  "Use at {end} {limit}.": [
    "Use at most 1 character.",
    "Use at most 1 entry.",
    "Use at least 1 entry.",
    ...["most", "least"].flatMap((end) => units.map((unit) => `Use at ${end} {count} ${unit}.`)),
  ],
  "Use a number of at {end} {toString}.": ["most", "least"].map((end) => `Use a number of at ${end} {count}.`),
  "{callsign} is {from}.": ["free", "assigned", "reserved", "held", "retired", "blocked", "ended"].map(
    (state) => `{callsign} is ${state}.`,
  ),
  "A {kind} is listed for one of: {join}.": ["A user is listed for one of: {allowed}.", "A server is listed for one of: {allowed}."],
  "The case is about no {about}.": ["The case is about no user.", "The case is about no server."],
  "{told} in force; from {toString} on, {action} is suggested.": ["1 point is", "{points} points are"].map(
    (points) => `${points} in force; from {threshold} on, {action} is suggested.`,
  ),
  "A {confidence} linked account has an active blacklist record.": ["confirmed", "probable"].map(
    (confidence) => `A ${confidence} linked account has an active blacklist record.`,
  ),
  "They are on the roster now: {role}.": ["They are on the roster now: no staff role.", "They are on the roster now: {role}."],
  "Their staff role becomes {none}.": ["Their staff role becomes none.", "Their staff role becomes {role}."],
  "Their staff role on the roster is {none}.": ["Their staff role on the roster is none.", "Their staff role on the roster is {role}."],
  "This suggestion is about the {kind} {id}.": ["This suggestion is about the user {id}.", "This suggestion is about the server {id}."],
  "{told} {until}.": ["They are on probation", "They are suspended on the roster"].flatMap((told) => ends.map((end) => `${told} ${end}.`)),
  "They are suspended{spoken}.": limits.map((limit) => `They are suspended${limit}.`),
  "A severe blacklist record about them is in force{spoken}.": limits.map(
    (limit) => `A severe blacklist record about them is in force${limit}.`,
  ),
  "They are on leave{spoken}, and leave takes access away here.": ["", " until {at}"].map(
    (limit) => `They are on leave${limit}, and leave takes access away here.`,
  ),
  "An entry of their own denies it{spoken}.": limits.map((limit) => `An entry of their own denies it${limit}.`),
  "An entry of their own allows it{spoken}.": limits.map((limit) => `An entry of their own allows it${limit}.`),
  "Change what {whose} holds: {join}.": ["the staff role {role}", "the user {user}"].map(
    (whose) => `Change what ${whose} holds: allow {keys}; deny {keys}.`,
  ),
  "Their permissions are taken away {until}.": ends.map((end) => `Their permissions are taken away ${end}.`),
  "They no longer work on requests {until}.": ends.map((end) => `They no longer work on requests ${end}.`),
  "{what} can need {toString} people, and {toString} hold {permission}.": ["An approval", "A reversal"].map(
    (what) => `${what} can need {needed} people, and {found} hold {permission}.`,
  ),
};

/** Sentences that the sources put together from parts, or that do not begin or end like one. */
const built = [
  "reason and reason_public disagree.",
  "Needed when the kind is {kind}.",
  ...["Make an API key", 'Give the API key "{name}" ({key}) a new secret', 'Change the API key "{name}" ({key})'].map(
    (what) => `${what}: {parts}.`,
  ),
  ...[
    "Was banned by hand on the server {guild}.",
    "Was unbanned by hand on the server {guild}.",
    "Was kicked by hand from the server {guild}.",
    "Was timed out by hand on the server {guild} until {at}.",
    "A timeout was lifted by hand on the server {guild}.",
  ].map((told) => `${told} Reason given: {reason}`),
  ...['Give the API key "{name}" ({key}) a new secret', 'Change the API key "{name}" ({key})', 'Revoke the API key "{name}" ({key})'].map(
    (what) => `${what}.`,
  ),
];

/** Whether German has a text: one without placeholders has its own words, so that no wider sentence stands in for it. */
function isSaid(text: string): boolean {
  if (text.includes("{") || text.includes(earlier)) return translate(text) !== undefined;
  return [[text], text.split(/(?<=[.!?]) (?=[A-Z"\d])/)].some((parts) => parts.every((one) => deSentences[one] !== undefined));
}

/** A result that another one follows in the same text. */
const earlier = "The case was opened.";
const readingsOf = (text: string): readonly string[] => composed[text] ?? [text.replace("{detail} ", `${earlier} `)];

function isElsewhere({ path, around, text: said }: SourceSentence, places = elsewhere): boolean {
  const isIn = (part: RegExp): boolean => around.some((name) => part.test(name));
  return places.some(
    (place) =>
      place.path.test(path) &&
      (place.around === undefined || isIn(place.around)) &&
      (place.unless === undefined || !isIn(place.unless)) &&
      (place.text === undefined || place.text.test(said)),
  );
}
const isWanted = (path: string): boolean =>
  /^src\/((commands|database|discord|discord-actions|features|kernel|kit|operations)\/|outgoing\.ts$)/.test(path) &&
  !/\.(texts|sentences)\.ts$|\/refusal-texts\.ts$|\/locales\//.test(path);

const translate = createSentences(deSentences, { joints: deJoints });
const german: Texts = languages["de"] ?? {};

const all = sourceSentences(isWanted);
const said = all.filter((one) => !isElsewhere(one));
const readings = [...built, ...said.flatMap(({ text }) => readingsOf(text))];

describe("German", () => {
  test("has every sentence that the service can say in Discord", () => {
    expect(said.length).toBeGreaterThan(500);
    const missing = said.filter(({ text }) => !readingsOf(text).every(isSaid));
    expect(missing.map(({ path, line, text }) => `${path}:${line.toString()} ${text}`)).toEqual([]);
    expect(built.filter((text) => translate(text) === undefined)).toEqual([]);
  });

  test("has no exception that no sentence needs", () => {
    const unneeded = elsewhere.filter((one) => !all.some((found) => isElsewhere(found, [one])));
    expect(unneeded.map(({ path }) => path.source)).toEqual([]);
    const texts = new Set(all.map(({ text }) => text));
    expect(Object.keys(composed).filter((text) => !texts.has(text))).toEqual([]);
  });

  test("has no sentence that the service does not say", () => {
    const keys = Object.keys(deSentences);
    const keyOf = createSentences(Object.fromEntries(keys.map((key, index) => [key, `<${index.toString()}>`])));
    const used = new Set(readings.flatMap((reading) => [...(keyOf(reading) ?? "").matchAll(/<(\d+)>/g)].map(([, index]) => Number(index))));
    const unused = keys.filter((key, index) => /[.!?]$/.test(key) && !used.has(index));
    expect(unused).toEqual([]);
  });

  test("has the placeholders of the English sentences, and no others", () => {
    const placeholders = (text: string): string[] => [...text.matchAll(/\{\w+\}/g)].map(([name]) => name).toSorted();
    const other = Object.entries(deSentences).filter(([english, said]) =>
      placeholders(said).some((name) => !placeholders(english).includes(name)),
    );
    expect(other).toEqual([]);
  });

  test("has a title of every permission", () => {
    expect(catalog.filter(({ key }) => german[`permission ${key}`] === undefined)).toEqual([]);
  });

  test.each([
    ["It is held. It stays.", "Es ruht. Es bleibt."],
    ["The entry is in_review.", "Der Eintrag ist in Prüfung."],
    ["Send one of: raid, in_review or spam.", "Sende eines von: Überfall, in Prüfung oder spam."],
    ["The pool raid is full.", "Der Pool raid ist voll."],
    ["It failed: It is held.", "Es ging schief: Es ruht."],
    ["Change: allow raid, in_review and 3 more; deny raid.", "Ändern: erlaubt Überfall, in Prüfung und 3 weitere; verwehrt raid."],
    ["banned until tomorrow", undefined],
    ["Nobody says this.", undefined],
  ])("says %j as %j", (english, wanted) => {
    const words = new Map([
      ["raid", "Überfall"],
      ["in_review", "in Prüfung"],
    ]);
    const sentences = {
      "It is held.": "Es ruht.",
      "It stays.": "Es bleibt.",
      "The entry is {status}.": "Der Eintrag ist {status}.",
      "Send one of: {values}.": "Sende eines von: {values}.",
      "The pool {pool} is full.": "Der Pool {pool} ist voll.",
      "It failed: {detail}": "Es ging schief: {detail}",
      "Change: {parts}.": "Ändern: {parts}.",
      "allow {keys}": "erlaubt {keys}",
      "deny {key}": "verwehrt {key}",
      "{count} more": "{count} weitere",
      "{key} until {at}": "{key} bis {at}",
    };
    expect(createSentences(sentences, { valueText: (value) => words.get(value), joints: deJoints })(english)).toBe(wanted);
  });
});
