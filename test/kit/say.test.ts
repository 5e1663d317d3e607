// @module-tag sqlite
import fc from "fast-check";
import { expect, test } from "vitest";
import { inRow, inWords, plainSentence, say, term, translator, worded } from "../../src/kit/say.ts";
import { showText } from "../../src/kernel/storable.ts";
import { escapeText } from "../../src/discord/replies.ts";
import { sentenceText } from "../../src/discord/sentence.ts";

const ways = [
  worded,
  escapeText,
  (text: string) => sentenceText(text, translator("de")),
  (text: string) => plainSentence(text, translator("de")),
];

test("what is said stands within other texts and within itself, and is worded wherever it stands", () => {
  const inner = say("kernel.number-most", { count: 7 });
  const outer = say("discord-actions.they-are-not-banned-in", { name: inner });
  expect(worded(`before ${inner} after`)).toBe("before Use a number of at most 7. after");
  expect(inWords({ list: [inner, "plain"] })).toEqual({ list: ["Use a number of at most 7.", "plain"] });
  expect(worded(inRow([inner, term("in_review"), "a"], "and"))).toBe("Use a number of at most 7., in_review and a");
  expect(worded(outer)).toBe("They are not banned in Use a number of at most 7..");
  expect(plainSentence(outer, translator("de"))).toBe(`Die Person ist auf ${plainSentence(inner, translator("de"))} nicht gebannt.`);
});

test("what a library has put into JSON since is worded there, and stays JSON", () => {
  const said = say("discord-actions.they-are-not-banned-in", { name: 'the "Inn"' });
  const once = JSON.stringify({ message: say("kernel.number-most", { count: 7 }), said });
  const words = { message: "Use a number of at most 7.", said: 'They are not banned in the "Inn".' };
  expect(JSON.parse(worded(once))).toEqual(words);
  expect(JSON.parse(JSON.parse(worded(JSON.stringify(`${once} at last`))).replace(" at last", ""))).toEqual(words);
});

test("marks that somebody else wrote are shown as a character that is none, and fail nothing", () => {
  const marked = fc.string({ unit: fc.constantFrom("\ufdd0", "\ufdd1", "[", "]", '"', "\\", "a", "5", "null", " ") });
  fc.assert(
    fc.property(marked, (text) => {
      for (const way of ways) expect(() => way(text)).not.toThrow();
      for (const way of ways) expect(way(showText(text))).not.toMatch(/[\ufdd0\ufdd1]/);
    }),
  );
  expect(worded('\ufdd0{"a":1}\ufdd1')).toBe('{"a":1}');
});
