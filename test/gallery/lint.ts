import { englishIn } from "../support/english-words.ts";

/** What is wrong with what somebody reads, one line for each finding. */
export interface Reading {
  lines: readonly string[];
  language: "en" | "de";
}

const codeSpan = /```[\s\S]*?```|`[^`\n]*`/g;
/** Mentions and times as Discord writes them, which people see as names and dates; addresses and secrets, which are copied. */
const drawn = /<(?:@[!&]?|#)\d{17,20}>|<t:-?\d+(?::\w)?>|<\/[\w -]+:\d+>|https?:\/\/\S+|whsec_[\w+/=]+|prv_live_\w+/g;
const smallPrint = /^-# [a-z_]+$/;

interface Rule {
  says: string;
  language?: Reading["language"];
  finds(text: string, line: string): boolean;
}

const rules: readonly Rule[] = [
  { says: "an id outside of a code span", finds: (text) => /(?<!\d)\d{17,20}(?!\d)/.test(text) },
  { says: "a JSON pointer", finds: (text) => /(?:^|[\s("])\/?[a-z]+_?[a-z_]*\/\d+\b|(?:^|[\s("])\/[a-z]+(?:_[a-z]+)+\b/.test(text) },
  { says: "a key instead of words", finds: (text) => /(?<![\w/.:-])[a-z]+(?:_[a-z]+)+(?![\w/])/.test(text) },
  {
    says: "a permission without its title",
    finds: (_text, line) =>
      /(?<!\*\)? ?\(|\w)`[a-z]+(?:\.[a-z_-]+)+`/.test(line) && !/\*[^*]+\* \(`/.test(line) && !/\.\w{2,4}`/.test(line),
  },
  {
    says: "seconds over 120",
    finds: (text) =>
      [...text.matchAll(/(\d[\d,.]*) ?(?:seconds?|Sekunden?|s)\b/g)].some(([, count = ""]) => Number(count.replace(/[,.]/g, "")) > 120),
  },
  { says: "a time that only programs read", finds: (text) => /\d{4}-\d\d-\d\dT\d\d:\d\d/.test(text) || /\bP(?:T?\d+[A-Z])+\b/.test(text) },
  { says: "a value of a program", finds: (text) => /\b(?:null|undefined|NaN|\[object)\b/.test(text) },
  { says: "English in German", language: "de", finds: (text) => englishIn(text.replaceAll(/\S*…|^\((?:file)? \S*\)$/g, "")).length > 0 },
];

/** A line without what stands in code spans, mentions and times. */
const plainOf = (line: string): string =>
  line
    .replace(codeSpan, "")
    .replace(drawn, "")
    .replaceAll(/\\([\\*_`~|<>#[\]()@:+-])/g, "$1");

/** @param quoted texts of people, which are theirs */
export function findings({ lines, language }: Reading, quoted: Iterable<string> = []): string[] {
  const longestFirst = [...quoted].toSorted((one, other) => other.length - one.length);
  const found: string[] = [];
  const seen = new Set<string>();
  for (const line of lines) {
    if (smallPrint.test(line)) continue;
    const isChoice = line.startsWith("  · ");
    let text = plainOf(line);
    for (const quote of longestFirst) text = text.replaceAll(quote, "");
    for (const rule of rules) {
      if (rule.language !== undefined && rule.language !== language) continue;
      if (rule.finds(text, line)) found.push(`${rule.says}: ${line}`);
    }
    // Each line of a list is about something else.
    const sentences = sentencesOf(text);
    if (new Set(sentences).size < sentences.length || (!isChoice && sentences.length > 0 && seen.has(line)))
      found.push(`said twice: ${line}`);
    seen.add(line);
  }
  return found;
}

function sentencesOf(text: string): string[] {
  return text
    .split(/(?<=[.!?]) /)
    .map((sentence) => sentence.trim())
    .filter((sentence) => /[.!?]$/.test(sentence) && wordsOf(sentence).length > 3);
}

const wordsOf = (text: string): string[] => text.match(/\p{L}[\p{L}’'-]*/gu) ?? [];

/**
 * How easily whole sentences are read, from 0 (hard) to 100: Flesch's formula for English, Amstad's for German.
 * Undefined where there are none.
 */
export function readingEase(lines: readonly string[], language: Reading["language"]): number | undefined {
  const sentences = lines.map((line) => plainOf(line)).flatMap((text) => sentencesOf(text));
  const words = sentences.flatMap((sentence) => wordsOf(sentence));
  if (sentences.length === 0 || words.length === 0) return undefined;
  const syllables = words.reduce((sum, word) => sum + syllablesOf(word), 0);
  const [perSentence, perWord] = [words.length / sentences.length, syllables / words.length];
  return language === "de" ? 180 - perSentence - 58.5 * perWord : 206.835 - 1.015 * perSentence - 84.6 * perWord;
}

/** Groups of vowels, without the silent e at the end of an English word. */
function syllablesOf(word: string): number {
  const groups = word.toLowerCase().match(/[aeiouyäöü]+/g)?.length ?? 0;
  return Math.max(1, groups - (/[^aeiou]e$/.test(word.toLowerCase()) && groups > 1 ? 1 : 0));
}
