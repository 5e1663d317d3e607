// @module-tag sqlite
import { execFile, fork } from "node:child_process";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { promisify } from "node:util";
import { expect, onTestFinished, test } from "vitest";
import { placeTable } from "../bench/document.ts";
import type { Peer } from "../bench/peers/peer.ts";
import { plotThroughput } from "../bench/peers/plot.ts";
import { type Measured, toTable } from "../bench/peers/results.ts";
import { load } from "../bench/processes.ts";
import { recordBody } from "../bench/record.ts";
import { tier } from "./support/size.ts";

const run = promisify(execFile);
const short = {
  http: "the access answer against",
  writers: "answers that were not 200",
  greedy: "services alive at the end",
  metrics: "ms of CPU to collect once",
  statements: "reached: operations on sqlite",
  webhooks: "events a second to one receiver",
} as const;

/** For what a benchmark measures nothing is asserted here: only that it starts, measures and prints its table. */
const tried = Object.entries(short).filter(([name]) => tier === "long" || !["writers", "metrics"].includes(name));
test.runIf(tier !== "quick").each(tried)("the benchmark %s runs to its end", async (name, lastLine) => {
  // All that a service can be kept busy with takes minutes.
  const some = name === "greedy" && tier !== "long" ? ["--match", "web"] : [];
  const { stdout } = await run("npx", ["tsx", "bench/run.ts", name, "--seconds", "0.2", "--rounds", "1", ...some], { timeout: 500_000 });
  expect(stdout).toContain(lastLine);
});

/** A server that notes what it is sent and answers each request with one status. */
async function startNoting(status: number) {
  const sent: { method: string; type: string | undefined; body: string }[] = [];
  const server = createServer((request, response) => {
    let body = "";
    request.on("data", (part: Buffer) => (body += part.toString()));
    request.on("end", () => {
      sent.push({ method: request.method ?? "", type: request.headers["content-type"], body });
      response.writeHead(status, { "Content-Length": 2 }).end("{}");
    });
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  onTestFinished(() => void server.close());
  return { sent, port: (server.address() as AddressInfo).port };
}

test("the client of the benchmarks makes a record of its own with each request, and an answer of another status fails the measurement", async () => {
  const client = fork("bench/load.ts", { execArgv: ["--import", "tsx"] });
  onTestFinished(() => void client.kill());
  const { sent, port } = await startNoting(201);
  const create = { paths: ["/blacklist"], headers: {}, body: recordBody, status: 201 };
  const wanted = { seconds: 0, answers: 40, connections: 4 };
  const first = await load(client, { port, request: create }, wanted);
  const second = await load(client, { port, request: create }, wanted);
  expect(sent).toHaveLength(first.answers + second.answers);
  expect(sent.every(({ method, type }) => method === "POST" && type === "application/json")).toBe(true);
  const subjects = sent.map(({ body }) => (JSON.parse(body) as { subject_id: string }).subject_id);
  expect(new Set(subjects).size).toBe(sent.length);
  expect(subjects.filter((id) => !/^8035111\d{10}$/.test(id))).toEqual([]);
  const read = { paths: ["/blacklist/1"], headers: {} };
  await expect(load(client, { port, request: read }, wanted)).rejects.toThrow("answers were not 200: /blacklist/1");
  expect(sent.at(-1)).toEqual({ method: "GET", type: undefined, body: "" });
});

const sampleOf = (perSecond: number) => ({ answers: 1, perSecond, cpu: 1, p50: 1, p99: 1 });
const measuredOf = (name: string, perSecond: readonly number[], loaded: number): Measured => {
  const samples = perSecond.map(sampleOf);
  const bytes = { "read one": 1, "list of 50": 1, create: 1 };
  const host = { idle: 100 } as Peer["host"];
  return { peer: { name, host } as Peer, samples: { "read one": samples, "list of 50": samples, create: samples }, bytes, made: 1, loaded };
};

test("what is compared with a peer are the two measurements of one round, and each goal says whether it is reached", () => {
  const all = [measuredOf("Provost", [100, 300, 900], 90), measuredOf("Parse Server", [50, 600, 450], 100)];
  const { goals, rows } = toTable([...all, measuredOf("Directus", [10, 30, 90], 100)]);
  expect(goals.map(({ measured }) => measured)).toEqual([2, 10, 2, 10, 2, 10, 0.9]);
  expect(goals.map(({ wanted, bound = "least" }) => `${bound} ${wanted}`)).toEqual([
    "least 2",
    "least 8",
    "least 1.2",
    "least 2.5",
    "least 0.5",
    "least 2",
    "most 1",
  ]);
  expect(rows.map(([first]) => first)).toContain("list of 50, Directus");
});

test.skipIf(tier === "quick")("the picture of what was compared has a bar for each server and operation", async () => {
  const svg = await plotThroughput([measuredOf("Provost", [100, 300, 900], 90), measuredOf("Parse Server", [50, 600, 450], 100)]);
  expect(svg).toMatch(/^<svg [^>]*xmlns="http:\/\/www\.w3\.org\/2000\/svg"/);
  expect(svg.match(/>(?:300|450)\/s</g)).toHaveLength(6);
});

test("a table takes the place of the earlier one in the document, and nothing else there changes", () => {
  const table = {
    columns: ["", "each second"],
    rows: [["read", "12"]],
    goals: [{ text: "reads", wanted: 10, measured: 12 }],
    note: "Two cores.",
  };
  const text = "Before.\n\n<!-- bench peers -->\n\nold\n\n<!-- /bench peers -->\n\nAfter.\n";
  const placed = placeTable(text, "peers", table);
  expect(placed).toBe(
    "Before.\n\n<!-- bench peers -->\n\nTwo cores.\n\n|  | each second |\n| --- | --: |\n| read | 12 |\n\n- reached: reads: 12.000 (goal: at least 10)\n\n<!-- /bench peers -->\n\nAfter.\n",
  );
  expect(placeTable(placed, "peers", table)).toBe(placed);
  expect(() => placeTable(text, "records", table)).toThrow("<!-- bench records -->");
});
