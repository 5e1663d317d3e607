import { say, andMore, inRow } from "../../../kit/say.ts";
import { parseDuration } from "../../../kernel/fields.ts";
import type { Length } from "./inputs.ts";

const maxNamed = 3;

/** Names in a sentence, a few of them: `Harbour`, `Harbour and Bay`, `Harbour, Bay, Cove and 3 more`. */
export function namesText(names: readonly string[]): string {
  const shown = names.slice(0, maxNamed);
  const left = names.length - shown.length;
  return left > 0 ? andMore(shown, left) : inRow(shown, "and");
}

/** What the bot does in servers; each is a part of a sentence. */
export const measures = ["ban", "kick", "timeout", "unban", "untimeout", "role_remove", "roles_add", "roles_remove"] as const;

interface Planned {
  what: (typeof measures)[number];
  names: readonly string[];
  /** Every server there is, and not these by name. */
  isEverywhere?: boolean;
  /** Left out: it has no length. */
  length?: string | undefined;
}

/** What an approval will do in Discord, and where. */
export function plannedText({ what, names, isEverywhere = false, length }: Planned): string {
  const filled = { names: namesText(names), everywhere: isEverywhere.toString(), length: length ?? "none" };
  return say("workflows.on-approval", { measure: say(`workflows.measure-${what}`, filled) });
}

const units = [
  ["day", 86_400],
  ["hour", 3600],
  ["minute", 60],
  ["second", 1],
] as const;

/** A length in its largest whole unit: `14 days`, `36 hours`; `permanently` without one. */
export function lengthWords(length: Length): string {
  const seconds = typeof length === "string" ? parseDuration(length) : undefined;
  if (seconds === undefined) return say("workflows.permanently");
  const [unit, size] = units.find(([, of]) => seconds >= of && seconds % of === 0) ?? (["second", 1] as const);
  return say(`workflows.length-${unit}`, { count: seconds / size });
}
