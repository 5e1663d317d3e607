import { onStop } from "../../src/signals.ts";
import { createStage, type Stage } from "./stage.ts";
import { steps } from "./steps.ts";

/**
 * Play the main job against a local Discord.
 * @param argv `--once` ends afterwards, `--keep` stays up even then, `--members <n>` makes the first guild bigger
 * @returns the exit code: 1 when any answer was not the expected one
 */
export async function run(argv: readonly string[]): Promise<number> {
  const at = argv.indexOf("--members");
  const stopping = new AbortController();
  const stopped = new Promise<void>((resolve) => stopping.signal.addEventListener("abort", () => resolve()));
  // From the beginning, so that nothing is left behind whenever somebody ends it.
  onStop(() => stopping.abort());
  const stage = await createStage(say, at < 0 ? 0 : Number(argv[at + 1]));
  try {
    await Promise.race([play(stage, stopping.signal), stopped]);
    if (stopping.signal.aborted) throw new Error("it was told to stop before its end.");
    if (!argv.includes("--once") || argv.includes("--keep")) {
      invite(stage);
      await stopped;
    }
    return 0;
  } catch (error) {
    say(`\nThe demo failed: ${error instanceof Error ? error.message : String(error)}`);
    return 1;
  } finally {
    await stage.close();
  }
}

async function play(stage: Stage, stopping: AbortSignal): Promise<void> {
  say("A local sandbox stands in for Discord; nothing leaves this machine.");
  const started = performance.now();
  for (const [index, step] of steps.entries()) {
    if (stopping.aborted) return;
    say(`\n${(index + 1).toString().padStart(2)}. ${step.title}`);
    await step.play(stage);
  }
  stage.check("Discord was asked for nothing the sandbox does not know", stage.sandbox.unhandled.length === 0);
  say(`\nAll ${steps.length.toString()} steps as expected, in ${((performance.now() - started) / 1000).toFixed(1)} s.`);
}

/** What there is to try while the service stays up. */
function invite({ url, key, sandbox }: Stage): void {
  const { olivia, adam, mona, rogue } = sandbox.seeded.users;
  const { harbour, quarry } = sandbox.seeded.guilds;
  const person = sandbox.seeded.residents.at(-1);
  const json = "-H 'Content-Type: application/json'";
  const auth = `-H 'Authorization: Bearer ${key}'`;
  say(`
The service is up until you press Ctrl-C.
  health         ${url}/health
  documentation  ${url}/docs
  OpenAPI        ${url}/openapi.json
  control room   ${sandbox.controlRoom}?guild=${harbour.id}&as=${olivia.id}
  key            ${key}
For the lines of docs/clients.md: an owner (Olivia), an administrator (Adam), and somebody who is not staff
  export PROVOST=${url} KEY=${key} ME=${olivia.id} SECOND=${adam.id} PERSON=${person?.id ?? rogue.id}
Try:
  curl -s ${auth} ${url}/staff
  curl -s ${auth} ${url}/staff/${mona.id}/access
  curl -s ${auth} ${json} ${url}/blacklist/check -d '{"server_ids":["${quarry.id}"]}'
  curl -s ${auth} -H 'X-Acting-User: ${olivia.id}' ${json} -X POST ${url}/workflows/investigation \\
    -d '{"subject":{"kind":"user","id":"${rogue.id}"},"allegation":"Sends invites to other members."}'`);
}

function say(line: string): void {
  process.stdout.write(`${line}\n`);
}
