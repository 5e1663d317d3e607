// @module-tag postgres
// @module-tag slow
import { setTimeout as delay } from "node:timers/promises";
import { describe, expect, inject, onTestFinished, test } from "vitest";
import { createCluster, eventually, type Node } from "./cluster.ts";

/** How the audit log of a server cannot be read. */
const faults = {
  "is refused by a broken Discord": { status: 503 },
  "is not there": { status: 404 },
  "is never answered": { hang: true },
} as const;

const unreadable = { route: "GET /guilds/{guild.id}/audit-logs", times: Infinity } as const;

async function createTwo(fault: object) {
  const cluster = await createCluster({
    nodes: 2,
    prepare: async ({ sandbox }) => void sandbox.faults.rest({ ...unreadable, ...fault }),
    onEnd: onTestFinished,
  });
  const leader = await cluster.leader();
  const follower = cluster.nodes.find((node) => node !== leader)!;
  // It has tried, and tries again from now on.
  await eventually(async () => leader.printed().includes("it is tried again") || ("hang" in fault && (await delay(2000, true))));
  return { cluster, leader, follower };
}

const expectNoStall = (...nodes: Node[]): void => nodes.forEach((node) => expect(node.printed()).not.toContain("stood still"));

describe.runIf(inject("dialect") === "postgres")("a leader while the audit log of a server", () => {
  test.each(Object.entries(faults))("%s ends by SIGTERM within ten seconds, and another leads", async (_, fault) => {
    const { cluster, leader, follower } = await createTwo(fault);
    const began = performance.now();
    const ended = leader.stop("SIGTERM");
    expect(await cluster.leader(leader)).toBe(follower);
    const ledAfter = performance.now() - began;
    expect(await ended, leader.printed()).toBe(0);
    const endedAfter = performance.now() - began;
    process.stdout.write(
      `the next one leads after ${ledAfter.toFixed(0)} ms, the one before has ended after ${endedAfter.toFixed(0)} ms\n`,
    );
    expect(ledAfter).toBeLessThan(8000);
    expect(endedAfter).toBeLessThan(10_000);
    expectNoStall(leader, follower);
  });

  test.each(Object.entries(faults))("%s goes on as a follower when another one leads", async (_, fault) => {
    const { cluster, leader, follower } = await createTwo(fault);
    leader.proxy.split(["lock"]);
    expect(await cluster.leader(leader)).toBe(follower);
    leader.proxy.heal(["lock"]);
    await eventually(async () => leader.isRunning() && (await leader.isReady()));
    // Only an app that was made anew asks for the lock again.
    follower.proxy.split(["lock"]);
    expect(await cluster.leader(follower)).toBe(leader);
    expectNoStall(leader, follower);
  });
});

describe.runIf(inject("dialect") === "postgres")("the health of a process that follows another", () => {
  test("is well when it is asked for the first time, and again after nobody has asked for longer than an answer counts", async () => {
    const cluster = await createCluster({ nodes: 2, prepare: async () => undefined, onEnd: onTestFinished });
    const leader = await cluster.leader();
    const follower = cluster.nodes.find((node) => node !== leader)!;
    const ofLeader = ["audit_checkpoints", "review_cards", "jobs", "discord_gateway", "guild_state"];
    const statuses = async (node: Node) => {
      const { body } = await node.ask("GET", "/health");
      const checks = body.checks as Record<string, { status: string; reason?: string }>;
      return ofLeader.map((name) => [name, checks[name]!.status, checks[name]!.reason]);
    };
    await eventually(async () => (await statuses(leader)).every(([, status]) => status === "pass"), 60_000);
    expect((await statuses(follower)).filter(([, status]) => status === "fail")).toEqual([]);
    await eventually(async () => (await statuses(follower)).every(([, status]) => status === "pass"));
    await delay(32_000);
    expect((await statuses(follower)).filter(([, status]) => status === "fail")).toEqual([]);
    await eventually(async () => (await statuses(follower)).every(([, status]) => status === "pass"));
  });
});
