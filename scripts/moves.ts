import { readFileSync, writeFileSync } from "node:fs";
import { fileURLToPath } from "node:url";
import { defaultPolicy } from "../src/features/workflows/policies/policies.ts";
import { actions, moves } from "../src/features/workflows/state/table.ts";
import { workflowKinds } from "../src/kernel/vocabulary.ts";

/**
 * Makes the tables of `docs/workflows.md` between their markers anew from the code; everything else on the page stays.
 * `--check` changes nothing and ends with 1 when the page is not up to date.
 */
const path = fileURLToPath(new URL("../docs/workflows.md", import.meta.url));
const code = (text: string): string => `\`${text}\``;

/** A table as the formatter writes it. */
function tableOf(head: readonly string[], rows: readonly (readonly string[])[]): string {
  const widths = head.map((_, column) => Math.max(...[head, ...rows].map((row) => (row[column] ?? "").length)));
  const line = (row: readonly string[]): string => `| ${row.map((cell, column) => cell.padEnd(widths[column] ?? 0)).join(" | ")} |`;
  return [line(head), line(widths.map((width) => "-".repeat(width))), ...rows.map(line)].join("\n");
}

function movesTable(): string {
  const rows = actions.map((action) => {
    const { from, to, permission, isRequesters = false } = moves[action];
    const who = [...(permission === null ? [] : [code(permission)]), ...(isRequesters ? ["the requester"] : [])];
    return [code(action), from.join(", "), to, who.join(" or ")];
  });
  return tableOf(["Action", "From", "To", "Who"], rows);
}

function lengthOf(seconds: number): string {
  if (seconds === 0) return "none";
  return seconds % 86_400 === 0 && seconds > 86_400 ? `${(seconds / 86_400).toString()} d` : `${(seconds / 3600).toString()} h`;
}

function kindsTable(): string {
  const rows = workflowKinds.map((type) => {
    const { prefix, approvals, approvals_grave: grave, reversals, ...policy } = defaultPolicy(type);
    const needed = approvals === grave ? approvals.toString() : `${approvals.toString()}, grave ${grave.toString()}`;
    const clocks = [policy.first_touch_seconds, policy.decision_seconds, policy.expiry_seconds, policy.cool_down_seconds];
    return [code(type), code(prefix), needed, reversals.toString(), ...clocks.map(lengthOf)];
  });
  return tableOf(["Kind", "Prefix", "Approvals", "Reversals", "First look", "Decision", "Expiry", "Cool-down"], rows);
}

/** The page with another table between two markers. */
function withTable(page: string, name: string, table: string): string {
  const place = new RegExp(`(<!-- ${name} -->\n)[^]*?(<!-- /${name} -->)`);
  if (!place.test(page)) throw new Error(`docs/workflows.md has no markers "${name}"`);
  return page.replace(place, (_whole, before: string, after: string) => `${before}\n${table}\n\n${after}`);
}

const page = readFileSync(path, "utf8");
const made = withTable(withTable(page, "kinds", kindsTable()), "moves", movesTable());

if (!process.argv.includes("--check")) writeFileSync(path, made);
else if (made !== page) {
  process.stderr.write("docs/workflows.md is not up to date: npx tsx scripts/moves.ts\n");
  process.exitCode = 1;
}
