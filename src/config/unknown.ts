import type { Variables } from "./env.ts";
import { distance, slipsIn } from "../kernel/distance.ts";
import { fileVariables, variableNames, type VariableName } from "./variables.ts";

/** Every name that is read. */
const known = [...variableNames, ...fileVariables.map((name) => `${name}_FILE`)];

/**
 * Names of the environment that look like a setting and are none: what they are to set keeps its default. An environment has names of many
 * programs, so only those that hardly another one has are named.
 * @returns one line each, without a value
 */
export function unknownVariables(env: Variables): string[] {
  return Object.keys(env)
    .filter((name) => !known.includes(name))
    .flatMap((name) => {
      const meant = suggestionFor(name);
      if (meant !== undefined) return [`${name} is not a setting: did you mean ${meant}?`];
      return /^DISCORD_[A-Z_]+$/.test(name) ? [`${name} is not a setting: docs/configuration.md lists all of them. Remove it.`] : [];
    });
}

function suggestionFor(name: string): string | undefined {
  const upper = name.toUpperCase();
  const inFile = upper.endsWith("_FILE") ? variableNames.find((one) => `${one}_FILE` === upper) : undefined;
  return inFile ?? closest(upper) ?? sameWords(upper);
}

function closest(name: string): string | undefined {
  const near = known.map((one) => ({ one, slips: distance(name, one) })).filter(({ one, slips }) => slips <= slipsIn(one));
  return near.toSorted((a, b) => a.slips - b.slips)[0]?.one;
}

/** `DISCORD_BOT_TOKEN` has all words of `DISCORD_TOKEN`; names of other beginnings can be anybody's, such as `AWS_SECRET_ACCESS_KEY`. */
function sameWords(name: string): VariableName | undefined {
  const words = name.split("_");
  return variableNames.find((one) => one.startsWith("DISCORD_") && one.split("_").every((word) => words.includes(word)));
}
