import type { CommandSet, Entry } from "../../commands/entry.ts";
import type { GuidePart } from "../../commands/guide.ts";
import { createWizard, placeIn } from "./commands/wizard.ts";

const command = "setup";
/** The sub-commands and groups of them in the order in which a server is set up; what is not named here comes last. */
const order: readonly string[] = [
  "wizard",
  "backup",
  "channels",
  "policies",
  "policy",
  "policy-reset",
  "direct",
  "reasons",
  "appeal",
  "clients",
  "lists",
  "alerts",
  "webhooks",
];

const guideEntries = (parts: readonly GuidePart[]): readonly Entry[] => [
  {
    command,
    path: "wizard",
    operation: "listStaffRoles",
    needs: ["system.settings.manage", "staffroles.manage"],
    input: () => ({}),
    answers({ t, call }, verbs) {
      verbs.check("listStaffRoles", call, {});
      return createWizard(parts).begin({ verbs, call, t });
    },
  },
  {
    command,
    path: "backup",
    operation: "listChannels",
    needs: ["system.settings.manage"],
    input: () => ({}),
    answers({ t, call }, verbs) {
      verbs.check("listChannels", call, {});
      return { content: t("setup backup-how") };
    },
  },
];

const groupOf = ({ path }: Entry): string => path.split(" ")[0] ?? "";

/** `/setup`: the guide, and what the features add to it. */
export function setupCommands(parts: readonly GuidePart[]): CommandSet {
  const entries = [...guideEntries(parts), ...parts.flatMap((part) => part.entries ?? [])];
  return { entries: entries.toSorted((one, other) => placeIn(order, groupOf(one)) - placeIn(order, groupOf(other))) };
}
