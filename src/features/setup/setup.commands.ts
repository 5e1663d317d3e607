import type { CommandSet, Entry } from "../../commands/entry.ts";
import type { GuidePart } from "../../commands/guide.ts";
import { alertEntries } from "./commands/alerts.ts";
import { channelsEntry, channelsStep } from "./commands/channels.ts";
import { appealEntry } from "./commands/appeal.ts";
import { clientEntries, clientSource, keyStep } from "./commands/clients.ts";
import { directSetupEntries, reasonNames } from "./commands/direct.ts";
import { listEntries, retryListActionEntry } from "./commands/lists.ts";
import { policiesStep, policyEntries } from "./commands/policies.ts";
import { rolesStep } from "./commands/roles.ts";
import { webhookEntries, webhookSources } from "./commands/webhooks.ts";
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

export const ownParts: readonly GuidePart[] = [
  { step: rolesStep },
  { step: channelsStep, entries: [channelsEntry] },
  { step: policiesStep, entries: policyEntries },
  { entries: directSetupEntries },
  { entries: [appealEntry] },
  { step: keyStep, entries: clientEntries },
  { entries: listEntries },
  { entries: alertEntries },
  { entries: webhookEntries },
];

/** `/setup`: the guide, and what the features add to it. */
export function setupCommands(others: readonly GuidePart[]): CommandSet {
  const parts = [...ownParts, ...others];
  const entries = [...guideEntries(parts), ...parts.flatMap(({ entries = [] }) => entries)];
  return {
    menuEntries: [retryListActionEntry],
    entries: entries.toSorted((one, other) => placeIn(order, groupOf(one)) - placeIn(order, groupOf(other))),
    sources: { "reason-name": reasonNames, ...webhookSources, client: clientSource },
  };
}
