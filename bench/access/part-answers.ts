import { median } from "../benchmark.ts";
import { type Sample, ask, load, measure } from "../processes.ts";
import type { Counts } from "./answers.ts";
import type { Findings, Setting } from "./part.ts";

const countedAnswers = 20_000;

/** What an answer costs beside a bare server's. */
export async function measureThroughput({ client, service, bare, options: { seconds, rounds, progress } }: Setting): Promise<Findings> {
  const ours: Sample[] = [];
  const plain: Sample[] = [];
  for (const host of [bare, service]) await measure(client, host, Math.min(1, seconds));
  for (let round = 1; round <= rounds; round += 1) {
    const baseline = await measure(client, bare, seconds);
    const sample = await measure(client, service, seconds);
    plain.push(baseline);
    ours.push(sample);
    progress(
      `round ${round}/${rounds}  ${Math.round(sample.perSecond)}/s of ${Math.round(baseline.perSecond)}/s, ${sample.cpu.toFixed(1)} µs`,
    );
  }
  const row = (name: string, unit: string, samples: readonly Sample[], key: keyof Sample, digits: number): string[] => [
    name,
    unit,
    median(samples.map((sample) => sample[key])).toFixed(digits),
    "",
    "",
  ];
  return {
    rows: [
      row("GET /staff/{id}/access, 1,000 ids", "answers/s", ours, "perSecond", 0),
      row("", "server µs", ours, "cpu", 1),
      row("node:http, the same bytes", "answers/s", plain, "perSecond", 0),
      row("", "server µs", plain, "cpu", 1),
    ],
    goals: [
      {
        text: "warm access answers of 1,000 staff against node:http answering the same bytes",
        wanted: 0.3,
        measured: median(ours.map((sample, round) => sample.perSecond / (plain[round]?.perSecond ?? Number.NaN))),
      },
    ],
  };
}

/** What warm answers ask the database and Discord, and that it would be noticed if they did. */
export async function countWarmAnswers({ client, service, options: { progress } }: Setting): Promise<Findings> {
  const { child, port, request } = service;
  const take = (): Promise<Counts> => ask(child, "takeCounts");
  await ask(child, "startCounting");
  await load(client, service, { seconds: 0, answers: request.paths.length });
  await take();
  const { answers } = await load(client, service, { seconds: 0, answers: countedAnswers });
  const warm = await take();
  const profile = request.paths[0]?.replace("/access", "/profile") ?? "";
  for (const path of [profile, "/staff/80351110224678912/access"])
    await fetch(`http://127.0.0.1:${port}${path}`, { headers: request.headers });
  const control = await take();
  const toDiscord = (counts: Counts): number => counts.discordRequests + counts.gatewayRequests;
  progress(`${answers} warm answers: ${JSON.stringify(warm)}; a profile and a stranger: ${JSON.stringify(control)}`);
  if (control.byRequests === 0 || toDiscord(control) === 0) throw new Error("the counters do not count");
  const row = (name: string, unit: string, count: number): string[] => [name, unit, count.toString(), "", ""];
  return {
    rows: [
      row(`${answers} warm answers`, "statements", warm.byRequests),
      row("  meanwhile by timers", "statements", warm.otherwise),
      row(`${answers} warm answers`, "Discord requests", toDiscord(warm)),
      row("control: one profile", "statements", control.byRequests),
      row("control: one stranger", "Discord requests", toDiscord(control)),
    ],
    goals: [
      { text: "statements that warm answers make", wanted: 0, measured: warm.byRequests, bound: "most" },
      { text: "Discord requests that warm answers make", wanted: 0, measured: toDiscord(warm), bound: "most" },
    ],
  };
}
