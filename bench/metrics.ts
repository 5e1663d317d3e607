import { type Benchmark, type Goal, median, type Table } from "./benchmark.ts";
import { scrapeAlone, whileScraped } from "./metrics/scrapes.ts";
import { createProcesses, type Host, measure, type Sample } from "./processes.ts";
import { recordBody } from "./record.ts";

const connections = 16;
const operations = {
  read: {},
  create: { paths: ["/blacklist"], body: recordBody, status: 201 },
};
const variants = ["off", "again", "on", "scraped"] as const;
type Variant = (typeof variants)[number];
type Operation = keyof typeof operations;
const names = Object.keys(operations) as Operation[];
type Samples = Readonly<Record<Operation, Record<Variant, Sample[]>>>;

const titles: Readonly<Record<Variant, string>> = {
  off: "without METRICS_TOKEN",
  again: "another one without",
  on: "with METRICS_TOKEN, nobody collects",
  scraped: "collected once a second",
};

/**
 * Read and make records: a server that measures nothing beside one that does, and that one while its metrics are collected. The order
 * of the variants turns from round to round. CPU for each answer tells more than answers a second where the machine does much else; how
 * far two servers differ that both measure nothing says how little it tells there.
 */
export const benchmark: Benchmark = {
  about: "what it costs to measure, and to collect the metrics once a second, while records are read and made",
  async run({ seconds, rounds, progress }) {
    const processes = createProcesses();
    try {
      const client = processes.startClient();
      const off = await processes.startHost("./targets/records.ts", "sqlite");
      const on = await processes.startHost("./targets/records.ts", "measured");
      const again = await processes.startHost("./targets/records.ts", "sqlite");
      const hosts: Readonly<Record<Variant, Host>> = { off, again, on, scraped: on };
      const empty = (): Record<Variant, Sample[]> => ({ off: [], again: [], on: [], scraped: [] });
      const samples: Samples = { read: empty(), create: empty() };
      for (let round = 0; round <= rounds; round += 1) {
        for (const operation of names)
          for (const variant of variants.map((_, index) => variants[(index + round) % variants.length] ?? "off")) {
            const host = hosts[variant];
            const request = { ...host.request, ...operations[operation] };
            const work = () => measure(client, { ...host, request }, seconds, connections);
            const sample = await (variant === "scraped" ? whileScraped(host, work) : work());
            // The first round only warms up.
            if (round > 0) samples[operation][variant].push(sample);
          }
        progress(`round ${round.toString()}/${rounds.toString()}`);
      }
      return toTable(samples, await scrapeAlone(on));
    } finally {
      await processes.end();
    }
  },
};

/** The median over the rounds of what a variant has against others in the same round. */
function ratio(samples: Samples[Operation], key: "perSecond" | "cpu", variant: Variant, ...bases: Variant[]): number {
  const base = (round: number): number => bases.reduce((sum, one) => sum + (samples[one][round]?.[key] ?? Number.NaN), 0) / bases.length;
  return median(samples[variant].map((sample, round) => sample[key] / base(round)));
}

function toTable(samples: Samples, scrapeMs: number): Table {
  const of = (operation: Operation, variant: Variant, key: keyof Sample): number =>
    median(samples[operation][variant].map((sample) => sample[key]));
  const goals = names.flatMap((operation): Goal[] => [
    { text: `${operation}/s, collected to not`, wanted: 0.99, measured: ratio(samples[operation], "perSecond", "scraped", "on") },
    {
      text: `CPU of a ${operation}, collected to not`,
      wanted: 1.01,
      measured: ratio(samples[operation], "cpu", "scraped", "on"),
      bound: "most",
    },
    {
      text: `CPU of a ${operation}, measured to not`,
      wanted: 1.02,
      measured: ratio(samples[operation], "cpu", "on", "off", "again"),
      bound: "most",
    },
  ]);
  return {
    columns: ["", ...names.flatMap((operation) => [`${operation}/s`, "µs of CPU", "p99 ms"])],
    rows: variants.map((variant) => [
      titles[variant],
      ...names.flatMap((operation) => [
        of(operation, variant, "perSecond").toFixed(0),
        of(operation, variant, "cpu").toFixed(1),
        of(operation, variant, "p99").toFixed(1),
      ]),
    ]),
    goals: [
      ...goals,
      { text: "ms of CPU to collect once; once a second, 10 are 1 % of a core", wanted: 10, measured: scrapeMs, bound: "most" },
    ],
  };
}
