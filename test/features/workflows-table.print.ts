import { describeCell } from "./workflows-table.pure.ts";
import { actionNames, expected, roles, statusNames, wordOf } from "./workflows-table.ts";

/**
 * The whole table as the code has it, role by role, in Markdown: where each action leads, or the code it is refused with. A cell that is
 * not as it was written by hand ends in `(≠ …)`.
 */
export function printTable(): string {
  return roles
    .map((role) => {
      const rows = actionNames.map((action) => {
        const cells = statusNames.map((status) => {
          const found = wordOf(describeCell(role, action, status));
          const written = wordOf(expected(role, action, status));
          return found === written ? found : `${found} (≠ ${written})`;
        });
        return `| \`${action}\` | ${cells.join(" | ")} |`;
      });
      const head = `| ${role} | ${statusNames.join(" | ")} |\n|${"---|".repeat(statusNames.length + 1)}`;
      return [head, ...rows].join("\n");
    })
    .join("\n\n");
}

if (process.argv[1]?.endsWith("workflows-table.print.ts") === true) process.stdout.write(`${printTable()}\n`);
