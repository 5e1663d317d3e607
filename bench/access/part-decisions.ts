import { median } from "../benchmark.ts";
import { ask } from "../processes.ts";
import type { DecisionRates } from "./decisions.ts";
import type { Findings, Setting } from "./part.ts";

const checkedDecisions = 200_000;

/** Decisions with their reasons beside those of the naive model, after both were seen to decide the same. */
export async function measureDecisions({ service, options: { seconds, rounds, progress } }: Setting): Promise<Findings> {
  const checked = await ask<number>(service.child, "checkDecisions", checkedDecisions);
  progress(`${checked} decisions are those of the naive model, with their reasons`);
  const rates = await ask<DecisionRates>(service.child, "measureDecisions", { seconds: Math.min(1, seconds), rounds });
  const row = (name: string, perSecond: readonly number[], base: readonly number[]): string[] => [
    name,
    "million/CPU s",
    (median(perSecond) / 1e6).toFixed(2),
    "",
    `ratio ${median(perSecond.map((rate, round) => rate / (base[round] ?? Number.NaN))).toFixed(2)}`,
  ];
  return {
    rows: [
      row("decisions, whole catalog of 10,000 staff", rates.ours, rates.naive),
      row("  by sets of role keys", rates.naive, rates.naive),
      row("decisions, any permission of anybody", rates.oursAtRandom, rates.naiveAtRandom),
      row("  by sets of role keys", rates.naiveAtRandom, rates.naiveAtRandom),
    ],
    goals: [
      {
        text: "million decisions a second, the whole catalog of 10,000 staff, reasons read",
        wanted: 5,
        measured: median(rates.ours) / 1e6,
      },
    ],
  };
}
