import { choiceLimit } from "../../commands/sources.ts";
import { cut, enumLabel } from "../../commands/show.ts";
import type { CommandSet, Entry, CommandInput, OptionSpec } from "../../commands/entry.ts";
import { escapeText } from "../../discord/replies.ts";
import type { PolicyView } from "../workflows/policies/policies.schema.ts";
import { workflowKinds } from "../../kernel/vocabulary.ts";
import { parseDuration } from "../../kernel/fields.ts";
import type { ChannelsView } from "../channels/channels.schema.ts";
import { picked, textIn } from "../../commands/input.ts";
import { alertEntries } from "./commands/alerts.ts";
import { channelsHere, channelsInput, channelsText, postable, purposes } from "./commands/channels.ts";
import { appealEntry } from "./commands/appeal.ts";
import { clientEntries } from "./commands/clients.ts";
import { directSetupEntries, reasonNames } from "./commands/direct.ts";
import { listEntries, retryListActionEntry } from "./commands/lists.ts";
import { webhookEntries, webhookSources } from "./commands/webhooks.ts";
import { wizardReply } from "./commands/wizard.ts";
import type { Translate } from "../../kit/say.ts";
import { lengthText } from "../../commands/length-text.ts";

const command = "setup";
const kind: OptionSpec = { name: "kind", kind: "text", required: true, choices: workflowKinds };
const people = (name: string): OptionSpec => ({ name, kind: "integer", min: 1, max: 10 });
const length = (name: string): OptionSpec => ({ name, kind: "text" });
const lengths = ["first-touch", "decision", "expiry", "cool-down", "claim", "info"] as const;

/** Lengths are seconds over HTTP; what is none is left for the service method to refuse. */
function secondsIn(given: CommandInput): Record<string, unknown> {
  return Object.fromEntries(
    lengths.flatMap((name) => {
      const text = textIn(given, name);
      return text === undefined ? [] : [[`${name.replaceAll("-", "_")}_seconds`, parseDuration(text) ?? text]];
    }),
  );
}

const guides: readonly Entry[] = [
  {
    command,
    path: "wizard",
    operation: "listStaffRoles",
    needs: ["system.settings.manage", "staffroles.manage"],
    input: () => ({}),
    answers({ t, call }, verbs) {
      verbs.check("listStaffRoles", call, {});
      return wizardReply({ verbs, call, t });
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

const channels: Entry = {
  command,
  path: "channels",
  operation: "putChannels",
  options: [
    ...purposes.map((name): OptionSpec => ({ name, kind: "channel", channelTypes: postable })),
    { name: "without", kind: "text", choices: [...purposes] },
  ],
  async locate(_given, call, verbs) {
    verbs.require("putChannels", call, channelsInput(call, undefined, {}).params);
    return { known: JSON.stringify((await channelsHere(verbs, call)) ?? null) };
  },
  input(given, call) {
    const known = JSON.parse(textIn(given, "known") ?? "null") as ChannelsView | null;
    const without = textIn(given, "without");
    const changes = { ...picked(given, ...purposes), ...(without !== undefined && { [without]: null }) };
    return channelsInput(call, known ?? undefined, changes);
  },
  show: (view, { t }) => ({ content: channelsText(view, t) }),
};

const policies: readonly Entry[] = [
  {
    command,
    path: "policies",
    operation: "listWorkflowPolicies",
    input: () => ({}),
    line: (view, { t }) => policyLine(view, t),
  },
  {
    command,
    path: "policy",
    operation: "updateWorkflowPolicy",
    options: [
      kind,
      people("approvals"),
      people("approvals-grave"),
      people("reversals"),
      { name: "deny-needs-majority", kind: "boolean" },
      { name: "blind-votes", kind: "boolean" },
      { name: "notify", kind: "text" },
      { name: "prefix", kind: "text", min: 2, max: 10 },
      ...lengths.map(length),
    ],
    input: (given) => ({
      params: { type: textIn(given, "kind") ?? "" },
      body: {
        ...picked(given, "approvals", "approvals-grave", "reversals", "deny-needs-majority", "blind-votes", "notify", "prefix"),
        ...secondsIn(given),
      },
    }),
    show: (view, { t }) => ({ content: policyText(view, t) }),
  },
  {
    command,
    path: "policy-reset",
    operation: "resetWorkflowPolicy",
    options: [kind],
    input: (given) => ({ params: { type: textIn(given, "kind") ?? "" } }),
    show: (view, { t }) => ({ content: policyText(view, t) }),
  },
];

/** `/setup`: the first run, and what the service goes by. */
const setupEntries: readonly Entry[] = [
  ...guides,
  channels,
  ...policies,
  ...directSetupEntries,
  appealEntry,
  ...clientEntries,
  ...listEntries,
  ...alertEntries,
  ...webhookEntries,
];

function policyLine(view: PolicyView, t: Translate): string {
  const filled = { approvals: view.approvals, grave: view.approvals_grave, reversals: view.reversals };
  const warning = view.warnings.length > 0 ? ` ⚠ ${t("setup too-few")}` : "";
  return `**${enumLabel(view.type, t)}** ${escapeText(view.reference_prefix)} · ${t("setup approvals", filled)}${warning}`;
}

/** A policy with its lengths. */
function policyText(view: PolicyView, t: Translate): string {
  const spans = lengths.map((name) => [name.replaceAll("-", "_"), lengthText(view[`${name.replaceAll("-", "_")}_seconds` as never], t)]);
  return [
    policyLine(view, t),
    t("setup policy-lengths", Object.fromEntries(spans) as never),
    t(view.deny_needs_majority ? "setup denial-many" : "setup denial-one"),
    t(view.blind_votes ? "setup votes-blind" : "setup votes-open"),
    t(`setup told ${view.notify}`),
  ].join("\n");
}

/** What Discord offers for setting a server up. */
export const setupCommands: CommandSet = {
  menuEntries: [retryListActionEntry],
  entries: setupEntries,
  sources: {
    "reason-name": reasonNames,
    ...webhookSources,
    client: {
      operation: "listKeys",
      input: (typed) => ({ query: { limit: choiceLimit, state: "active", q: typed === "" ? undefined : typed } }),
      choice: ({ key_id: id, name }: { key_id: string; name: string }) => ({ name: cut(`${name} (${id})`, 100), value: id }),
    },
  },
};
