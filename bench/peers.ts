import type { ChildProcess } from "node:child_process";
import { mkdtemp, rm } from "node:fs/promises";
import { availableParallelism, loadavg, tmpdir } from "node:os";
import { join } from "node:path";
import { startPostgresServer } from "../test/support/postgres-server.ts";
import type { Benchmark, BenchmarkOptions } from "./benchmark.ts";
import { checkAnswers, checkCounts, countWritten } from "./peers/checks.ts";
import { startDirectus } from "./peers/directus.ts";
import { startParse } from "./peers/parse.ts";
import { operations, type Peer, query, type Setting } from "./peers/peer.ts";
import { plotThroughput } from "./peers/plot.ts";
import { startProvost } from "./peers/provost.ts";
import { type Measured, toTable } from "./peers/results.ts";
import { prepareScratch, versions } from "./peers/scratch.ts";
import { ask, createProcesses, measure } from "./processes.ts";

const connections = 16;
const picture = "docs/images/performance.svg";

/**
 * The built service beside two servers that people use for the same: each in a process of its own on one Node, with a database of its own
 * on one PostgreSQL, measured in turns. What is not fair to whom: docs/performance.md.
 */
export const benchmark: Benchmark = {
  about: "records read, listed and made by the built service, by Parse Server and by Directus, which it installs once (minutes)",
  async run(options) {
    const installed = await prepareScratch(options.progress);
    const folder = await mkdtemp(join(tmpdir(), "provost-peers-run-"));
    const processes = createProcesses();
    const ends: (() => Promise<unknown>)[] = [() => rm(folder, { recursive: true, force: true })];
    try {
      const postgres = await startPostgresServer();
      ends.unshift(() => postgres.stop());
      const setting: Setting = { processes, installed, postgres, folder };
      const { peer: provost, stop } = await startProvost(setting);
      ends.unshift(stop);
      const peers = [provost];
      for (const start of [startParse, startDirectus]) {
        options.progress(`${peers.at(-1)?.name ?? ""} has its records`);
        peers.push(await start(setting));
      }
      const measured = await measureAll(processes.startClient(), peers, options);
      const [row] = await query(postgres.url("postgres"), "SHOW server_version");
      const { seconds, rounds } = options;
      const note = [
        `Parse Server ${versions.parse}, Directus ${versions.directus}; Node ${versions.node}, PostgreSQL ${String(row?.["server_version"])}`,
        `${availableParallelism()} cores, load ${(loadavg()[1] ?? Number.NaN).toFixed(1)}, ${connections} connections`,
        `medians of ${rounds} rounds of ${seconds} s; ${new Date().toISOString().slice(0, 10)}.`,
      ];
      return {
        ...toTable(measured),
        note: note.join("; "),
        picture: { path: picture, svg: await plotThroughput(measured) },
      };
    } finally {
      await processes.end();
      for (const end of ends) await end();
    }
  },
};

/** Each operation of all of them in turn, so that what is compared was measured within seconds. */
async function measureAll(client: ChildProcess, peers: readonly Peer[], options: BenchmarkOptions): Promise<Measured[]> {
  const { seconds, rounds, progress } = options;
  const measured: Measured[] = [];
  const before = [];
  for (const peer of peers) {
    before.push(await countWritten(peer));
    const samples = { "read one": [], "list of 50": [], create: [] };
    measured.push({ peer, samples, bytes: await checkAnswers(peer), made: 1, loaded: 0 });
  }
  for (let round = 0; round <= rounds; round += 1)
    for (const operation of operations)
      for (const one of measured) {
        const { name, host, requests } = one.peer;
        const sample = await measure(client, { ...host, request: requests[operation] }, seconds, connections);
        if (operation === "create") one.made += sample.answers;
        // The first round only warms up.
        if (round > 0) one.samples[operation].push(sample);
        one.loaded = await ask<number>(host.child, "memory");
        progress(`round ${round}/${rounds}  ${operation}, ${name}: ${sample.perSecond.toFixed(0)}/s, p99 ${sample.p99.toFixed(0)} ms`);
      }
  for (const [index, { peer, made }] of measured.entries()) {
    checkCounts(peer, before[index] ?? {}, await countWritten(peer), made);
    await peer.verify?.();
    progress(`${peer.name}: ${made} records made, of each the same number of ${Object.keys(peer.counts).slice(1).join(", ")}`);
  }
  return measured;
}
