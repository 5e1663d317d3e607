import { createStage, type Stage } from "./stage.ts";
import { steps } from "./steps.ts";

/**
 * Play the main job against a local Discord.
 * @param argv `--once` ends afterwards, `--keep` stays up even then, `--members <n>` makes the first guild bigger
 * @returns the exit code: 1 when any answer was not the expected one
 */
export async function run(argv: readonly string[]): Promise<number> {
  const at = argv.indexOf("--members");
  const stage = await createStage(say, at < 0 ? 0 : Number(argv[at + 1]));
  try {
    await play(stage);
    if (!argv.includes("--once") || argv.includes("--keep")) await stayUp(stage);
    return 0;
  } catch (error) {
    say(`\nThe demo failed: ${error instanceof Error ? error.message : String(error)}`);
    return 1;
  } finally {
    await stage.close();
  }
}

async function play(stage: Stage): Promise<void> {
  say("A local sandbox stands in for Discord; nothing leaves this machine.");
  const started = performance.now();
  for (const [index, step] of steps.entries()) {
    say(`\n${(index + 1).toString().padStart(2)}. ${step.title}`);
    await step.play(stage);
  }
  stage.check("Discord was asked for nothing the sandbox does not know", stage.sandbox.unhandled.length === 0);
  say(`\nAll ${steps.length.toString()} steps as expected, in ${((performance.now() - started) / 1000).toFixed(1)} s.`);
}

async function stayUp({ url, key, sandbox }: Stage): Promise<void> {
  const { olivia, mona, rogue } = sandbox.seeded.users;
  const { harbour } = sandbox.seeded.guilds;
  const auth = `-H 'Authorization: Bearer ${key}'`;
  say(`
The service is up until you press Ctrl-C.
  health         ${url}/health
  OpenAPI        ${url}/openapi.json
  control room   ${sandbox.controlRoom}?guild=${harbour.id}&as=${olivia.id}
  key            ${key}
Try:
  curl -s ${auth} ${url}/staff
  curl -s ${auth} ${url}/staff/${mona.id}/access
  curl -s ${auth} '${url}/users/${rogue.id}/matches'
  curl -s ${auth} -H 'X-Acting-User: ${olivia.id}' -H 'Content-Type: application/json' -X POST ${url}/workflows/investigation \\
    -d '{"subject":{"kind":"user","id":"${rogue.id}"},"allegation":"Sends invites to other members."}'`);
  await new Promise<void>((resolve) => {
    process.once("SIGINT", () => resolve());
    process.once("SIGTERM", () => resolve());
  });
}

function say(line: string): void {
  process.stdout.write(`${line}\n`);
}
