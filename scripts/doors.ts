import { readFileSync, writeFileSync } from "node:fs";
import { fileURLToPath } from "node:url";
import { commandTable, routeTable } from "../src/features.ts";
import { doorsOf, doorsPage, flawsOf } from "../src/commands/doors.ts";

/**
 * Makes `docs/doors.md` anew from the code: what can be done over HTTP, and by which command in Discord.
 * `--check` changes nothing and ends with 1 when the page is not up to date.
 */
const path = fileURLToPath(new URL("../docs/doors.md", import.meta.url));
const doors = doorsOf(commandTable(), routeTable());
for (const flaw of flawsOf(commandTable(), doors)) process.stderr.write(`${flaw}\n`);
const made = doorsPage(doors);

if (!process.argv.includes("--check")) writeFileSync(path, made);
else if (readFileSync(path, "utf8") !== made) {
  process.stderr.write("docs/doors.md is not up to date: npm run -s doors\n");
  process.exitCode = 1;
}
