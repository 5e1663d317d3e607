import type { CommandInput, Entry, OptionSpec, SourceSpec } from "../../../commands/entry.ts";
import { durationIn, textIn } from "../../../commands/input.ts";
import { lengthText } from "../../../commands/length-text.ts";
import { readView } from "../../../commands/records.ts";
import { cut, enumLabel, lineText } from "../../../commands/show.ts";
import { holds } from "../../../commands/sources.ts";
import type { Translate } from "../../../kit/say.ts";
import type { Verbs } from "../../../commands/verbs.ts";
import type { Call } from "../../../kernel/call.ts";
import { parseDuration } from "../../../kernel/fields.ts";
import { levels } from "../../../kernel/permissions.ts";
import type { DirectView, ReasonTemplate, ReasonsView } from "./direct.schema.ts";

const command = "setup";
/** The rules of a server, as `DirectView` names them. */
const ruleNames = ["warning", "note", "timeout", "kick", "ban"] as const satisfies readonly (keyof DirectView)[];
const off = "off";
const here = ({ guildId = "" }: Call) => ({ guild_id: guildId });

/** What stands now, to change a part of it: kept as text among the values of the command. */
async function known(operation: string, call: Call, verbs: Verbs): Promise<CommandInput["values"]> {
  return { known: JSON.stringify(await readView(verbs, operation, call, { params: here(call) })) };
}

const knownIn = (given: CommandInput): unknown => JSON.parse(textIn(given, "known") ?? "{}");

/** The rules with one of them changed; without an action nothing changes. */
function changedRules(given: CommandInput, call: Call) {
  const view = knownIn(given) as DirectView;
  const [action, level] = [textIn(given, "action"), textIn(given, "level")];
  const { duration: max } = durationIn(given, "max");
  const rules = Object.fromEntries(ruleNames.map((name) => [name, view[name]]));
  const rule = level === off ? null : { level, ...(typeof max === "string" && { max }) };
  return { params: here(call), body: action === undefined ? rules : { ...rules, [action]: rule }, revision: view.revision };
}

/** What each level does alone, a line each. */
function rulesText(view: DirectView, t: Translate): string {
  const lines = ruleNames.map((name) => {
    const rule = view[name];
    const level = rule === null ? t("setup direct off") : t("setup direct from", { level: enumLabel(rule.level, t) });
    const max = rule?.max === undefined ? "" : t("setup direct longest", { length: lengthText(parseDuration(rule.max) ?? 0, t) });
    return `• **${enumLabel(name, t)}**: ${level}${max}`;
  });
  return [t("setup direct head"), ...lines].join("\n");
}

function reasonsText({ reasons }: ReasonsView, t: Translate): string {
  if (reasons.length === 0) return t("setup reasons none");
  return cut(reasons.map(({ name, text }) => `• **${lineText(name)}** · ${cut(lineText(text), 150)}`).join("\n"), 1900);
}

const reasonName: OptionSpec = { name: "name", kind: "text", required: true, max: 50 };

/** What each level does alone, and the reasons that are offered. */
export const directSetupEntries: readonly Entry[] = [
  {
    command,
    path: "direct set",
    operation: "putDirectModeration",
    options: [
      { name: "action", kind: "text", required: true, choices: ruleNames },
      { name: "level", kind: "text", required: true, choices: [off, ...levels.filter((level) => level !== "none")] },
      { name: "max", kind: "text", max: 40, time: { kind: "length" } },
    ],
    async locate(_given, call, verbs) {
      verbs.require("putDirectModeration", call, here(call));
      return await known("getDirectModeration", call, verbs);
    },
    input: changedRules,
    show: (view: DirectView, { t }) => ({ content: rulesText(view, t) }),
  },
  {
    command,
    path: "direct show",
    operation: "getDirectModeration",
    input: (_given, call) => ({ params: here(call) }),
    show: (view: DirectView, { t }) => ({ content: rulesText(view, t) }),
  },
  {
    command,
    path: "reasons list",
    operation: "getReasonTemplates",
    input: (_given, call) => ({ params: here(call) }),
    show: (view: ReasonsView, { t }) => ({ content: reasonsText(view, t) }),
  },
  {
    command,
    path: "reasons add",
    operation: "putReasonTemplates",
    options: [reasonName],
    form: [{ name: "text", kind: "paragraph", required: true, min: 10, max: 1000 }],
    locate: (_given, call, verbs) => known("getReasonTemplates", call, verbs),
    input(given, call) {
      const { reasons = [], revision } = knownIn(given) as Partial<ReasonsView>;
      const added = { name: textIn(given, "name") ?? "", text: textIn(given, "text") ?? "" };
      return { params: here(call), body: { reasons: [...reasons.filter(({ name }) => name !== added.name), added] }, revision };
    },
    show: (view: ReasonsView, { t }) => ({ content: reasonsText(view, t) }),
  },
  {
    command,
    path: "reasons remove",
    operation: "putReasonTemplates",
    options: [{ ...reasonName, completes: "reason-name" }],
    locate: (_given, call, verbs) => known("getReasonTemplates", call, verbs),
    input(given, call) {
      const { reasons = [], revision } = knownIn(given) as Partial<ReasonsView>;
      return { params: here(call), body: { reasons: reasons.filter(({ name }) => name !== textIn(given, "name")) }, revision };
    },
    show: (view: ReasonsView, { t }) => ({ content: reasonsText(view, t) }),
  },
];

/** The names of the reason templates of the server. */
export const reasonNames: SourceSpec = {
  operation: "getReasonTemplates",
  input: () => ({}),
  read: async (_given, call, verbs) => (await readView<ReasonsView>(verbs, "getReasonTemplates", call, { params: here(call) })).reasons,
  choice: ({ name }: ReasonTemplate) => ({ name, value: name }),
  keeps: ({ name }: ReasonTemplate, typed) => holds(typed.trim(), name),
};
