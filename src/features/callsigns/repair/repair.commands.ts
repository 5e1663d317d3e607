import { inJson } from "../../../kit/say.ts";
import type { SourceSpec, Entry, OptionSpec, PressSpec, Reply, Wording } from "../../../commands/entry.ts";
import { choiceLimit, minuteOf } from "../../../commands/sources.ts";
import { escapeText } from "../../../discord/replies.ts";
import { sentenceText } from "../../../discord/sentence.ts";
import { repairCodes, type RepairRecordView, type RepairView } from "./repair.schema.ts";
import { textIn } from "../../../commands/input.ts";
import { pressButton } from "../../../commands/press.ts";
import { cut, enumLabel, momentOf, valueOf } from "../../../commands/show.ts";

const command = "callsign";
const shownSteps = 15;
const maxLength = 4000;
const pool: OptionSpec = { name: "pool", kind: "text", completes: "pool" };
const fix: OptionSpec = { name: "fix", kind: "text", choices: repairCodes };
const plan: OptionSpec = { name: "plan", kind: "text", min: 64, max: 64 };
const repair: OptionSpec = { name: "repair", kind: "text", required: true, completes: "repair", max: 64 };
const applying: PressSpec = { name: "cr", carries: [plan, pool, fix] };
const undoing: PressSpec = { name: "cu", carries: [repair] };

/** What is damaged and what is planned, with a button that carries out this very plan; or what was done, with a button to take it back. */
function showRepair(view: RepairView, { t, given }: Wording): Reply {
  const steps = view.plan.slice(0, shownSteps).map(({ position, detail, user_id: user }) => {
    const who = user === null ? "" : ` (${valueOf({ discord_user_id: user })})`;
    return `${position.toString()}. ${sentenceText(detail, t)}${who}`;
  });
  const unfixable = view.unfixable.slice(0, shownSteps).map(({ detail, why }) => `• ${sentenceText(`${detail} ${why}`, t)}`);
  const refused = view.nicknames
    .filter(({ applied }) => !applied)
    .map(({ user_id: user, reason }) => `• ${valueOf({ discord_user_id: user })}: ${sentenceText(reason ?? "–", t)}`);
  const parts = [
    ...(steps.length === 0 ? [] : [t("callsign repair steps"), ...steps]),
    ...(unfixable.length === 0 ? [] : [t("callsign repair unfixable"), ...unfixable]),
    ...(view.dry_run || refused.length === 0 ? [] : [t("callsign repair nicknames"), ...refused.slice(0, shownSteps)]),
  ];
  const components = pressesOf(view, { pool: textIn(given, "pool"), fix: textIn(given, "fix") }, t);
  return {
    content: headOf(view, t),
    embeds: parts.length === 0 ? [] : [{ description: cut(parts.join("\n"), maxLength) }],
    components: components.length === 0 ? [] : [{ type: 1, components }],
    files: view.findings.length === 0 ? [] : [{ name: "repair.json", content: inJson(view, 2) }],
  };
}

function headOf(view: RepairView, t: Wording["t"]): string {
  const counted = Object.entries(view.summary).map(([code, count]) => `${enumLabel(code, t)}: ${count.toString()}`);
  if (!view.dry_run) return t("callsign repair applied", { applied: view.applied, steps: view.plan.length });
  if (view.findings.length === 0) return t("callsign repair sound");
  return t("callsign repair found", { found: view.findings.length + view.left_off.findings, counted: counted.join(", ") });
}

function pressesOf(view: RepairView, scope: { pool: string | undefined; fix: string | undefined }, t: Wording["t"]) {
  if (view.undo_token !== null) return [pressButton(undoing, { repair: view.undo_token }, t("button undo"))];
  if (!view.dry_run || view.plan.length === 0) return [];
  return [pressButton(applying, { ...scope, plan: view.plan_hash }, t("button apply"), "grave")];
}

/** Repairs of the registry of callsigns. */
export const repairEntries: readonly Entry[] = [
  {
    command,
    path: "repair",
    operation: "repairCallsigns",
    options: [pool, fix, plan],
    press: applying,
    input: (given) => {
      const [only, planHash] = [textIn(given, "fix"), textIn(given, "plan")];
      const carryOut = planHash === undefined ? {} : { dry_run: false, plan_hash: planHash };
      return { body: { pool: textIn(given, "pool"), fix: only === undefined ? undefined : [only], ...carryOut } };
    },
    show: showRepair,
  },
  {
    command,
    path: "undo",
    operation: "undoCallsignRepair",
    options: [repair, { name: "reason", kind: "text" }],
    form: [{ name: "reason", kind: "paragraph", required: true }],
    press: undoing,
    input: (given) => ({ params: { id: textIn(given, "repair") ?? "" }, body: { reason: textIn(given, "reason") } }),
  },
  {
    command,
    path: "repairs",
    operation: "listCallsignRepairs",
    input: () => ({}),
    line: ({ id, pool: of, at, actor_id: by, counts, undone_at: undone }: RepairRecordView, { t }) =>
      t(undone === null ? "callsign repairs line" : "callsign repairs undone", {
        at: momentOf(at),
        pool: of === null ? t("callsign repairs all") : escapeText(of),
        by: by === null ? "–" : `<@${by}>`,
        steps: Object.values(counts).reduce((sum, count) => sum + count, 0),
        id,
      }),
    picks: [
      {
        press: undoing,
        placeholder: "callsign repairs pick",
        of: ({ id, pool: of, at, undone_at: undone }: RepairRecordView, { t }) =>
          undone !== null
            ? undefined
            : { value: id, label: `${at.slice(0, 16).replace("T", " ")} UTC · ${of ?? t("callsign repairs all")}` },
      },
    ],
  },
];

/** What options about repairs are completed from. */
export const repairSources: Readonly<Record<string, SourceSpec>> = {
  repair: {
    operation: "listCallsignRepairs",
    input: () => ({ query: { limit: choiceLimit } }),
    choice: ({ id, pool, at }: { id: string; pool: string | null; at: string }) => ({
      name: cut([minuteOf(at), ...(pool === null ? [] : [pool])].join(" · "), 100),
      value: id,
    }),
  },
};
