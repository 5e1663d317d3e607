// @module-tag sqlite
import { readFileSync } from "node:fs";
import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { describe, expect, onTestFinished, test } from "vitest";
import { documentedMetrics } from "./documented.ts";
import { hasPromtool, promtool } from "./promtool.ts";

const fileOf = (name: string): string => fileURLToPath(new URL(`../../deploy/${name}`, import.meta.url));
const read = (name: string): string => readFileSync(fileOf(name), "utf8");

interface Panel {
  title: string;
  targets?: readonly { expr: string; legendFormat: string }[];
}
const { panels } = JSON.parse(read("dashboard.json")) as { panels: readonly Panel[] };
const shown = panels.flatMap(({ targets }) => targets ?? []);
const rules = [...read("alerts.yml").matchAll(/^ {8}expr: (?:>-\n)?([^]*?)\n {8}\w/gm)].map(([, expression = ""]) => expression);
const alertNames = [...read("alerts.yml").matchAll(/alert: (\w+)/g)].map(([, name = ""]) => name);

/** Names of series, and what stands in their braces. */
const seriesIn = (expression: string): [name: string, labels: string[]][] =>
  [...expression.matchAll(/\b((?:provost|process|nodejs)_\w+)(?:\{([^}]*)\})?/g)].map(([, name = "", given = ""]) => [
    name,
    [...given.matchAll(/(\w+)(?:=~|!=|!~|=)"/g)].map(([, label = ""]) => label),
  ]);

/** Every series that a scrape has, with its labels. */
const known = new Map(
  documentedMetrics().flatMap(({ name, type, labels }) => {
    const series = type === "histogram" ? [`${name}_bucket`, `${name}_sum`, `${name}_count`] : [name];
    return series.map((one) => [one, new Set([...labels, "instance", "job", ...(one.endsWith("_bucket") ? ["le"] : [])])] as const);
  }),
);

test("the dashboard and the rules ask only for series and labels that a scrape has", () => {
  const asked = [...shown.map(({ expr }) => expr), ...rules].flatMap(seriesIn);
  expect(asked.length).toBeGreaterThan(50);
  const wrong = asked.filter(([name, labels]) => known.get(name) === undefined || labels.some((label) => !known.get(name)?.has(label)));
  expect(wrong).toEqual([]);
});

test("what the dashboard groups by and names in its legends are labels of the series it asks for", () => {
  const wrong = shown.filter(({ expr, legendFormat }) => {
    const used = [...expr.matchAll(/\bby \(([^)]*)\)/g), ...legendFormat.matchAll(/\{\{(\w+)\}\}/g)].flatMap(([, names = ""]) =>
      names.split(", "),
    );
    return used.some((label) => !seriesIn(expr).some(([name]) => known.get(name)?.has(label) === true));
  });
  expect(wrong).toEqual([]);
  expect(panels.map(({ title }) => title).filter((title, index, all) => all.indexOf(title) !== index)).toEqual([]);
});

test("whoever asks a proxy in front for the metrics gets 404", () => {
  for (const folder of ["", "cluster/"]) {
    expect(read(`${folder}Caddyfile`)).toMatch(/^\t@(\w+) path \/metrics\n\trespond @\1 404$/m);
    expect(read(`${folder}nginx.conf`)).toMatch(/location = \/metrics \{\s+return 404;\s+\}/);
  }
});

test("the second server of the compose file is the first one with another data folder and another port", () => {
  const services = read("compose.yaml").split(/^ {2}(?=[\w-]+:)/m);
  const bodyOf = (name: string): string => services.find((one) => one.startsWith(`${name}:`)) ?? expect.fail(`there is no ${name}`);
  const [first, second] = [bodyOf("provost"), bodyOf("provost-2")];
  expect(first).toMatch(/^provost: &provost\n/);
  expect(second).toMatch(/^ {4}<<: \*provost\n {4}profiles:\n {6}- cluster\n/m);
  const [firstOwn, secondOwn] = [first, second].map((body) =>
    [/127\.0\.0\.1:\d+:8080/, /[\w-]+:\/data$/m].map((own) => own.exec(body)?.[0]),
  );
  expect(firstOwn).toEqual(["127.0.0.1:8080:8080", "data:/data"]);
  expect(secondOwn).toEqual(["127.0.0.1:8081:8080", "data-2:/data"]);
});

const minutes = 2000;
const at = 'job="provost", instance="a"';
const steady = (value: number): string => `${value.toString()}x${minutes.toString()}`;
const now = `0+60x${minutes.toString()}`;
/** One sample a minute of a service that does well. */
const well: Readonly<Record<string, string>> = {
  [`up{${at}}`]: steady(1),
  [`process_start_time_seconds{${at}}`]: steady(0),
  [`provost_health_check{check="storage", status="fail", ${at}}`]: steady(0),
  [`provost_health_check{check="audit_checkpoints", status="pass", ${at}}`]: steady(1),
  [`provost_discord_gateway_state{state="ready", ${at}}`]: steady(1),
  [`provost_cards_lag_seconds{${at}}`]: steady(40),
  [`provost_job_last_success_timestamp_seconds{job_name="audit", ${at}}`]: now,
  [`nodejs_eventloop_lag_p99_seconds{${at}}`]: steady(0.03),
  [`provost_backup_last_success_timestamp_seconds{${at}}`]: "0x1439 86400x600",
  [`provost_http_request_duration_seconds_count{status="200", ${at}}`]: `0+100x${minutes.toString()}`,
  [`provost_http_request_duration_seconds_count{status="500", ${at}}`]: `0+1x${minutes.toString()}`,
  [`provost_http_request_duration_seconds_count{status="501", ${at}}`]: `0+50x${minutes.toString()}`,
  [`provost_deliveries_due{${at}}`]: `90-1x60 0x${minutes.toString()}`,
  [`provost_deliveries_failed{${at}}`]: steady(3),
  [`provost_discord_actions_total{kind="ban", outcome="failed", ${at}}`]: steady(3),
  [`provost_discord_actions_total{kind="message_user", outcome="failed", ${at}}`]: `0+1x${minutes.toString()}`,
};

/** For each alert what goes wrong from the first minute on, when nobody is called yet, and when somebody is. */
const troubles: Readonly<Record<string, { series: string; values: string; notYet: string; since: string }>> = {
  ProvostDown: { series: "up{", values: steady(0), notYet: "1m", since: "3m" },
  ProvostStorageFails: { series: 'provost_health_check{check="storage"', values: steady(1), notYet: "30s", since: "2m" },
  ProvostGatewayDown: { series: "provost_discord_gateway_state{", values: steady(0), notYet: "4m", since: "6m" },
  ProvostAuditNotSigned: { series: 'provost_health_check{check="audit_checkpoints"', values: steady(0), notYet: "14m", since: "16m" },
  ProvostCardsLate: { series: "provost_cards_lag_seconds{", values: now, notYet: "9m", since: "12m" },
  ProvostJobNotRun: { series: "provost_job_last_success_timestamp_seconds{", values: steady(0), notYet: "1h5m", since: "1h12m" },
  ProvostEventLoopSlow: { series: "nodejs_eventloop_lag_p99_seconds{", values: steady(0.8), notYet: "9m", since: "11m" },
  ProvostBackupOld: { series: "provost_backup_last_success_timestamp_seconds{", values: steady(0), notYet: "27h", since: "28h10m" },
  ProvostErrors: {
    series: 'provost_http_request_duration_seconds_count{status="500"',
    values: `0+9x${minutes.toString()}`,
    notYet: "5m",
    since: "12m",
  },
  ProvostDeliveriesGrow: { series: "provost_deliveries_due{", values: `0+2x${minutes.toString()}`, notYet: "35m", since: "50m" },
  ProvostDeliveriesFailed: { series: "provost_deliveries_failed{", values: `3x10 4x${minutes.toString()}`, notYet: "9m", since: "15m" },
  ProvostDiscordActionsFail: {
    series: 'provost_discord_actions_total{kind="ban"',
    values: `3x10 4x${minutes.toString()}`,
    notYet: "9m",
    since: "15m",
  },
};

/** Whether an alert calls somebody at a time. */
const calls = (alert: string, eval_time: string, isCalling: boolean) => ({
  expr: `count(ALERTS{alertname="${alert}", alertstate="firing"})`,
  eval_time,
  exp_samples: isCalling ? [{ labels: "{}", value: 1 }] : [],
});

async function testRules(tests: readonly object[]): Promise<ReturnType<typeof promtool>> {
  const folder = await mkdtemp(join(tmpdir(), "provost-rules-"));
  onTestFinished(() => rm(folder, { recursive: true, force: true }));
  const file = join(folder, "test.yml");
  // JSON is YAML.
  await writeFile(file, JSON.stringify({ rule_files: [fileOf("alerts.yml")], evaluation_interval: "1m", tests }));
  return promtool(["test", "rules", file]);
}
const seriesOf = (all: Readonly<Record<string, string>>) => Object.entries(all).map(([series, values]) => ({ series, values }));

describe.skipIf(!hasPromtool)("promtool, where it is installed", () => {
  test("takes the rules", () => {
    expect(promtool(["check", "rules", fileOf("alerts.yml")])).toMatchObject({ code: 0, said: expect.stringContaining("SUCCESS") });
  });

  test("each rule calls somebody when its trouble lasts, and none a service that does well", async () => {
    expect(Object.keys(troubles)).toEqual(alertNames);
    const quiet = ["10m", "50m", "2h", "28h30m", "32h"].flatMap((time) => alertNames.map((alert) => calls(alert, time, false)));
    const tests = Object.entries(troubles).map(([alert, { series, values, notYet, since }]) => {
      const broken = Object.fromEntries(Object.entries(well).map(([one, usual]) => [one, one.startsWith(series) ? values : usual]));
      return { interval: "1m", input_series: seriesOf(broken), promql_expr_test: [calls(alert, notYet, false), calls(alert, since, true)] };
    });
    const result = await testRules([{ interval: "1m", input_series: seriesOf(well), promql_expr_test: quiet }, ...tests]);
    expect(result).toMatchObject({ code: 0 });
  });
});
