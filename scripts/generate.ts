import { execFileSync } from "node:child_process";
import { writeFileSync } from "node:fs";
import { fileURLToPath } from "node:url";
import { doorsOf, doorsPage, flawsOf } from "../src/commands/doors.ts";
import { commandTable, routeTable } from "../src/features.ts";
import { writeApiReference } from "./api-reference.ts";
import { writeClientTypes } from "./client-types.ts";
import { writeWorkflowsPage } from "./moves.ts";
import { writePermissionsPage } from "./policy.ts";
import { writeTextTypes } from "./text-types.ts";

/**
 * Writes what comes from the code beside Prisma's clients: the script of `/docs`, the types of the client and of texts, and tables of the documents.
 * `pictures` takes those of the pages again, in Chromium, and `gallery` plays the community whose texts are in `docs/gallery`.
 */
const root = fileURLToPath(new URL("..", import.meta.url));
const more = process.argv.slice(2);
const unknown = more.filter((name) => !["pictures", "gallery"].includes(name));
if (unknown.length > 0) throw new Error(`${unknown.join(", ")}: only pictures and gallery can be named`);

writeTextTypes();
await writeApiReference();
await writeClientTypes();
writePermissionsPage();
writeWorkflowsPage();
const doors = doorsOf(commandTable(), routeTable());
for (const flaw of flawsOf(commandTable(), doors)) process.stderr.write(`${flaw}\n`);
writeFileSync(`${root}docs/doors.md`, doorsPage(doors));

if (more.includes("pictures")) await import("./pictures.ts");
if (more.includes("gallery")) {
  const vitest = [`${root}node_modules/vitest/vitest.mjs`, "run", "--project", "sqlite", "test/gallery"];
  execFileSync(process.execPath, vitest, { cwd: root, stdio: "inherit", env: { ...process.env, TEST_TIER: "all", GALLERY: "write" } });
}
