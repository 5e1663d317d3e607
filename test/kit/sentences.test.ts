// @module-tag sqlite
import { describe, expect, test } from "vitest";
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
  { path: /^src\/(database\/network-file-system|discord\/rest\/rest)\.ts$/, because: "operators read it in the log" },
  { path: /^src\/discord\/guild\/settings-check\.ts$/, because: "operators read it in the log" },
  { path: /^src\/discord\/oauth\.ts$/, text: /DISCORD_CLIENT_SECRET/, because: "operators read it in the log" },
  { path: /^src\/features\/privacy\/journal\/journal\.ts$/, because: "operators read it at a start" },
  { path: /^src\/features\/audit\/restore\.ts$/, because: "only the command line accepts a restored chain" },
  { path: /^src\/features\/keys\/(assertion|authenticate|claims)\.ts$/, because: "only requests over HTTP carry keys and assertions" },
  { path: /^src\/features\/events\//, because: "only clients over HTTP follow events" },
  { path: /^src\/features\/workflows\/bulk\//, because: "only clients over HTTP decide in bulk" },
  { path: /^src\/features\/privacy\/(privacy\.policy|export)\.ts$/, because: "the HTTP API has it; pages word it from their texts" },
  { path: /^src\/features\/workflows\/commands\/notices\.ts$/, because: "it joins texts that have keys" },
];

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

const all = sourceSentences(isWanted);

describe("what the service says in Discord", () => {
  test("is said by a key of the texts, and stands nowhere in the sources as an English sentence", () => {
    const written = all.filter((one) => !isElsewhere(one));
    expect(written.map(({ path, line, text }) => `${path}:${line.toString()} ${text}`)).toEqual([]);
  });

  test("has no exception that no sentence needs", () => {
    const unneeded = elsewhere.filter((one) => !all.some((found) => isElsewhere(found, [one])));
    expect(unneeded.map(({ path }) => path.source)).toEqual([]);
  });
});
