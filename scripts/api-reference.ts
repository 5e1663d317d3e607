import { existsSync, mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { fileURLToPath } from "node:url";
import { gzipSync } from "node:zlib";

/**
 * Writes the script of the page `/docs` (`src/generated/api-reference.js.gz`), which Scalar publishes ready for browsers. Of the packages that
 * hold it the one for Fastify brings the fewest others: 16 and 24 MB, where Scalar's own brings 284 and 311 MB. It is a plugin that serves the
 * script, so it is asked for that route.
 */
const folder = new URL("../src/generated/", import.meta.url);
const file = fileURLToPath(new URL("api-reference.js.gz", folder));

/** Scalar's zod tries out whether it may compile code, which the policy of the page forbids: told beforehand, it does not try. */
const prelude = "globalThis.__zod_globalConfig={jitless:true};";

interface Reply {
  header(): Reply;
  send(body: string): void;
}
type Route = (route: { url: string; handler: (request: object, reply: Reply) => void }) => void;
type Plugin = (fastify: { route: Route }, options: object, done: () => void) => void;

async function readScript(): Promise<string> {
  const { default: plugin }: { default: Plugin } = await import("@scalar/fastify-api-reference");
  const scripts: string[] = [];
  const reply: Reply = { header: () => reply, send: (body) => void scripts.push(body) };
  const route: Route = ({ url, handler }) => void (url.endsWith(".js") && handler({}, reply));
  plugin({ route }, { configuration: { url: "/openapi.json" } }, () => undefined);
  const [script] = scripts;
  if (script === undefined) throw new Error(`@scalar/fastify-api-reference has no route for a script any more`);
  // The map it names is not served.
  return prelude + script.replace(/\n\/\/# sourceMappingURL=.*$/, "\n");
}

export async function writeApiReference(): Promise<void> {
  const zipped = gzipSync(await readScript(), { level: 9 });
  // A build is older than its sources once one of them is written again.
  if (existsSync(file) && readFileSync(file).equals(zipped)) return;
  mkdirSync(folder, { recursive: true });
  writeFileSync(file, zipped);
  console.log("api-reference: wrote the script of /docs");
}
