import { escapeText } from "../discord/replies.ts";
import type { KeyView } from "../features/keys/keys.schema.ts";
import type { PolicyView } from "../features/workflows/policies.schema.ts";
import { workflowKinds } from "../kernel/workflow-kinds.ts";
import { parseDuration } from "../kernel/fields.ts";
import type { ChannelsView } from "../features/channels/channels.schema.ts";
import type { Entry, Given, OptionSpec, Wording } from "./entry.ts";
import { picked, textIn } from "./given.ts";
import { named } from "./named.ts";
import { readView } from "./readings.ts";
import { channelsHere, channelsInput, channelsText, postable, purposes } from "./setup-channels.ts";
import { newKeyText } from "./setup-keys.ts";
import { wizardReply } from "./setup-wizard.ts";
import { lengthText } from "./lengths.ts";
import { mentionOf, momentOf } from "./show.ts";
import type { Say } from "./texts.ts";

const command = "setup";
const kind: OptionSpec = { name: "kind", kind: "text", required: true, choices: workflowKinds };
const people = (name: string): OptionSpec => ({ name, kind: "whole", min: 1, max: 10 });
const length = (name: string): OptionSpec => ({ name, kind: "text", max: 20 });
const lengths = ["first-touch", "decision", "expiry", "cool-down", "claim", "info"] as const;
const client: OptionSpec = { name: "client", kind: "text", required: true, completes: "client", max: 36 };
const days: OptionSpec = { name: "days", kind: "whole", min: 1, max: 3650 };
const at = (given: Given) => ({ id: textIn(given, "client") ?? "" });

/** Lengths are seconds over HTTP; what is none is left for the verb to refuse. */
function secondsIn(given: Given): Record<string, unknown> {
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
    input: () => ({}),
    answers({ say, call }, verbs) {
      verbs.check("listStaffRoles", call, {});
      return wizardReply({ verbs, call, say });
    },
  },
  {
    command,
    path: "backup",
    operation: "listChannels",
    input: () => ({}),
    answers({ say, call }, verbs) {
      verbs.check("listChannels", call, {});
      return { content: say("setup backup-how") };
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
  show: (view, { say }) => ({ content: channelsText(view, say) }),
};

const policies: readonly Entry[] = [
  {
    command,
    path: "policies",
    operation: "listWorkflowPolicies",
    input: () => ({}),
    line: (view, { say }) => policyLine(view, say),
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
      { name: "deny-needs-majority", kind: "yes" },
      { name: "blind-votes", kind: "yes" },
      { name: "notify", kind: "text", choices: ["dm", "none"] },
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
    show: (view, { say }) => ({ content: policyText(view, say) }),
  },
  {
    command,
    path: "policy-reset",
    operation: "resetWorkflowPolicy",
    options: [kind],
    input: (given) => ({ params: { type: textIn(given, "kind") ?? "" } }),
    show: (view, { say }) => ({ content: policyText(view, say) }),
  },
];

const clients: readonly Entry[] = [
  {
    command,
    path: "clients list",
    operation: "listKeys",
    options: [
      { name: "state", kind: "text", choices: ["active", "expired", "revoked"] },
      { name: "name", kind: "text", max: 80 },
    ],
    input: (given) => ({ query: { ...picked(given, "state"), q: textIn(given, "name") } }),
    line: (view, { say }) => keyLine(view, say),
  },
  {
    command,
    path: "clients show",
    operation: "getKey",
    options: [client],
    input: (given) => ({ params: at(given) }),
    show: (view, { say }) => ({ content: keyText(view, say) }),
  },
  {
    command,
    path: "clients create",
    operation: "createKey",
    options: [
      { name: "name", kind: "text", required: true, max: 80 },
      { name: "scopes", kind: "text", required: true, max: 2000 },
      { name: "delegation", kind: "text", choices: ["none", "trusted"] },
      days,
    ],
    input: (given) => ({ body: { ...picked(given, "name", "delegation"), ...scopesIn(given), expires_days: given.values["days"] } }),
    show: (view, { say }) => ({ content: newKeyText(view, say) }),
  },
  {
    command,
    path: "clients edit",
    operation: "updateKey",
    options: [client, { name: "name", kind: "text", max: 80 }, { name: "scopes", kind: "text", max: 2000 }, days],
    input: (given) => ({ params: at(given), body: { ...picked(given, "name"), ...scopesIn(given), expires_days: given.values["days"] } }),
    show: (view, { say }) => ({ content: keyText(view, say) }),
  },
  {
    command,
    path: "clients rotate",
    operation: "rotateKey",
    options: [client, { name: "grace", kind: "text", max: 20 }],
    input: (given) => {
      const grace = textIn(given, "grace");
      const seconds = grace === undefined ? undefined : grace === "0" ? 0 : (parseDuration(grace) ?? grace);
      return { params: at(given), body: { grace_seconds: seconds } };
    },
    asks: (wording, verbs) => askAboutKey("setup ask-rotate", "rotateKey", wording, verbs),
    show: (view, { say }) => ({ content: newKeyText(view, say) }),
  },
  {
    command,
    path: "clients revoke",
    operation: "revokeKey",
    options: [client],
    input: (given) => ({ params: at(given) }),
    asks: (wording, verbs) => askAboutKey("setup ask-revoke", "revokeKey", wording, verbs),
    show: (view, { say }) => ({ content: keyLine(view, say) }),
  },
];

/** `/setup`: the first run, and what the service goes by. */
export const setupEntries: readonly Entry[] = [...guides, channels, ...policies, ...clients];

async function askAboutKey(key: string, operation: string, { say, call, given }: Wording, verbs: Parameters<typeof readView>[0]) {
  verbs.check(operation, call, { params: at(given) });
  const view = await readView<KeyView>(verbs, "getKey", call, { params: at(given) });
  return `${say(key)}\n${keyLine(view, say)}`;
}

function scopesIn(given: Given): { scopes?: string[] } {
  const text = textIn(given, "scopes");
  return text === undefined ? {} : { scopes: text.split(/[\s,]+/).filter((scope) => scope !== "") };
}

function keyLine(view: KeyView, say: Say): string {
  return [...headOf(view, say), view.scopes.slice(0, 10).map(escapeText).join(" "), ...timesOf(view, say)].join(" · ");
}

const headOf = ({ name, key_id: id, state }: KeyView, say: Say): string[] => [`**${escapeText(name)}** \`${id}\``, named(say, state)];

const timesOf = ({ last_used_at: used, expires_at: ends }: KeyView, say: Say): string[] => [
  used === null ? say("setup never-used") : say("setup used", { at: momentOf(used, "R") }),
  say("say until", { at: momentOf(ends) }),
];

function policyLine(view: PolicyView, say: Say): string {
  const filled = { approvals: view.approvals, grave: view.approvals_grave, reversals: view.reversals };
  const warning = view.warnings.length > 0 ? ` ⚠ ${say("setup too-few")}` : "";
  return `**${named(say, view.type)}** ${escapeText(view.reference_prefix)} · ${say("setup approvals", filled)}${warning}`;
}

/** A key with all that it may, from where, and who made it. */
function keyText(view: KeyView, say: Say): string {
  const places = view.ip_allowlist.length === 0 ? say("setup key-anywhere") : view.ip_allowlist.map(escapeText).join(" ");
  return [
    [...headOf(view, say), ...timesOf(view, say)].join(" · "),
    say("setup key-scopes", { scopes: view.scopes.map(escapeText).join(" ") }),
    say(`setup acts ${view.delegation}`),
    say("setup key-from", { places }),
    say("setup key-by", { user: view.created_by === null ? "–" : mentionOf(view.created_by), at: momentOf(view.created_at) }),
  ].join("\n");
}

/** A policy with its lengths, as people type them. */
function policyText(view: PolicyView, say: Say): string {
  const spans = lengths.map((name) => [name.replaceAll("-", "_"), lengthText(view[`${name.replaceAll("-", "_")}_seconds` as never])]);
  return [
    policyLine(view, say),
    say("setup policy-lengths", Object.fromEntries(spans) as Record<string, string>),
    say(view.deny_needs_majority ? "setup denial-many" : "setup denial-one"),
    say(view.blind_votes ? "setup votes-blind" : "setup votes-open"),
    say(`setup told ${view.notify}`),
  ].join("\n");
}
