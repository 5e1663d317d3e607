/** A text by its key, in somebody's language; `{name}` is filled in. */
export type Words = (key: string, filled?: Readonly<Record<string, string | number>>) => string;

/** What the door itself says, in English. Other languages have the same keys among their texts. */
export const doorTexts: Readonly<Record<string, string>> = {
  "door unknown": "This command is not known here (any more).",
  "door other-server": "This server is not served here.",
  "door not-here": "This is not served here.",
  "door below": "The answer is below, for everyone here.",
  "door failed": "Something went wrong here. If you report it, name this number: {number}",
  "door wait": "Try again {at}.",
  "door new-here":
    "Is this service new here? Whoever runs it names the first owner (`provost bootstrap --owner`); an owner then says with `/setup` who is staff.",
  "door cut": "… (cut: the full text is too long for a message)",
  "door cut-file": "… (cut: the file {file} has all of it)",
  "door controls-cut": "Not every button and choice has room here.",
  "door files-cut": "Too large for a message: {files}. Take it over HTTP or the command line.",
};

export const englishWords: Words = (key, filled = {}) =>
  (doorTexts[key] ?? key).replaceAll(/\{(\w+)\}/g, (whole, name: string) => filled[name]?.toString() ?? whole);
