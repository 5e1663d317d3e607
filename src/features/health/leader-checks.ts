import { say } from "../../kit/say.ts";
import type { Core } from "../../core.ts";
import { waitAtMost } from "../../kernel/pause.ts";
import type { createChecks } from "./checks.ts";
import type { CheckView } from "./health.schema.ts";
import { makeCheck } from "./health.service.ts";

type Checks = ReturnType<typeof createChecks>;
/** What the process that is connected to Discord does, and so knows. */
const names = [
  "audit_checkpoints",
  "review_cards",
  "jobs",
  "discord_gateway",
  "guild_state",
  "discord_permissions",
] as const satisfies (keyof Checks)[];
type Name = (typeof names)[number];

/** How long an answer counts, how long a check waits for a new one, and how long an unanswered question means that nobody leads. */
const [patienceMs, freshMs, answerMs, silentMs] = [2000, 5000, 1500, 30_000];

/**
 * The checks as they are made here; elsewhere than at the process that leads with what that one said of its own last. Only where that was long
 * ago, as nobody has asked since, a check waits for an answer before it judges.
 */
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
  /** Of the first question after the last answer. */
  let askedAt: number | undefined;

  async function askAgain(): Promise<void> {
    askedAt ??= performance.now();
    try {
      heard = { checks: await ask(null), at: performance.now() };
      askedAt = undefined;
    } catch {
      // That nobody answers shows by how long ago it was asked.
    } finally {
      asking = undefined;
    }
  }

  const ageMs = (): number => (heard === undefined ? Infinity : performance.now() - heard.at);
  const silenceMs = (): number => (askedAt === undefined ? 0 : performance.now() - askedAt);

  async function heardOf(name: Name): Promise<CheckView> {
    if (ageMs() > freshMs) asking ??= askAgain();
    if (ageMs() > silentMs && silenceMs() < answerMs) await waitAtMost(answerMs - silenceMs(), asking);
    if (heard !== undefined && ageMs() <= silentMs) return heard.checks[name];
    if (silenceMs() <= silentMs) return { status: "warn", reason: say("health.the-process-that-is-connected-to-discord") };
    const age_seconds = Math.round((heard === undefined ? silenceMs() : ageMs()) / 1000);
    return {
      status: "fail",
      reason: say("health.no-process-says-that-it-is-connected", { seconds: age_seconds }),
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
