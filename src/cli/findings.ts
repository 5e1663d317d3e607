import { inJson } from "../kit/say.ts";
import { print, table } from "./output.ts";

/** What a check has found: `skip` where it could not be made. */
export interface Finding {
  status: "pass" | "warn" | "fail" | "skip";
  /** What is the matter, why it matters, and what mends it, in one line. */
  text: string;
}

export interface NamedFinding extends Finding {
  name: string;
}

export const pass = (text: string): Finding => ({ status: "pass", text });
export const warn = (text: string): Finding => ({ status: "warn", text });
export const fail = (text: string): Finding => ({ status: "fail", text });
export const skip = (text: string): Finding => ({ status: "skip", text });

const shown = { pass: "ok", warn: "warning", fail: "wrong", skip: "skipped" } as const;

/** Print findings for people, or for a program. @returns whether nothing is wrong; a warning is not */
export function printFindings(
  findings: readonly NamedFinding[],
  { json, ...more }: { json: true | undefined; [field: string]: unknown },
): boolean {
  const isWell = findings.every(({ status }) => status !== "fail");
  if (json === true) print(inJson({ ok: isWell, ...more, checks: findings }));
  else for (const line of linesOf(findings)) print(line);
  return isWell;
}

function linesOf(findings: readonly NamedFinding[]): string[] {
  return table(
    ["CHECK", "RESULT", "DETAIL"],
    findings.map(({ name, status, text }) => [name, shown[status], text]),
  );
}
