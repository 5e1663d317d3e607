/** Phrases that read like a translation. */
export const phrases =
  /\b(?:is|are|was|were) told\b|\btells? of\b|\btold of\b|\bsays? so\b|\bas it stands\b|\bwhat stands\b|\bstands there\b|\bcomes? to (?:this|nothing)\b|\bwhoever\b|\banyone who\b|\bfor good\b|\bthe like\b|\bits makers\b|\bthe asker\b|\bthe subject is\b/gi;
