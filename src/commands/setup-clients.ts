import { escapeText } from "../discord/replies.ts";
import type { KeyView } from "../features/keys/keys.schema.ts";
import { parseDuration } from "../kernel/fields.ts";
import type { Entry, Given, OptionSpec, Wording } from "./entry.ts";
import { picked, textIn } from "./given.ts";
import { named } from "./named.ts";
import { readView } from "./readings.ts";
import { newKeyText } from "./setup-keys.ts";
import { mentionOf, momentOf } from "./show.ts";
import type { Say } from "./texts.ts";
import type { Verbs } from "./verbs.ts";

const command = "setup";
const client: OptionSpec = { name: "client", kind: "text", required: true, completes: "client", max: 36 };
const days: OptionSpec = { name: "days", kind: "whole", min: 1, max: 3650 };
const at = (given: Given) => ({ id: textIn(given, "client") ?? "" });

/** `/setup clients`: the keys of moderation clients. */
export const clientEntries: readonly Entry[] = [
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
    asks: (wording, verbs) => askAboutKey("setup ask-rotate", wording, verbs),
    show: (view, { say }) => ({ content: newKeyText(view, say) }),
  },
  {
    command,
    path: "clients revoke",
    operation: "revokeKey",
    options: [client],
    input: (given) => ({ params: at(given) }),
    asks: (wording, verbs) => askAboutKey("setup ask-revoke", wording, verbs),
    show: (view, { say }) => ({ content: keyLine(view, say) }),
  },
];

async function askAboutKey(key: string, { say, call, given }: Wording, verbs: Verbs) {
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
