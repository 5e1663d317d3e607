import { textFor, type Translate, type TextKey } from "../../kit/say.ts";
import { escapeText } from "../../discord/replies.ts";
import { permissionName } from "../../discord/sentence.ts";
import type { KeyView, CreatedKeyView } from "./keys.schema.ts";
import { parseDuration } from "../../kernel/fields.ts";
import type { Entry, CommandInput, OptionSpec, SourceSpec, Wording } from "../../commands/entry.ts";
import { picked, textIn } from "../../commands/input.ts";
import { cut, enumLabel, mentionOf, momentOf } from "../../commands/show.ts";
import { listSeen, readView } from "../../commands/records.ts";
import { choiceLimit } from "../../commands/sources.ts";
import type { Verbs } from "../../commands/verbs.ts";
import { annotated } from "../../operations/route.ts";
import { isHeld } from "../../kernel/held.ts";
import { heldReply, buttonOf, rowOf } from "../../commands/press.ts";
import type { GuideContext, GuidePage, GuideStep } from "../../commands/guide.ts";

const command = "setup";
const client: OptionSpec = { name: "client", kind: "text", required: true, completes: "client", max: 36 };
const days: OptionSpec = { name: "days", kind: "integer", min: 1, max: 3650 };
const at = (given: CommandInput) => ({ id: textIn(given, "client") ?? "" });

/** `/setup clients`: the keys of moderation clients. */
export const clientEntries: readonly Entry[] = [
  {
    command,
    path: "clients list",
    operation: "listKeys",
    options: [
      { name: "state", kind: "text" },
      { name: "name", kind: "text", max: 80 },
    ],
    input: (given) => ({ query: { ...picked(given, "state"), q: textIn(given, "name") } }),
    line: (view, { t }) => keyLine(view, t),
  },
  {
    command,
    path: "clients show",
    operation: "getKey",
    options: [client],
    input: (given) => ({ params: at(given) }),
    show: (view, { t }) => ({ content: keyText(view, t) }),
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
    show: (view, { t }) => ({ content: newKeyText(view, t) }),
  },
  {
    command,
    path: "clients edit",
    operation: "updateKey",
    options: [client, { name: "name", kind: "text", max: 80 }, { name: "scopes", kind: "text", max: 2000 }, days],
    input: (given) => ({ params: at(given), body: { ...picked(given, "name"), ...scopesIn(given), expires_days: given.values["days"] } }),
    show: (view, { t }) => ({ content: keyText(view, t) }),
  },
  {
    command,
    path: "clients rotate",
    operation: "rotateKey",
    options: [client, { name: "grace", kind: "text" }],
    input: (given) => {
      const grace = textIn(given, "grace");
      const seconds = grace === undefined ? undefined : grace === "0" ? 0 : (parseDuration(grace) ?? grace);
      return { params: at(given), body: { grace_seconds: seconds } };
    },
    asks: (wording, verbs) => askAboutKey("setup ask-rotate", wording, verbs),
    show: (view, { t }) => ({ content: newKeyText(view, t) }),
  },
  {
    command,
    path: "clients revoke",
    operation: "revokeKey",
    options: [client],
    input: (given) => ({ params: at(given) }),
    asks: (wording, verbs) => askAboutKey("setup ask-revoke", wording, verbs),
    show: (view, { t }) => ({ content: keyLine(view, t) }),
  },
];

async function askAboutKey(key: TextKey, { t, call, given }: Wording, verbs: Verbs) {
  const view = await readView<KeyView>(verbs, "getKey", call, { params: at(given) });
  return `${t(key)}\n${keyLine(view, t)}`;
}

function scopesIn(given: CommandInput): { scopes?: string[] } {
  const text = textIn(given, "scopes");
  return text === undefined ? {} : { scopes: text.split(/[\s,]+/).filter((scope) => scope !== "") };
}

function keyLine(view: KeyView, t: Translate): string {
  return [...headOf(view, t), scopesText(view.scopes.slice(0, 10), t), ...timesOf(view, t)].join(" · ");
}

const scopesText = (scopes: readonly string[], t: Translate): string => scopes.map((scope) => permissionName(scope, t)).join(", ");

const headOf = ({ name, key_id: id, state, warning }: KeyView, t: Translate): string[] => [
  `**${escapeText(name)}** \`${id}\``,
  enumLabel(state, t),
  ...(warning === "limited" ? [t("setup key-limited")] : []),
];

const timesOf = ({ last_used_at: used, expires_at: ends }: KeyView, t: Translate): string[] => [
  used === null ? t("setup never-used") : t("setup used", { at: momentOf(used, "R") }),
  t("say until", { at: momentOf(ends) }),
];

/** A key with all that it may, from where, and who made it. */
function keyText(view: KeyView, t: Translate): string {
  const places = view.ip_allowlist.length === 0 ? t("setup key-anywhere") : view.ip_allowlist.map(escapeText).join(" ");
  return [
    [...headOf(view, t), ...timesOf(view, t)].join(" · "),
    t("setup key-scopes", { scopes: scopesText(view.scopes, t) }),
    t(`setup acts ${view.delegation}`),
    t("setup key-from", { places }),
    ...(view.warning === "limited" ? [t("setup key-limits", { users: view.makers.map(mentionOf).join(" ") })] : []),
    t("setup key-by", { user: view.created_by === null ? "–" : mentionOf(view.created_by), at: momentOf(view.created_at) }),
  ].join("\n");
}

const shown = 5;

/** What a first key is for: what it may, and whether it may name people it acts for. */
const purposes: Readonly<Record<string, { scopes: readonly string[]; delegation: "none" | "trusted" }>> = {
  site: { scopes: ["*"], delegation: "trusted" },
  check: { scopes: ["blacklist.check", "staff.access.read"], delegation: "none" },
};

/** A key right after it was made: its text is in this one answer, which only its maker sees. */
export function newKeyText({ key, name, expires_at: ends }: CreatedKeyView, t: Translate): string {
  return `${t("setup key-made", { name: escapeText(name), until: t("say until", { at: momentOf(ends) }) })}\n\`\`\`\n${key}\n\`\`\`\n${t("setup key-once")}`;
}

async function page(ground: GuideContext): Promise<GuidePage> {
  const { t } = ground;
  const keys = await listSeen<KeyView>(ground, "listKeys", { query: { state: "active" } });
  if (keys === undefined) return { text: t("setup not-seen"), rows: [] };
  const lines = keys
    .slice(0, shown)
    .map(({ name, key_id: id, expires_at: ends }) => `• **${escapeText(name)}** \`${id}\` · ${t("say until", { at: momentOf(ends) })}`);
  const more = keys.length > shown ? [t("say more", { count: keys.length - shown })] : [];
  const options = Object.keys(purposes).map((value) => ({
    value,
    label: textFor(`setup key ${value}`, t) ?? value,
    description: textFor(`setup key ${value} what`, t) ?? "",
  }));
  const menu = { type: 3, custom_id: ground.customIdOf("make"), placeholder: t("setup pick-key"), options } as const;
  const none = keys.length === 0 ? [t("setup nothing-yet")] : [];
  return { text: [t("setup key-step"), ...lines, ...more, ...none].join("\n"), rows: [rowOf(menu)] };
}

async function make({ verbs, call, t, customIdOf }: GuideContext, purpose: string) {
  const chosen = purposes[purpose];
  if (chosen === undefined) return undefined;
  const answer = await verbs.run("createKey", call, { body: { name: t("setup key-name"), ...chosen } });
  if (isHeld(answer)) return heldReply(answer.confirmation_required, t);
  const made = annotated(answer).view as CreatedKeyView;
  return { text: newKeyText(made, t), rows: [rowOf(buttonOf(t("setup key-undo"), customIdOf(`undo-${made.key_id}`), 4))] };
}

export const keyStep: GuideStep = {
  name: "key",
  page,
  async act(ground, what, [purpose = ""]) {
    if (what === "make") return await make(ground, purpose);
    const id = /^undo-(\w+)$/.exec(what)?.[1];
    if (id === undefined) return undefined;
    const answer = await ground.verbs.run("revokeKey", ground.call, { params: { id } });
    return isHeld(answer) ? heldReply(answer.confirmation_required, ground.t) : undefined;
  },
};

export const clientSource: SourceSpec = {
  operation: "listKeys",
  input: (typed) => ({ query: { limit: choiceLimit, state: "active", q: typed === "" ? undefined : typed } }),
  choice: ({ key_id: id, name }: { key_id: string; name: string }) => ({ name: cut(`${name} (${id})`, 100), value: id }),
};
