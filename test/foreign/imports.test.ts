// @module-tag both
// @module-tag slow
import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { readCsv } from "../../src/features/blacklist/csv.ts";
import { readJsonArray, readNdjson } from "../../src/features/blacklist/import/import.service.ts";
import type { SourceLine } from "../../src/features/blacklist/import-lines.ts";
import { ProblemError } from "../../src/kernel/errors.ts";
import { bodySchema, freshId, routeOf } from "../contract/document.ts";
import { fitting, oneOf } from "../contract/fuzz/values.ts";
import { hostileRuns } from "../support/size.ts";
import { createWorld } from "../support/world.ts";
import { bytesOf, hostileTextsOf, largeText, maybeSpoiled, piecesOf, spoiled, spoiledText } from "./hostile-values.ts";
import { createWatch, type Watch } from "./watch.ts";

const ids = fc.nat().map(freshId);
const plain = fc.record({
  kind: oneOf("user", "server"),
  subject_id: ids,
  category: oneOf("raid", "scam"),
  severity: oneOf("low", "high"),
});
const record = fc.oneof(
  plain,
  spoiled(plain.map((value) => structuredClone(value))),
  maybeSpoiled(fitting(bodySchema(routeOf("POST", "/blacklist")) ?? {}, ids)),
);
const records = fc.array(record, { minLength: 1, maxLength: 12 });

const columns = [
  "kind",
  "subject_id",
  "category",
  "severity",
  "subject_name",
  "reason_public",
  "reason_internal",
  "expires_at",
  "server_ids",
  "tags",
  "evidence",
];
const names = fc.oneof(
  { weight: 6, arbitrary: fc.shuffledSubarray(columns, { minLength: 2 }).map((some) => [...new Set(["kind", "subject_id", ...some])]) },
  { weight: 1, arbitrary: fc.array(fc.oneof(oneOf(...columns), hostileTextsOf), { maxLength: 8 }) },
);
const cell = fc.oneof(
  { weight: 4, arbitrary: fc.oneof(oneOf("user", "server", "raid", "high", "", " ", "2099-01-02", "a;b;c", "<@!80351110224678912>"), ids) },
  { weight: 1, arbitrary: hostileTextsOf.map((text) => (text.length > 10_000 ? text.slice(0, 300_000) : text)) },
);
const quoted = fc.tuple(cell, fc.boolean()).map(([text, isQuoted]) => (isQuoted ? `"${text.replaceAll('"', '""')}"` : text));
const csv = fc
  .record({
    names,
    rows: fc.array(fc.array(quoted, { maxLength: 8 }), { maxLength: 10 }),
    delimiter: oneOf(",", ",", ";", "\t", "|"),
    end: oneOf("\n", "\r\n", "\r"),
  })
  .map(({ names, rows, delimiter, end }) => [names.join(delimiter), ...rows.map((row) => row.join(delimiter))].join(end));

interface Sent {
  type: string;
  query: string;
  bytes: Buffer;
}
const queries = oneOf("", "", "?dry_run=true", "?mode=merge", "?mode=replace", "?mode=\ud800", "?dry_run=%00", "?mode=merge&mode=skip");
const contents: fc.Arbitrary<Omit<Sent, "query">> = fc.oneof(
  { weight: 3, arbitrary: records.map((all) => ({ type: "application/json", bytes: Buffer.from(JSON.stringify({ records: all })) })) },
  {
    weight: 1,
    arbitrary: spoiledText(records.map((all) => JSON.stringify({ records: all }))).map((text) => ({
      type: "application/json",
      bytes: Buffer.from(text),
    })),
  },
  {
    weight: 1,
    arbitrary: spoiled(fc.record({ records })).map((body) => ({
      type: "application/json",
      bytes: Buffer.from(JSON.stringify(body) ?? ""),
    })),
  },
  { weight: 3, arbitrary: bytesOf(spoiledText(csv)).map((bytes) => ({ type: "text/csv", bytes })) },
);
const sent: fc.Arbitrary<Sent> = fc.tuple(contents, queries).map(([content, query]) => ({ ...content, query }));

async function createScene(watch: Watch) {
  const world = await createWorld({ env: { LOG_LEVEL: "warn" }, log: watch.log });
  const admin = await world.staff("admin");
  const send = async ({ type, bytes, query }: Sent): Promise<number> => {
    const answer = await fetch(`${world.url}/blacklist/import${query}`, {
      method: "POST",
      headers: { authorization: `Bearer ${world.key}`, "x-acting-user": admin.id, "content-type": type },
      body: new Uint8Array(bytes),
    });
    watch.check({ status: answer.status, headers: answer.headers, body: JSON.parse(await answer.text()) }, "import");
    return answer.status;
  };
  return { world, admin, send };
}

describe("an import", () => {
  test(
    "of whatever takes the lines that can be read and names the others, while others are answered",
    { timeout: 36_000_000 },
    async () => {
      const watch = createWatch();
      const { world, admin, send } = await createScene(watch);
      const seen = new Map<number, number>();
      const check = fc.asyncProperty(fc.array(sent, { minLength: 5, maxLength: 5 }), async (all) => {
        await watch.beside(world, admin, async () => {
          for (const one of all) {
            const status = await send(one);
            seen.set(status, (seen.get(status) ?? 0) + 1);
          }
        });
        expect(watch.found()).toEqual([]);
      });
      await fc.assert(check, { numRuns: hostileRuns(60), endOnFailure: true });
      console.info("imports:", Object.fromEntries(seen));
      expect([...seen.keys()]).toEqual(expect.arrayContaining([200, 422]));
      // What was taken can be read, searched and exported again.
      for (const path of [
        "/blacklist?limit=200",
        "/blacklist/export?format=csv",
        "/blacklist/export?format=ndjson",
        "/blacklist/changes?limit=200",
      ])
        expect(watch.check(await world.get(path, { actor: admin }), path).status, path).toBe(200);
      expect(watch.found()).toEqual([]);
    },
  );

  test("as large as one may be, of nothing but what is hard to read, keeps nobody waiting", { timeout: 36_000_000 }, async () => {
    const watch = createWatch();
    const { world, admin, send } = await createScene(watch);
    const heads = oneOf('{"records":[', '{"records":["', '{"csv":"', "[", "kind,subject_id\n", 'kind,subject_id\n"', "");
    const check = fc.asyncProperty(
      heads,
      largeText(4 * 1024 * 1024 - 20),
      oneOf("text/csv", "application/json"),
      async (head, text, type) => {
        const bytes = Buffer.from(head + text).subarray(0, 4 * 1024 * 1024);
        await watch.beside(world, admin, () => send({ type, query: "?dry_run=true", bytes }));
        expect(watch.found()).toEqual([]);
      },
    );
    await fc.assert(check, { numRuns: hostileRuns(12), endOnFailure: true });
  });
});

/** Everything in a value, in its order: what compares values themselves calls itself for each depth, and the stack ends before the file does. */
function partsOf(value: unknown): unknown[] {
  const parts: unknown[] = [];
  const left = [value];
  while (left.length > 0) {
    const one = left.pop();
    if (typeof one !== "object" || one === null) parts.push(one);
    else {
      parts.push(Array.isArray(one) ? `list of ${one.length.toString()}` : Object.keys(one));
      for (const inner of Object.values(one).toReversed()) left.push(inner);
    }
  }
  return parts;
}

describe("a file that is read line by line", () => {
  const readers = { csv: readCsv, json: readJsonArray, ndjson: readNdjson };
  const texts = {
    csv,
    json: fc.oneof(records, fc.record({ records })).map((value) => JSON.stringify(value)),
    ndjson: records.map((all) => all.map((one) => JSON.stringify(one)).join("\n")),
  };

  /** Every line, or the refusal of all of them. */
  async function linesOf(read: (pieces: string[]) => AsyncIterable<SourceLine>, pieces: string[]): Promise<unknown> {
    const lines: SourceLine[] = [];
    try {
      for await (const line of read(pieces)) lines.push(line);
    } catch (error) {
      // The columns are named wrongly: nothing can be read then.
      if (error instanceof ProblemError) return error.extra ?? error.message;
      throw error;
    }
    return lines;
  }

  test.each([
    ["csv", "kind,subject_id\nuser,80351110224678912"],
    ["json", `[{"kind":"user","subject_id":"80351110224678912"}]`],
    ["ndjson", `{"kind":"user","subject_id":"80351110224678912"}`],
  ] as const)("of %s may begin with a mark, also where a piece without anything comes before it", async (format, text) => {
    const lines = await linesOf(readers[format], ["", `\ufeff${text}`]);
    expect(lines).toMatchObject([{ value: { kind: "user", subject_id: "80351110224678912" } }]);
  });

  test.each(["csv", "json", "ndjson"] as const)("of %s is the same in whatever pieces it comes", async (format) => {
    const cuts = fc.array(fc.nat(), { maxLength: 8 });
    const check = fc.asyncProperty(spoiledText(texts[format]), cuts, async (text, places) => {
      const [whole, pieced] = [await linesOf(readers[format], [text]), await linesOf(readers[format], piecesOf(text, places))];
      expect(partsOf(pieced)).toEqual(partsOf(whole));
    });
    await fc.assert(check, { numRuns: hostileRuns(400), endOnFailure: true });
  });
});
