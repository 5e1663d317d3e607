/** Sentences in another language by the English ones; `{name}` stands for what is filled in, and is filled in again in the translation. */
export type Sentences = Readonly<Record<string, string>>;

/** The sentences that the service says, in one language. */
export type TranslateSentence = (english: string) => string | undefined;

/** The word for a value of a closed list, such as `ban_evasion`. */
export type ValueText = (value: string) => string | undefined;

interface SentenceOptions {
  valueText?: ValueText;
  /** What stands between the parts of a list, by the English, the widest first. */
  joints?: Readonly<Record<string, string>>;
}

const placeholder = /\{(\w+)\}/g;
/** Ends a sentence inside of a longer text. */
const betweenSentences = /(?<=[.!?]) (?=[A-Z"\d])/;
/** A part of a sentence begins with a small letter or with what is filled in, and ends without a full stop. */
const part = /^[a-z{][^]*[^.]$/u;
/** Placeholders of these names hold what people wrote or named: it stays as it is. */
const asWritten = /^(callsign|department|id|key|mine|name|names|pool|pools|reason|reference|role|roles|title|words)$/;

/**
 * Finds the translation of what the service says in English, as refusals and stored results are written. The English text is the key: a
 * sentence with placeholders is a pattern. Several sentences in a row are translated one by one; what is filled in is translated where it
 * is a sentence or a value of a closed list, or a list of such values.
 * @returns undefined where there is no translation of the whole text
 */
export function createSentences(
  sentences: Sentences,
  { valueText = () => undefined, joints = {} }: SentenceOptions = {},
): TranslateSentence {
  const wholeSentences = ofKind((english) => !part.test(english));
  const parts = ofKind((english) => part.test(english));

  /** Made when somebody first reads another language: a start needs none of it. */
  function ofKind(isMeant: (english: string) => boolean): () => readonly Pattern[] {
    let patterns: readonly Pattern[] | undefined;
    return () => (patterns ??= patternsOf(Object.entries(sentences).filter(([english]) => isMeant(english))));
  }

  /** A value of a closed list, a part of a sentence, or a list of them. */
  function wordsFor(value: string): string {
    const known = translate(value) ?? byPattern(value, parts()) ?? valueText(value);
    if (known !== undefined) return known;
    for (const [joint, ours] of Object.entries(joints)) if (value.includes(joint)) return value.split(joint).map(wordsFor).join(ours);
    return value;
  }

  function byPattern(english: string, patterns: readonly Pattern[]): string | undefined {
    for (const { pattern, translated } of patterns) {
      const values = pattern.exec(english)?.groups;
      if (values !== undefined)
        return translated.replaceAll(placeholder, (all, name: string) => {
          const value = values[name];
          if (value === undefined) return all;
          return asWritten.test(name) ? value : wordsFor(value);
        });
    }
    return undefined;
  }

  function translate(english: string): string | undefined {
    const whole = sentences[english];
    if (whole !== undefined) return whole;
    const single = english.split(betweenSentences);
    const translated = single.length < 2 ? [undefined] : single.map((one) => sentences[one] ?? byPattern(one, wholeSentences()));
    return translated.includes(undefined) ? byPattern(english, wholeSentences()) : translated.join(" ");
  }

  return translate;
}

interface Pattern {
  pattern: RegExp;
  translated: string;
}

/** Sentences with placeholders; the one that says the most by itself is tried first. */
function patternsOf(sentences: readonly (readonly [english: string, translated: string])[]): Pattern[] {
  const fixedLength = (english: string): number => english.replaceAll(placeholder, "").length;
  return sentences
    .filter(([english]) => fixedLength(english) < english.length)
    .toSorted(([a], [b]) => fixedLength(b) - fixedLength(a))
    .map(([english, translated]) => patternOf(english, translated));
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
