import type { Core } from "../../core.ts";
import type { createChecks } from "./checks.ts";
import type { CheckView } from "./health.schema.ts";
import { makeCheck } from "./health.service.ts";

type Checks = ReturnType<typeof createChecks>;
/** What the process that is connected to Discord does, and so knows. */
const names = ["audit_checkpoints", "review_cards", "jobs", "discord_gateway", "guild_state"] as const satisfies (keyof Checks)[];
type Name = (typeof names)[number];

const [patienceMs, freshMs, silentMs] = [2000, 5000, 30_000];

/** The checks as they are made here; elsewhere than at the process that leads with what that one said of its own last. Nobody waits for it. */
export function withLeaderChecks(
  own: Checks,
  { cluster, leader }: Pick<Core, "cluster" | "leader">,
): Record<keyof Checks, () => CheckView | Promise<CheckView>> {
  const ask = leader.answering("health", async () => {
    const made = await Promise.all(names.map(async (name) => [name, await makeCheck(own[name], patienceMs)] as const));
    return Object.fromEntries(made) as Record<Name, CheckView>;
  });
  let heard: { at: number; checks: Record<Name, CheckView> } | undefined;
  let asking: Promise<void> | undefined;

  async function askAgain(): Promise<void> {
    try {
      heard = { checks: await ask(null), at: performance.now() };
    } catch {
      // That nobody answers is told by how long ago it was.
    } finally {
      asking = undefined;
    }
  }

  function heardOf(name: Name): CheckView {
    const age = heard === undefined ? Infinity : performance.now() - heard.at;
    if (age > freshMs) asking ??= askAgain();
    if (heard === undefined) return { status: "warn", reason: "The process that is connected to Discord has not answered this one yet." };
    if (age <= silentMs) return heard.checks[name];
    const age_seconds = Math.round(age / 1000);
    return {
      status: "fail",
      reason: `No process says that it is connected to Discord, for ${age_seconds.toString()} seconds.`,
      age_seconds,
    };
  }

  const led = (name: Name) => (): CheckView | Promise<CheckView> => {
    if (cluster.isLeader()) return own[name]();
    const here = name === "guild_state" ? own.guild_state() : undefined;
    return here === undefined || here.status === "pass" ? heardOf(name) : here;
  };
  return { ...own, ...(Object.fromEntries(names.map((name) => [name, led(name)])) as Record<Name, () => CheckView | Promise<CheckView>>) };
}
