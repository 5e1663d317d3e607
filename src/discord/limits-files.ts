import type { ReplyFile } from "./command.ts";

const limits = { files: 10, bytes: 10 * 1024 * 1024, name: 100 } as const;

interface FittedFiles {
  files: { name: string; attachment: Buffer }[];
  /** The names of those that have no room. */
  missing: string[];
}

/** Files as a message takes them: ten, of ten megabytes together. */
export function fitFiles(given: readonly ReplyFile[]): FittedFiles {
  const fitted: FittedFiles = { files: [], missing: [] };
  let left: number = limits.bytes;
  for (const { name, content } of given) {
    const attachment = Buffer.from(content);
    const plain = nameOf(name);
    if (fitted.files.length === limits.files || attachment.length > left) fitted.missing.push(plain);
    else {
      left -= attachment.length;
      fitted.files.push({ name: plain, attachment });
    }
  }
  return fitted;
}

/** Without what has a meaning in a path, and with its ending. */
function nameOf(name: string): string {
  const plain = name.replaceAll(/[\p{Cc}\p{Cf}\p{Surrogate}/\\]/gu, "_");
  const ending = /\.[\w-]{1,10}$/.exec(plain)?.[0] ?? "";
  const stem = plain.slice(0, plain.length - ending.length).slice(0, limits.name - ending.length);
  return `${stem.replace(/[\ud800-\udbff]$/, "") || "file"}${ending}`;
}
