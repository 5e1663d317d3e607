import type { Tx } from "../../src/database/database.ts";
import { createEventsService } from "../../src/features/events/events.service.ts";
import { createCandidateIndex } from "../../src/features/intelligence/candidates.ts";
import { applyRecord } from "../../src/features/intelligence/matches/apply.ts";
import { recordOf } from "../../src/features/intelligence/matches/store.ts";
import { createLinkReach } from "../../src/features/links/reach.ts";
import { createServerFacts } from "../../src/features/servers/facts.ts";
import { systemCall } from "../../src/kernel/call.ts";
import { median, type BenchmarkOptions } from "../benchmark.ts";
import { createCommunity, serverId, type Community } from "./community.ts";
import { counted, type Cost } from "./counted.ts";
import { hashOf, type Findings } from "./part.ts";

const sizes = [10, 100, 1000];
const [many, few] = [100_000, 1000];

interface Sample extends Cost {
  ms: number;
}

/** A new record about a server of k people, in a community of a hundred thousand and in one of a thousand. */
export async function measureNewRecords({ rounds, progress }: BenchmarkOptions): Promise<Findings> {
  const turns = rounds * 3;
  const large = await createCommunity(many, { sizes, turns });
  progress(`${many} people with their servers are stored`);
  const small = await createCommunity(few, { sizes, turns });
  const findings: Findings = { rows: [], goals: [] };
  try {
    // The first ones pay for what is compiled and prepared once.
    for (const community of [large, small]) await applyNew(community, 1, 0);
    for (const size of sizes) {
      const samples: { large: Sample[]; small: Sample[] } = { large: [], small: [] };
      for (let turn = 0; turn < turns; turn += 1) {
        const order = turn % 2 === 0 ? (["large", "small"] as const) : (["small", "large"] as const);
        for (const which of order) samples[which].push(await applyNew(which === "large" ? large : small, size, turn));
      }
      add(findings, size, samples);
    }
  } finally {
    await large.end();
    await small.end();
  }
  return findings;
}

function add({ rows, goals }: Findings, size: number, { large, small }: { large: Sample[]; small: Sample[] }): void {
  const ratio = median(large.map(({ ms }, turn) => ms / (small[turn]?.ms ?? Number.NaN)));
  const row = (name: string, samples: readonly Sample[], note: string): string[] => [
    name,
    "ms",
    median(samples.map(({ ms }) => ms)).toFixed(2),
    Math.max(...samples.map(({ ms }) => ms)).toFixed(2),
    note,
  ];
  const costOf = ({ statements, read, written }: Cost): string => `${statements} statements, ${read} rows read, ${written} written`;
  const last = large.at(-1);
  rows.push(
    row(`a record that concerns ${size} of ${many} people`, large, last === undefined ? "" : costOf(last)),
    row(`  of ${few} people`, small, `ratio ${ratio.toFixed(2)}`),
  );
  goals.push({ text: `a record that concerns ${size}: of ${many} people beside of ${few}`, wanted: 1.2, measured: ratio, bound: "most" });
  const fewest = Math.min(...small.map(({ read }) => read));
  goals.push({
    text: `  rows read beside those among ${few}`,
    wanted: 1.2,
    measured: Math.max(...large.map(({ read }) => read)) / fewest,
    bound: "most",
  });
}

let numbers = 0;

async function applyNew({ database }: Community, size: number, turn: number): Promise<Sample> {
  const deps = {
    facts: createServerFacts(),
    reach: createLinkReach(),
    isStaff: () => false,
    servedGuilds: new Set<string>(),
    index: createCandidateIndex(hashOf),
    hashOf,
    events: createEventsService({ database }),
  };
  numbers += 1;
  const number = numbers;
  const cost: Cost = { statements: 0, read: 0, written: 0 };
  const began = performance.now();
  const changes = await database.write(systemCall("job", "bench"), async (tx) => {
    const row = await tx.db.blacklistRecord.create({ data: newRecord(tx, number, serverId(size, turn)) });
    return applyRecord({ ...tx, db: counted(tx.db, cost) }, recordOf(row), deps);
  });
  const ms = performance.now() - began;
  const wanted = sizes.includes(size) ? size : 0;
  if (changes.added !== wanted) throw new Error(`the record found ${changes.added} people, not ${wanted}`);
  return { ms, ...cost };
}

function newRecord({ now }: Tx, number: number, subjectId: string) {
  return {
    number,
    kind: "server",
    subjectId,
    subjectHash: hashOf(subjectId),
    scope: "network",
    category: "raiding",
    severity: "high",
    severityOrder: 2,
    status: "active",
    serverIds: [],
    exemptUserIds: [],
    evidence: [],
    tags: [],
    approvedBy: [],
    source: "direct",
    startsAt: now,
    createdAt: now,
    updatedAt: now,
  };
}
