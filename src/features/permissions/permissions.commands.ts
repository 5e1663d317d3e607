import { holds } from "../../commands/sources.ts";
import { permissionTitle } from "../../discord/sentence.ts";
import { cut } from "../../commands/show.ts";
import type { CommandSet, Entry, FieldSpec, CommandInput, OptionSpec } from "../../commands/entry.ts";
import type { VerbInput } from "../../commands/verbs.ts";
import type { Call } from "../../kernel/call.ts";
import type { UserPermissionsView } from "./users/users.schema.ts";
import { durationIn, picked, textIn } from "../../commands/input.ts";
import { catalogLine, effectiveReply, explainText, personText, roleText, simulationReply } from "./commands/replies.ts";
import { readVisible } from "../../commands/records.ts";

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
