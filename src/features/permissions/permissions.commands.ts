import { holds } from "../../commands/sources.ts";
import { permissionTitle, permissionText, sentenceText, taskText } from "../../discord/sentence.ts";
import { cut, enumLabel, codeText, momentOf } from "../../commands/show.ts";
import type { CommandSet, Entry, FieldSpec, CommandInput, OptionSpec, Reply } from "../../commands/entry.ts";
import type { VerbInput } from "../../commands/verbs.ts";
import type { Call } from "../../kernel/call.ts";
import type { UserPermissionsView, EffectiveView } from "./users/users.schema.ts";
import { durationIn, picked, textIn } from "../../commands/input.ts";
import { readVisible, idText } from "../../commands/records.ts";
import { escapeText } from "../../discord/replies.ts";
import type { ExplainView, SimulateView } from "./explain/explain.schema.ts";
import type { CatalogView, RolePermissionsView } from "./permissions.schema.ts";
import { type Translate, inJson } from "../../kit/say.ts";

const limits = { text: 1900, keys: 20 } as const;
const mark = (allowed: boolean): string => (allowed ? "✓" : "✗");

/** An entry of the catalog as a line. */
function catalogLine({ key, default_level: level, danger }: CatalogView, t: Translate): string {
  return `${titled(key, t)} · ${enumLabel(level, t)}${danger ? " ⚠" : ""}`;
}

/** Which rules spoke, in order, and which one decided. */
function explainText(view: ExplainView, t: Translate): string {
  const { key, allowed, trace } = view;
  const about = { user: `<@${view.user_id}>`, key, task: taskText(key, t) };
  const head = t(allowed ? "permission may" : "permission may-not", about);
  // Where no rule spoke, there is no order to show.
  if (trace.length === 1 && trace[0]?.step === "nothing") return `${head} ${sentenceText(trace[0].text, t)}`;
  const lines = trace.map(({ step, effect, decides, text }, index) => {
    const line = `${(index + 1).toString()}. ${mark(effect === "allow")} ${enumLabel(`step ${step}`, t)}: ${sentenceText(text, t)}`;
    return decides ? `**${line}** ${t("permission decides")}` : line;
  });
  const end = view.expires_at === null ? [] : [t("permission ends", { at: momentOf(view.expires_at) })];
  return [head, ...lines, ...end].join("\n");
}

/** What one person is allowed and denied besides their roles. */
function personText(view: UserPermissionsView, t: Translate): string {
  const lines = view.overrides.map(({ key, effect, scope, expires_at: ends, reason }) =>
    [
      `${mark(effect === "allow")} ${titled(key, t)}`,
      ...(scope === null ? [] : [t("permission only-in", { guild: idText(scope) })]),
      ...(ends === null ? [] : [t("say until", { at: momentOf(ends) })]),
      ...(reason === undefined ? [] : [escapeText(reason)]),
    ].join(" · "),
  );
  const barred = view.suspension === null ? [] : [t("permission suspended")];
  const none = lines.length === 0 ? [t("permission nothing-personal")] : lines;
  return [`<@${view.user_id}>`, ...barred, ...none].join("\n");
}

/** What a staff role holds on top of its level. */
function roleText(view: RolePermissionsView, t: Translate): string {
  const counted = view.effective === undefined ? [] : [t("permission in-all", { count: view.effective.length })];
  return cut(
    [
      `${codeText(view.role_key)} · ${enumLabel(view.level, t)}`,
      t("permission allows", { keys: keysText(view.allow, t) }),
      t("permission denies", { keys: keysText(view.deny, t) }),
      ...counted,
      ...(view.conflicts ?? []).map(([one = "", other = ""]) => t("permission conflict", { one: titled(one, t), other: titled(other, t) })),
    ].join("\n"),
    limits.text,
  );
}

/** Every permission as decided for one person: in numbers, and whole as a file. */
function effectiveReply(view: EffectiveView, t: Translate): Reply {
  const held = view.permissions.filter(({ allowed }) => allowed).map(({ key }) => key);
  const line = t("permission effective-line", { user: `<@${view.user_id}>`, level: enumLabel(view.level, t), count: held.length });
  const file = { name: "permissions.json", content: inJson(view, 2) };
  return { content: cut(`${line}\n${keysText(held, t)}`, limits.text), files: [file] };
}

/** Who would gain and lose what, and what could not be saved. */
function simulationReply(view: SimulateView, t: Translate): Reply {
  const change = (gains: readonly string[], loses: readonly string[]): string =>
    [...gains.map((key) => `+${titled(key, t)}`), ...loses.map((key) => `−${titled(key, t)}`)].slice(0, limits.keys).join(", ");
  const lines = [
    ...view.refusals.map(({ code, detail }) => `${t("permission would-refuse")} ${sentenceText(detail, t)} (\`${code}\`)`),
    ...view.roles.map(({ role_key: key, gains, loses }) => `**${escapeText(key)}** ${change(gains, loses)}`),
    ...view.people.map(({ user_id: id, gains, loses }) => `<@${id}> ${change(gains, loses)}`),
  ];
  const head = t("permission simulated", { count: view.people_total });
  const file = { name: "simulation.json", content: inJson(view, 2) };
  return { content: cut([head, ...lines].join("\n"), limits.text), files: [file] };
}

function keysText(keys: readonly string[], t: Translate): string {
  if (keys.length === 0) return t("say none");
  const shown = keys.slice(0, limits.keys).map((key) => titled(key, t));
  return [...shown, ...(keys.length > limits.keys ? [t("say more", { count: keys.length - limits.keys })] : [])].join(", ");
}

/** A permission by its title, with the key that commands take. */
function titled(key: string, t: Translate): string {
  return permissionText(key, t) ?? codeText(key);
}

const command = "permission";
const person: OptionSpec = { name: "user", kind: "user", required: true };
const permission: OptionSpec = { name: "permission", kind: "text", required: true, completes: "permission", max: 100 };
const role: OptionSpec = { name: "role", kind: "text", required: true, completes: "staff-role", max: 50 };
const here: OptionSpec = { name: "here", kind: "boolean" };
const reason: OptionSpec = { name: "reason", kind: "text", min: 3, max: 500 };
const until: OptionSpec = { name: "until", kind: "text", max: 40, time: { kind: "time", canBePermanent: true } };
const keys = (name: string): OptionSpec => ({ name, kind: "text", completes: "permissions", max: 2000 });
const whyForm: readonly FieldSpec[] = [{ name: "reason", kind: "paragraph", required: true, min: 3, max: 500 }];

const about = (given: CommandInput) => ({ discord_user_id: textIn(given, "user") ?? "" });
const guildOf = (given: CommandInput, call: Call): string | undefined => (given.values["here"] === true ? call.guildId : undefined);
const keyOf = (given: CommandInput): string => textIn(given, "permission") ?? "";

/** One entry of a person; the end may be told as a length. */
function entryOfPerson(effect: "allow" | "deny" | "clear") {
  return (given: CommandInput, call: Call): VerbInput => {
    const override = {
      key: keyOf(given),
      effect,
      scope: guildOf(given, call),
      expires_at: durationIn(given, "until").duration,
      ...picked(given, "reason"),
    };
    return { params: about(given), body: { overrides: [override] } };
  };
}

const people: readonly Entry[] = (
  [
    ["grant", "allow", [permission, person, until, here, reason]],
    ["deny", "deny", [permission, person, until, here, reason]],
    ["clear", "clear", [permission, person, here, reason]],
  ] as const
).map(([path, effect, options]) => ({
  command,
  path,
  operation: "updateUserPermissions",
  options: [...options],
  form: whyForm,
  input: entryOfPerson(effect),
  show: (view, { t }) => ({ content: personText(view, t) }),
}));

const all: readonly Entry[] = [
  {
    command,
    path: "clear-all",
    operation: "clearUserPermissions",
    options: [person, reason],
    form: whyForm,
    input: (given) => ({ params: about(given), body: picked(given, "reason") }),
    async asks({ t, call, given }, verbs) {
      const view = await readVisible<UserPermissionsView>(verbs, "getUserPermissions", call, { params: about(given) });
      return [t("permission clear-all ask"), ...(view === undefined ? [] : [personText(view, t)])].join("\n");
    },
    show: (view, { t }) => ({ content: personText(view, t) }),
  },
  {
    command,
    path: "user",
    operation: "getUserPermissions",
    options: [person],
    input: (given) => ({ params: about(given) }),
    show: (view, { t }) => ({ content: personText(view, t) }),
  },
  {
    command,
    path: "effective",
    operation: "getEffectivePermissions",
    options: [person, here],
    input: (given, call) => ({ params: about(given), query: { guild_id: guildOf(given, call) } }),
    show: (view, { t }) => effectiveReply(view, t),
  },
];

const rules: readonly Entry[] = [
  { command, path: "catalog", operation: "listPermissions", input: () => ({}), line: (view, { t }) => catalogLine(view, t) },
  {
    command,
    path: "explain",
    operation: "explainPermission",
    options: [person, permission, here],
    input: (given, call) => {
      const guildId = guildOf(given, call);
      const context = guildId === undefined ? {} : { context: { guild_id: guildId } };
      return { body: { user_id: textIn(given, "user"), key: keyOf(given), ...context } };
    },
    show: (view, { t }) => ({ content: explainText(view, t) }),
  },
  {
    command,
    path: "simulate",
    operation: "simulatePermissions",
    options: [{ ...person, required: false }, { ...role, required: false }, keys("allow"), keys("deny"), keys("clear"), here],
    input: (given, call) => {
      const lists = Object.fromEntries(["allow", "deny", "clear"].map((name) => [name, keysIn(given, name)]));
      const whose = { user_id: textIn(given, "user"), role_key: textIn(given, "role"), scope: guildOf(given, call) };
      return { body: { changes: [{ ...whose, ...lists }] } };
    },
    show: (view, { t }) => simulationReply(view, t),
  },
];

const roles: readonly Entry[] = [
  { command, path: "role list", operation: "listRolePermissions", input: () => ({}), line: (view, { t }) => roleText(view, t) },
  {
    command,
    path: "role show",
    operation: "getRolePermissions",
    options: [role],
    input: (given) => ({ params: { role_key: textIn(given, "role") ?? "" } }),
    show: (view, { t }) => ({ content: roleText(view, t) }),
  },
  ...["allow", "deny", "clear"].map((effect): Entry => ({
    command,
    path: `role ${effect}`,
    operation: "updateRolePermissions",
    options: [role, permission],
    input: (given) => ({ params: { role_key: textIn(given, "role") ?? "" }, body: { [effect]: [keyOf(given)] } }),
    show: (view, { t }) => ({ content: roleText(view, t) }),
  })),
];

/** `/permission`: who may do what, and why. */
const permissionEntries: readonly Entry[] = [...rules, ...people, ...all, ...roles];

/** `cases.read, cases.note` or `cases.read cases.note`. */
function keysIn(given: CommandInput, name: string): string[] {
  return (textIn(given, name) ?? "").split(/[\s,]+/).filter((key) => key !== "");
}

/** What is typed after the last comma. */
const lastIn = (typed: string): string => /[^\s,]*$/.exec(typed)?.[0] ?? "";

/** What Discord offers of permissions. */
export const permissionCommands: CommandSet = {
  entries: permissionEntries,
  sources: {
    permission: {
      operation: "listPermissions",
      input: () => ({ query: { limit: 200 } }),
      choice: ({ key }: { key: string }, _typed, t) => ({ name: cut(`${key} · ${permissionTitle(key, t) ?? "–"}`, 100), value: key }),
      keeps: ({ key, label }: { key: string; label: string }, typed, t) => holds(typed, key, label, permissionTitle(key, t)),
    },
    /** Several, with commas: the last one is completed, and the others stay. */
    permissions: {
      operation: "listPermissions",
      input: () => ({ query: { limit: 200 } }),
      choice: ({ key }: { key: string }, typed: string) => {
        const whole = typed.slice(0, typed.length - lastIn(typed).length) + key;
        return { name: cut(whole, 100), value: whole };
      },
      keeps: ({ key, label }: { key: string; label: string }, typed, t) => holds(lastIn(typed), key, label, permissionTitle(key, t)),
    },
  },
};
