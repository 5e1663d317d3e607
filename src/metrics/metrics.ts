import { collectDefaultMetrics, Counter, Gauge, Histogram, Registry } from "prom-client";
import type { Logger } from "pino";
import type { EndedTransaction } from "../database/write.ts";
import type { AnsweredRequest } from "../http/metrics.ts";
import { type Labels, metricTable, type ObservedName, type Readings } from "./table.ts";

export interface Metrics {
  /** The media type of what `text` answers. */
  contentType: "text/plain; version=0.0.4; charset=utf-8";
  /** Everything that is measured, in the text format of Prometheus. */
  text(): Promise<string>;
  /** Set how the metrics are read that are not pushed by `noteRequest` and `noteTransaction`. */
  read(given: Readings): void;
  noteRequest(given: AnsweredRequest): void;
  noteTransaction(given: EndedTransaction): void;
}

/** Counts of what keeps the event loop alive: some are named as counters are, which Prometheus' linter refuses, and each scrape lists every socket. */
const unwanted = /^nodejs_active_/;
const methods = new Set(["GET", "HEAD", "POST", "PUT", "PATCH", "DELETE", "OPTIONS"]);
/** For how long a value that had to be looked up is used again. */
const sharedMs = 5000;

type Samples = readonly (readonly [Readonly<Record<string, string>>, number])[];
type Value = number | undefined | Samples;
type Read = () => Value | Promise<Value>;

/** The metrics of this process. They are measured from now on, and read when somebody asks for them. */
export function createMetrics(logger: Logger): Metrics {
  const registry = new Registry();
  collectDefaultMetrics({ register: registry });
  for (const { name } of registry.getMetricsAsArray()) if (unwanted.test(name)) registry.removeSingleMetric(name);
  const readings: Record<string, Read> = {};
  const failing = new Set<string>();

  /** One that cannot be read is left out, and does not keep the others from being shown. */
  async function valuesOf(name: string): Promise<Samples> {
    try {
      const value = await readings[name]?.();
      failing.delete(name);
      return typeof value === "object" ? value : value === undefined ? [] : [[{}, value]];
    } catch (error) {
      if (!failing.has(name)) logger.warn({ err: error, metric: name }, "a metric cannot be read and is left out until it can");
      failing.add(name);
      return [];
    }
  }

  const observed = new Map<string, Histogram>();
  for (const [name, { type, help, labels, ...more }] of Object.entries(metricTable)) {
    const given = { name, help, labelNames: [...labels], registers: [registry] };
    if (type === "histogram" && "buckets" in more) {
      observed.set(name, new Histogram({ ...given, buckets: [...more.buckets] }));
      continue;
    }
    const metric = new (type === "counter" ? Counter : Gauge)({
      ...given,
      async collect() {
        const values = await valuesOf(name);
        metric.reset();
        // Without a value, prom-client tells 0 where there are no labels.
        if (labels.length === 0) metric.remove({});
        for (const [at, value] of values) metric.inc(at, value);
      },
    });
  }

  function observe<Name extends ObservedName>(name: Name, labels: Labels<Name>, seconds: number): void {
    observed.get(name)?.observe(labels, seconds);
  }

  return {
    contentType: registry.contentType,
    text: (): Promise<string> => registry.metrics(),
    read(given: Readings): void {
      for (const [name, read] of Object.entries(given)) readings[name] = shared(read);
    },
    noteRequest({ method, route, status, milliseconds }: AnsweredRequest): void {
      const labels = { method: methods.has(method) ? method : "other", route: route === "" ? "unknown" : route, status: status.toString() };
      observe("provost_http_request_duration_seconds", labels, milliseconds / 1000);
    },
    noteTransaction({ outcome, waitedMs, ranMs }: EndedTransaction): void {
      observe("provost_database_wait_seconds", {}, waitedMs / 1000);
      if (ranMs !== undefined) observe("provost_database_transaction_duration_seconds", { outcome }, ranMs / 1000);
    },
  };
}

/** A value at hand is read anew each time; one that has to be looked up is shared with the scrapes of the last seconds. */
function shared(read: Read): Read {
  let last: { value: Promise<Value>; at: number } | undefined;
  return () => {
    if (last !== undefined && performance.now() - last.at < sharedMs) return last.value;
    const value = read();
    last = value instanceof Promise ? { value, at: performance.now() } : undefined;
    return value;
  };
}
