// @module-tag postgres
// @module-tag slow
import { setTimeout as delay } from "node:timers/promises";
import { beforeAll, describe, expect, inject, test } from "vitest";
import { sizeOf } from "../support/size.ts";
import { eventually, type Node } from "./cluster.ts";
import { createGround, expectNoGaps, expectWholeChain, type Ground, isServing } from "./ground.ts";
import { expectCardsOnce, expectEachOnce, expectFirstAnswers, startLoad } from "./load.ts";

const splits = sizeOf({ quick: 1, all: 2, long: 10 });
const loadMs = sizeOf({ quick: 500, all: 1200, long: 10_000 });

const say = (text: string): void => void process.stdout.write(`${text}\n`);

describe.runIf(inject("dialect") === "postgres")("three servers on one PostgreSQL", () => {
  let ground: Ground;
  let nodes: readonly Node[];
  beforeAll(async () => {
    let end = (): Promise<void> => Promise.resolve();
    ground = await createGround({ onEnd: (way) => (end = way) });
    nodes = ground.nodes;
    return () => end();
  });

  test("restarted one after the other under load, they refuse nothing that another does not answer, and retries get the first answer", async () => {
    const load = startLoad(ground);
    await delay(loadMs);
    for (const node of nodes) {
      const wasLeading = (await ground.leader()) === node;
      const began = performance.now();
      const ended = node.stop("SIGTERM");
      if (wasLeading) {
        await ground.leader(node);
        say(`a leader was told to end: the next one leads after ${(performance.now() - began).toFixed(0)} ms`);
        expect(performance.now() - began).toBeLessThan(5000);
      }
      expect(await ended, node.printed()).toBe(0);
      const stopped = performance.now() - began;
      await node.start();
      say(`ended after ${stopped.toFixed(0)} ms, ready again after ${(performance.now() - began).toFixed(0)} ms`);
    }
    await isServing(ground);
    await load.stop();
    await expectEachOnce(ground, load);
    await expectCardsOnce(ground, load, 0);
    await expectFirstAnswers(ground, load, sizeOf({ quick: 30, all: 120, long: 3000 }));
    await expectNoGaps(ground);
    await expectWholeChain(ground);
  });

  /** Which node wrote what only a leader writes, in which epoch, and which node began that epoch: noted by PostgreSQL in the same transaction. */
  async function noteWritesOfLeaders(): Promise<void> {
    await ground.query(`
      CREATE TABLE IF NOT EXISTS test_leaders (epoch int, port int);
      CREATE TABLE IF NOT EXISTS test_writes (place text, epoch int, port int);
      CREATE OR REPLACE FUNCTION test_leads() RETURNS trigger LANGUAGE plpgsql AS
        'BEGIN INSERT INTO test_leaders VALUES (NEW.epoch, inet_client_port()); RETURN NULL; END';
      CREATE OR REPLACE FUNCTION test_writes() RETURNS trigger LANGUAGE plpgsql AS
        'BEGIN INSERT INTO test_writes SELECT TG_TABLE_NAME, epoch, inet_client_port() FROM leadership; RETURN NULL; END';
      CREATE OR REPLACE TRIGGER test_leads AFTER INSERT OR UPDATE ON leadership FOR EACH ROW EXECUTE FUNCTION test_leads();
      CREATE OR REPLACE TRIGGER test_writes AFTER INSERT OR UPDATE ON review_cards FOR EACH STATEMENT EXECUTE FUNCTION test_writes();`);
  }

  async function expectOnlyLeadersWrote(): Promise<number> {
    const rows = await ground.query<{ epoch: number; port: number; leader: number | null }>(
      "SELECT w.epoch, w.port, l.port AS leader FROM test_writes w LEFT JOIN test_leaders l USING (epoch)",
    );
    const nodeOf = (port: number | null) => nodes.find(({ proxy }) => port !== null && proxy.ports.has(port))?.name;
    // Those of the epoch that had begun before anything was noted have no leader here.
    const known = rows.filter(({ leader }) => leader !== null);
    expect(known.filter(({ port, leader }) => nodeOf(port) !== nodeOf(leader))).toEqual([]);
    return known.length;
  }

  test.each([
    // Until it looks at that connection again it works on, and what it sends to Discord another may send, too; it writes nothing down.
    ["the connection that holds its lock", ["lock"], Infinity],
    ["every connection to PostgreSQL", ["lock", "listen", "pool"], splits],
  ] as const)("a leader that is cut off with %s is followed by another, and only one of them writes", async (_, purposes, twice) => {
    await noteWritesOfLeaders();
    const load = startLoad(ground);
    for (let round = 0; round < splits; round += 1) {
      await delay(loadMs);
      const leader = await ground.leader();
      const began = performance.now();
      leader.proxy.split(purposes);
      await ground.leader(leader);
      say(`a leader was cut off: the next one leads after ${(performance.now() - began).toFixed(0)} ms`);
      expect(performance.now() - began).toBeLessThan(10_000);
      // The time in which the one before may not know yet.
      await delay(5000);
      leader.proxy.heal(purposes);
      await eventually(() => leader.isReady());
      await isServing(ground);
    }
    await load.stop();
    await expectEachOnce(ground, load);
    await expectCardsOnce(ground, load, twice);
    expect(await expectOnlyLeadersWrote()).toBeGreaterThan(0);
    await expectNoGaps(ground);
    await expectWholeChain(ground);
    expect(nodes.every((node) => node.isRunning())).toBe(true);
  });
});
