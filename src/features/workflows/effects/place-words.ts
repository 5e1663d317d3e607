import { say } from "../../../kit/say.ts";
import { parseDuration } from "../../../kernel/fields.ts";
import type { Length } from "./inputs.ts";

const maxNamed = 3;

/** Names in a sentence, a few of them: `Harbour`, `Harbour and Bay`, `Harbour, Bay, Cove and 3 more`. */
export function namesText(names: readonly string[]): string {
  const shown = names.slice(0, maxNamed);
  const left = names.length - shown.length;
  if (left > 0) return `${shown.join(", ")} and ${left.toString()} more`;
  return shown.length < 2 ? shown.join() : `${shown.slice(0, -1).join(", ")} and ${shown.at(-1) ?? ""}`;
}

/** What the bot does, as the beginning of a part of a sentence that goes on with names of servers. */
export const measureWords = {
  ban: "ban from",
  kick: "kick from",
  timeout: "timeout in",
  unban: "end of the ban in",
  untimeout: "end of the timeout in",
  role_remove: "removal of the staff's Discord roles in",
  roles_add: "the Discord roles of the staff role in",
  roles_remove: "removal of the staff's Discord roles in",
} as const;

interface Planned {
  what: keyof typeof measureWords;
  names: readonly string[];
  /** Every server there is, and not these by name. */
  isEverywhere?: boolean;
  /** Left out: it has no length. */
  length?: string | undefined;
}

/** What an approval will do in Discord, and where. */
export function plannedText({ what, names, isEverywhere = false, length }: Planned): string {
  const where = isEverywhere ? `all servers (${namesText(names)})` : namesText(names);
  const measure = [`${measureWords[what]} ${where}`, ...(length === undefined ? [] : [length])].join(", ");
  return say("workflows.on-approval", { measure });
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
  if (seconds === undefined) return "permanently";
  const [unit, size] = units.find(([, of]) => seconds >= of && seconds % of === 0) ?? ["second", 1];
  const count = seconds / size;
  return `${count.toString()} ${unit}${count === 1 ? "" : "s"}`;
}
