import { worded, andMore } from "../kit/say.ts";

/** A word is cut to so many characters; searches for longer ones are cut alike. */
const maxLength = 40;
/** Scripts without spaces between words: every place in them may be where a word begins. */
const unspaced = /[\p{Script=Han}\p{Script=Hiragana}\p{Script=Katakana}\p{Script=Thai}\p{Script=Lao}\p{Script=Khmer}\p{Script=Myanmar}]/u;

/** The words of a text, each once: without case and accents, letters and digits of any script, at most `most` of them. */
export function wordsOf(text: string, most = 400): string[] {
  const plain = worded(text)
    .normalize("NFKD")
    .replaceAll(/\p{Mark}/gu, "")
    .toLowerCase();
  const words = new Set<string>();
  for (const [run] of plain.matchAll(/[\p{L}\p{N}]+/gu)) {
    for (const word of unspaced.test(run) ? endingsOf(run) : [run]) {
      words.add(cut(word));
      if (words.size >= most) return [...words];
    }
  }
  return [...words];
}

/** Words to look for: every word of the question has to begin a word of what is found. */
export function searchedWords(q: string): string[] {
  const plain = q
    .normalize("NFKD")
    .replaceAll(/\p{Mark}/gu, "")
    .toLowerCase();
  return [...new Set([...plain.matchAll(/[\p{L}\p{N}]+/gu)].map(([run]) => cut(run)))].slice(0, 10);
}

/** The words that begin with `start`, as a range that an index serves on either database. */
export function beginningWith(start: string): { gte: string; lt: string } {
  return { gte: start, lt: `${start}\u{10ffff}` };
}

function endingsOf(run: string): string[] {
  const letters = Array.from(run);
  return letters.map((_, index) => letters.slice(index).join(""));
}

/** By characters, so that none is cut in two. */
function cut(word: string): string {
  return word.length <= maxLength ? word : Array.from(word).slice(0, maxLength).join("");
}

/** Texts beyond this number are only counted. */
const maxListed = 10;

/** Some texts as one, for people: the first ten by name, the others as a number. */
export function listed(texts: readonly string[]): string {
  const shown = texts.slice(0, maxListed);
  return texts.length > maxListed ? andMore(shown, texts.length - maxListed) : shown.join(", ");
}
