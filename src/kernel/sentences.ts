/** Sentences in another language by the English ones; `{name}` stands for what is filled in, and is filled in again in the translation. */
export type Sentences = Readonly<Record<string, string>>;

/** The sentences that the service says, in one language. */
export type TranslateSentence = (english: string) => string | undefined;

const placeholder = /\{(\w+)\}/g;
/** Ends a sentence inside of a longer text. */
const betweenSentences = /(?<=[.!?]) (?=[A-Z"\d])/;

/**
 * Finds the translation of what the service says in English, as refusals and stored results are written. The English text is the key: a
 * sentence with placeholders is a pattern. Several sentences in a row are translated one by one.
 * @returns undefined where there is no translation of the whole text
 */
export function createSentences(sentences: Sentences): TranslateSentence {
  const patterns = Object.entries(sentences).flatMap(([english, translated]) =>
    english.includes("{") ? [patternOf(english, translated)] : [],
  );

  function one(english: string): string | undefined {
    const whole = sentences[english];
    if (whole !== undefined) return whole;
    for (const { pattern, translated } of patterns) {
      const values = pattern.exec(english)?.groups;
      if (values !== undefined) return translated.replaceAll(placeholder, (all, name: string) => values[name] ?? all);
    }
    return undefined;
  }

  return (english) => {
    const found = one(english);
    if (found !== undefined) return found;
    const parts = english.split(betweenSentences);
    const translated = parts.length < 2 ? [] : parts.map(one);
    return translated.length === 0 || translated.includes(undefined) ? undefined : translated.join(" ");
  };
}

interface Pattern {
  pattern: RegExp;
  translated: string;
}

function patternOf(english: string, translated: string): Pattern {
  const seen = new Set<string>();
  const source = english.split(/(\{\w+\})/).map((part) => {
    const name = /^\{(\w+)\}$/.exec(part)?.[1];
    if (name === undefined) return part.replace(/[.*+?^${}()|[\]\\]/g, "\\$&");
    if (seen.has(name)) return `\\k<${name}>`;
    seen.add(name);
    return `(?<${name}>.+?)`;
  });
  return { pattern: new RegExp(`^${source.join("")}$`, "su"), translated };
}
