import type { Variables } from "./env.ts";
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

/** How many slips of a finger are taken for one: in a short name even two make another word. */
const slipsIn = (name: string): number => (name.length < 8 ? 1 : 2);

function closest(name: string): string | undefined {
  const near = known.map((one) => ({ one, slips: distance(name, one) })).filter(({ one, slips }) => slips <= slipsIn(one));
  return near.toSorted((a, b) => a.slips - b.slips)[0]?.one;
}

/** `DISCORD_BOT_TOKEN` has all words of `DISCORD_TOKEN`; names of other beginnings can be anybody's, such as `AWS_SECRET_ACCESS_KEY`. */
function sameWords(name: string): VariableName | undefined {
  const words = name.split("_");
  return variableNames.find((one) => one.startsWith("DISCORD_") && one.split("_").every((word) => words.includes(word)));
}

/** How many letters are to be put in, left out, replaced or swapped with their neighbour to make one name of the other. */
function distance(a: string, b: string): number {
  let [before, last] = [[] as number[], Array.from({ length: b.length + 1 }, (_, column) => column)];
  for (let row = 1; row <= a.length; row += 1) {
    const current = [row];
    for (let column = 1; column <= b.length; column += 1) {
      const isSame = a[row - 1] === b[column - 1];
      const isSwapped = row > 1 && column > 1 && a[row - 1] === b[column - 2] && a[row - 2] === b[column - 1];
      current.push(
        Math.min(
          at(last, column) + 1,
          at(current, column - 1) + 1,
          at(last, column - 1) + (isSame ? 0 : 1),
          isSwapped ? at(before, column - 2) + 1 : Infinity,
        ),
      );
    }
    [before, last] = [last, current];
  }
  return at(last, b.length);
}

const at = (row: readonly number[], column: number): number => row[column] ?? Infinity;
