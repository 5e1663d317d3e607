import { openApiDocument } from "../src/app/document.ts";
import type { Dialect } from "../src/database/dialect.ts";
import { startPostgresServer } from "../test/support/postgres-server.ts";
import { type Benchmark, type BenchmarkOptions, median } from "./benchmark.ts";
import { missingCases, nameOf, queryOf, type GrowthCase, type GrowthList, type GrowthStore, type People } from "./growth/list.ts";
import { openStore, type OpenStore } from "./growth/store.ts";
import { stores } from "./growth/stores.ts";

const allSizes = [1000, 10_000, 100_000];
const databases = ["sqlite", "postgres"] as const satisfies readonly Dialect[];
/** How much an answer may grow while what is stored grows tenfold. */
const most = 1.2;
/** A case is asked at least so often, however long it takes; one that seems to grow is asked for so many times as long. */
const [leastRounds, moreOften] = [3, 10];
const warmUps = 2;
/** A deep page is half-way down, or so many pages. */
const [pageOfWalk, mostPages] = [200, 100];

/** One answer, with what it said of itself. */
interface Measured {
  ms: number[];
  /** Whether the page ended before it was full although the list goes on. */
  isBounded: boolean;
}

/** Every filter and sort of the lists, asked of stores of three sizes in turns. */
export const benchmark: Benchmark = {
  about: `how the answer of each filter grows with what is stored; --seconds bounds a case, --match takes a text of its row, such as "/roster sort="`,
  parts: [...Object.keys(stores), ...databases, ...allSizes.map(String)],
  async run(options) {
    const document = openApiDocument();
    const names = chosen(Object.keys(stores), options);
    const rows: string[][] = [];
    const growths: number[] = [];
    for (const name of names) {
      const store = await (stores[name] as () => Promise<GrowthStore>)();
      const missing = store.lists.flatMap((list) => missingCases(list, document));
      if (missing.length > 0) throw new Error(missing.join("\n"));
      for (const database of chosen(databases, options)) {
        const found = await measureStore(store, database, sizesOf(options), options);
        growths.push(...found.map(({ growth }) => growth));
        rows.push([`${database}: ${name}`], ...found.map(({ cells }) => cells));
      }
    }
    if (growths.length === 0) throw new Error(`no case is called ${options.match}`);
    return {
      columns: ["", ...sizesOf(options).map((size) => `${size.toString()}, ms`), "per 10x", ""],
      rows,
      goals: [
        {
          text: "the most that an answer grows per tenfold store, where it is not bounded",
          wanted: most,
          measured: Math.max(...growths),
          bound: "most",
        },
      ],
    };
  },
};

function chosen<Name extends string>(all: readonly Name[], { only }: Pick<BenchmarkOptions, "only">): readonly Name[] {
  const some = all.filter((name) => only.includes(name));
  return some.length === 0 ? all : some;
}

function sizesOf(options: BenchmarkOptions): number[] {
  return chosen(allSizes.map(String), options).map(Number);
}

interface Row {
  cells: string[];
  growth: number;
}

async function measureStore(store: GrowthStore, database: Dialect, sizes: readonly number[], options: BenchmarkOptions): Promise<Row[]> {
  const ends: (() => Promise<unknown>)[] = [];
  try {
    const server = database === "postgres" ? await startPostgresServer() : undefined;
    if (server !== undefined) ends.push(() => server.stop());
    const opened: OpenStore[] = [];
    for (const size of sizes) {
      const one = await openStore(store, size, server);
      ends.unshift(one.stop);
      opened.push(one);
      options.progress(`${database}: filled with ${one.entries.toString()}`);
    }
    const rows: Row[] = [];
    for (const list of store.lists)
      for (const one of list.cases)
        for (const actor of one.isForOwner === true ? (["owner"] as const) : (["owner", "ordinary"] as const)) {
          if (!labelOf(opened, list, one, actor).includes(options.match)) continue;
          rows.push(await measureCase(opened, list, one, actor, options));
          options.progress(rows.at(-1)?.cells.join("  ") ?? "");
        }
    return rows;
  } finally {
    for (const end of ends) await end();
  }
}

/** The row of a case, in words. */
function labelOf(opened: readonly OpenStore[], { path }: GrowthList, one: GrowthCase, actor: keyof People): string {
  const name = nameOf(one, opened.at(-1)?.entries ?? 0, opened.at(-1)?.people ?? { owner: "", ordinary: "" });
  return `${path} ${name}${actor === "owner" ? "" : `, ${actor}`}`;
}

async function measureCase(
  opened: readonly OpenStore[],
  list: GrowthList,
  one: GrowthCase,
  actor: keyof People,
  { seconds, rounds }: BenchmarkOptions,
): Promise<Row> {
  const paths: string[] = [];
  for (const store of opened) paths.push(await pathOf(store, list.asked ?? list.path, one, actor));
  const measured: Measured[] = opened.map(() => ({ ms: [], isBounded: false }));
  // What else runs on the machine, the collection of garbage among it, makes answers slower and never faster: the quickest of each counts,
  // and what seems to grow is asked again, as only what does grow does so however often it is asked.
  const growthNow = (): number =>
    growthOf(
      measured.map(({ ms }) => Math.min(...ms)),
      opened,
    );
  const startedAt = performance.now();
  const isAskedAgain = (round: number): boolean => {
    const factor = round >= leastRounds && growthNow() > most ? moreOften : 1;
    return round < leastRounds || (round < rounds * 5 * factor && performance.now() < startedAt + seconds * 1000 * factor);
  };
  for (let round = -warmUps; isAskedAgain(round); round += 1)
    for (const [place, store] of opened.entries()) {
      const { body, ms } = await store.ask(paths[place] ?? "", actor);
      const kept = measured[place] as Measured;
      kept.isBounded = body.page.next_cursor !== null && body.data.length < body.page.limit;
      if (round >= 0) kept.ms.push(ms);
    }
  const times = measured.map(({ ms }) => median(ms));
  const growth = growthNow();
  const cells = [
    `  ${labelOf(opened, list, one, actor)}`,
    ...times.map((time) => time.toFixed(1)),
    growth.toFixed(2),
    measured.some(({ isBounded }) => isBounded) ? "bounded" : growth > most ? "GROWS" : "",
  ];
  // A page that says how far it came is bounded whatever it took.
  return { cells, growth: measured.some(({ isBounded }) => isBounded) ? 1 : growth };
}

/** Per tenfold store, between the two largest: the smallest ones have less than a page of what some filters find. */
function growthOf(times: readonly number[], opened: readonly OpenStore[]): number {
  const [before = Number.NaN, after = Number.NaN] = times.slice(-2);
  const [small, large] = opened.slice(-2);
  if (small === undefined || large === undefined) return 1;
  return (after / before) ** (1 / Math.log10(large.entries / small.entries));
}

/** The path of the page that is measured: the first one, or one in the middle. */
async function pathOf(store: OpenStore, path: string, one: GrowthCase, actor: keyof People): Promise<string> {
  const query = queryOf(one, store.entries, store.people);
  const page = (limit: number, cursor: string | null): string => {
    const parts = [query, `limit=${limit.toString()}`, ...(cursor === null ? [] : [`cursor=${encodeURIComponent(cursor)}`])];
    return `${path}?${parts.filter((part) => part !== "").join("&")}`;
  };
  if (one.isDeep !== true) return page(50, null);
  const cursors: (string | null)[] = [null];
  const pages = Math.min(mostPages, Math.floor(store.entries / pageOfWalk / 2));
  while (cursors.length <= pages) {
    const { body } = await store.ask(page(pageOfWalk, cursors.at(-1) ?? null), actor);
    // A filter that finds less ends before: its last page may be nearly empty, the one half-way is not.
    if (body.page.next_cursor === null) return page(50, cursors[Math.floor(cursors.length / 2)] ?? null);
    cursors.push(body.page.next_cursor);
  }
  return page(50, cursors.at(-1) ?? null);
}
