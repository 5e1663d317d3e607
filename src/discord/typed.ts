import type { FormInteraction, ReplyFile } from "./command.ts";
import { withoutMarks, type Translate } from "../kit/say.ts";
import { escapeText } from "./replies.ts";

/** What was filled into a form, by the names of its fields. */
export interface Typed {
  values: Readonly<Record<string, string>>;
  /** The names of files that were attached. */
  files: readonly string[];
}

/** What was filled into the form of an interaction. */
export function typedIn({ fields }: FormInteraction): Typed {
  const values: Record<string, string> = {};
  const files: string[] = [];
  for (const [name, field] of fields.fields) {
    if ("attachments" in field) files.push(...[...field.attachments.values()].map((file) => file.name));
    else if ("values" in field) values[name] = field.values.join(", ");
    else if (field.value !== null) values[name] = field.value.toString();
  }
  return { values, files };
}

/** What was typed, as a file to copy it from, and a line that says so; files that were attached are named. Empty for an empty form. */
export function typedOffer({ values, files }: Typed, t: Translate): { files: ReplyFile[]; notes: string[] } {
  const filled = Object.entries(values).filter(([, text]) => text !== "");
  const content = filled.length === 1 ? (filled[0]?.[1] ?? "") : filled.map(([name, text]) => `${name}:\n${text}\n`).join("\n");
  const fileName = t("door typed-file");
  return {
    files: filled.length === 0 ? [] : [{ name: fileName, content: withoutMarks(content) }],
    notes: [
      ...(filled.length === 0 ? [] : [`-# ${t("door typed", { file: fileName })}`]),
      ...(files.length === 0 ? [] : [t("door attach-again", { files: files.map(escapeText).join(", ") })]),
    ],
  };
}
