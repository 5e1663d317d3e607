import { readFileSync, writeFileSync } from "node:fs";
import { fileURLToPath } from "node:url";
import { tableOf } from "../src/commands/doors.ts";
import { defaultPolicy } from "../src/features/workflows/policies/policies.ts";
import { actions, moves } from "../src/features/workflows/state/table.ts";
import { workflowKinds } from "../src/kernel/vocabulary.ts";

const path = fileURLToPath(new URL("../docs/workflows.md", import.meta.url));
const code = (text: string): string => `\`${text}\``;

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

/** The tables of `docs/workflows.md` between their markers come from the code; everything else on the page stays. */
export function writeWorkflowsPage(): void {
  const page = readFileSync(path, "utf8");
  writeFileSync(path, withTable(withTable(page, "kinds", kindsTable()), "moves", movesTable()));
}
