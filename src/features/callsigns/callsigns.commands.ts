import { choiceLimit, keyed } from "../../commands/sources.ts";
import { cut, codeText, lineText, momentOf, showView } from "../../commands/show.ts";
import { repairSources, repairEntries } from "./repair/repair.commands.ts";
import type { CommandSet, Entry, FieldSpec, CommandInput, OptionSpec, PickSpec, Wording } from "../../commands/entry.ts";
import { escapeText } from "../../discord/replies.ts";
import type { NextView, SlotView } from "./callsigns.schema.ts";
import type { PoolView } from "./pools/pools.schema.ts";
import type { VerbInput } from "../../commands/verbs.ts";
import { picked, textIn } from "../../commands/input.ts";

const command = "callsign";
const callsign: OptionSpec = { name: "callsign", kind: "text", required: true, completes: "callsign", max: 100 };
const pool: OptionSpec = { name: "pool", kind: "text", completes: "pool", max: 50 };
const person: OptionSpec = { name: "user", kind: "user" };
const reason: OptionSpec = { name: "reason", kind: "text", min: 3 };
const fill: OptionSpec = { name: "fill", kind: "text" };
const numbers: OptionSpec = { name: "numbers", kind: "text", required: true, max: 1000 };
const whyForm: readonly FieldSpec[] = [{ name: "reason", kind: "paragraph", required: true, min: 3 }];
/** A part of a list of numbers: one of them, or from one to another. */
const span = /^(\d{1,6})(?:-(\d{1,6}))?$/;
const maxOfSpan = 100;

const userOf = (given: CommandInput) => ({ user_id: textIn(given, "user") });
const at = (given: CommandInput): VerbInput => ({
  params: { callsign: textIn(given, "callsign") ?? "" },
  query: { pool: textIn(given, "pool") },
});
const numbersOf = (given: CommandInput) => ({ ...picked(given, "pool", "reason"), numbers: numbersIn(textIn(given, "numbers") ?? "") });

/** `13, 20-22` as numbers; what is none is handed on, so that the refusal names it. */
function numbersIn(text: string): (number | string)[] {
  return text
    .split(/[\s,;]+/)
    .filter((part) => part !== "")
    .flatMap((part): (number | string)[] => {
      const [, first, last = first] = span.exec(part) ?? [];
      if (first === undefined) return [part];
      const count = Number(last) - Number(first) + 1;
      // One more than may be named at once: the route says so.
      return count < 1 ? [part] : Array.from({ length: Math.min(count, maxOfSpan + 1) }, (_, index) => Number(first) + index);
    });
}

const opensSlot: PickSpec = {
  press: { name: "cc", carries: [callsign, pool] },
  placeholder: "callsign pick",
  of: ({ callsign: name, user }: SlotView) => ({ value: name, label: [name, user?.display_name].filter(Boolean).join(" · ") }),
};
const opensPool: PickSpec = {
  press: { name: "cp", carries: [{ name: "pool", kind: "text" }] },
  placeholder: "callsign pool pick",
  of: ({ key, name }: PoolView) => ({ value: key, label: name }),
};

/** A callsign as one line: who has it, since when. */
function slotLine({ callsign: name, state, user, pool: of, since, until }: SlotView, { t }: Wording): string {
  const facts = [
    t(`= ${state}`),
    user === null ? undefined : `<@${user.id}>`,
    of === null ? undefined : codeText(of),
    since === null ? undefined : t("callsign since", { at: momentOf(since, "R") }),
    until === null ? undefined : t("say until", { at: momentOf(until, "R") }),
  ];
  return [`**${escapeText(name)}**`, ...facts.filter((fact) => fact !== undefined)].join(" · ");
}

/** A pool as one line: how its callsigns look, and how many are left. */
function poolLine({ key, name, department, template, counts }: PoolView, { t }: Wording): string {
  const facts = [
    department === null ? undefined : lineText(department),
    escapeText(template),
    t("callsign pool counts", { assigned: counts.assigned, free: counts.free, capacity: counts.capacity }),
  ];
  return [`**${lineText(name)}** (${codeText(key)})`, ...facts.filter((fact) => fact !== undefined)].join(" · ");
}

/** The number that somebody gets, with why others were passed over. */
const showNext: Entry["show"] = (view: NextView, { t }: Wording) =>
  showView({ ...view, skipped: view.skipped.map(({ number, reason }) => `${number.toString()} (${t(`= ${reason}`)})`) }, t);

/** `/callsign`: numbers of pools, and who has them. */
const callsignEntries: readonly Entry[] = [
  {
    command,
    path: "next",
    operation: "nextCallsign",
    options: [person, pool, fill],
    input: (given) => ({ body: { ...picked(given, "pool", "fill"), ...userOf(given) } }),
    show: showNext,
  },
  {
    command,
    path: "preview",
    operation: "lookUpNextCallsign",
    options: [person, pool, fill],
    input: (given) => ({ query: { pool: textIn(given, "pool"), fill: textIn(given, "fill"), ...userOf(given) } }),
    show: showNext,
  },
  {
    command,
    path: "reserve",
    operation: "nextCallsign",
    options: [pool, person],
    input: (given) => ({ body: { ...picked(given, "pool"), ...userOf(given), mode: "reserve" } }),
    show: showNext,
  },
  { command, path: "show", operation: "getCallsign", options: [callsign, pool], input: at, press: opensSlot.press },
  {
    command,
    path: "list",
    operation: "listCallsigns",
    options: [pool, person, { name: "state", kind: "text" }],
    input: (given) => ({ query: { pool: textIn(given, "pool"), state: textIn(given, "state"), ...userOf(given) } }),
    line: slotLine,
    picks: [opensSlot],
  },
  {
    command,
    path: "release",
    operation: "releaseCallsign",
    options: [callsign, pool, reason, { name: "rest-days", kind: "integer" }],
    form: whyForm,
    input: (given) => ({ ...at(given), body: picked(given, "reason", "rest-days") }),
  },
  {
    command,
    path: "transfer",
    operation: "transferCallsign",
    options: [callsign, { ...person, required: true }, pool, reason],
    form: whyForm,
    input: (given) => ({ ...at(given), body: { ...picked(given, "reason"), ...userOf(given) } }),
  },
  {
    command,
    path: "retire",
    operation: "retireCallsign",
    options: [callsign, pool, reason],
    form: whyForm,
    input: (given) => ({ ...at(given), body: picked(given, "reason") }),
  },
  {
    command,
    path: "unretire",
    operation: "unretireCallsign",
    options: [callsign, pool, reason],
    form: whyForm,
    input: (given) => ({ ...at(given), body: picked(given, "reason") }),
  },
  {
    command,
    path: "block",
    operation: "blockCallsigns",
    options: [{ ...pool, required: true }, numbers, reason],
    form: whyForm,
    input: (given) => ({ body: numbersOf(given) }),
  },
  {
    command,
    path: "unblock",
    operation: "unblockCallsigns",
    options: [{ ...pool, required: true }, numbers, reason],
    form: whyForm,
    input: (given) => ({ body: numbersOf(given) }),
  },
  { command, path: "pools", operation: "listCallsignPools", input: () => ({}), line: poolLine, picks: [opensPool] },
  {
    command,
    path: "pool",
    operation: "getCallsignPool",
    options: [{ ...pool, required: true }],
    input: (given) => ({ params: { key: textIn(given, "pool") ?? "" } }),
    press: opensPool.press,
  },
  ...repairEntries,
];

/** What Discord offers of callsigns. */
export const callsignCommands: CommandSet = {
  entries: callsignEntries,
  sources: {
    ...repairSources,
    callsign: {
      operation: "listCallsigns",
      input: (typed) => ({ query: { limit: choiceLimit, q: typed === "" ? undefined : typed } }),
      choice: ({ callsign }: { callsign: string }) => ({ name: cut(callsign, 100), value: callsign }),
    },
    pool: keyed("listCallsignPools"),
  },
};
