interface Metric {
  type: "counter" | "gauge" | "histogram";
  help: string;
  /** Each has few values, and none of them is about a person. */
  labels: readonly string[];
  /** Of a histogram: upper bounds. */
  buckets?: readonly number[];
}

const [counter, gauge, histogram] = ["counter", "gauge", "histogram"] as const;
const none = [] as const;

/** Every metric of our own, by its name in Prometheus. What Node and the process tell about themselves comes from prom-client. */
export const metricTable = {
  provost_build_info: { type: gauge, help: "The version that runs; always 1.", labels: ["version"] },
  provost_health_check: {
    type: gauge,
    help: "1 for the status that a check of GET /health has, 0 for the others.",
    labels: ["check", "status"],
  },
  provost_http_request_duration_seconds: {
    type: histogram,
    help: "How long requests took until their answer was handed over, by route template; 499: the client left before.",
    labels: ["method", "route", "status"],
    buckets: [0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 10],
  },
  provost_rate_limit_refusals_total: {
    type: counter,
    help: "What was refused because a rate limit was used up, by class.",
    labels: ["limit"],
  },
  provost_nodes: { type: gauge, help: "Processes that serve this installation now, this one included.", labels: none },
  provost_node_leads: {
    type: gauge,
    help: "1 where this process has the link to Discord and does what only one may do, 0 elsewhere.",
    labels: none,
  },
  provost_event_streams_open: { type: gauge, help: "Clients that follow GET /events now.", labels: none },
  provost_webhooks: { type: gauge, help: "Web-hooks, by their state.", labels: ["state"] },
  provost_webhook_attempts_total: {
    type: counter,
    help: "Attempts to deliver events to web-hooks, by how they ended.",
    labels: ["outcome"],
  },
  provost_webhook_oldest_waiting_seconds: {
    type: gauge,
    help: "For how long the oldest event has waited that a web-hook has not taken; 0: none waits.",
    labels: none,
  },
  provost_followed_lists: { type: gauge, help: "Lists of others that are followed, by how their reading goes.", labels: ["state"] },
  provost_database_wait_seconds: {
    type: histogram,
    help: "How long writes waited until their transaction had begun.",
    labels: none,
    buckets: [0.0005, 0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.5, 1, 5, 15],
  },
  provost_database_transaction_duration_seconds: {
    type: histogram,
    help: "How long transactions took from their beginning to their end; conflict: the database took it back, and it is tried again.",
    labels: ["outcome"],
    buckets: [0.0005, 0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.5, 1, 5, 30],
  },
  provost_discord_gateway_state: {
    type: gauge,
    help: "1 for the state that the link to the gateway has, 0 for the others.",
    labels: ["state"],
  },
  provost_discord_gateway_ping_seconds: { type: gauge, help: "The last heartbeat of the gateway; absent without one.", labels: none },
  provost_discord_gateway_reconnects_total: { type: counter, help: "How often the link to the gateway was lost.", labels: none },
  provost_discord_events_not_understood_total: {
    type: counter,
    help: "Events of the gateway that could not be read or handled.",
    labels: none,
  },
  provost_discord_calls_total: {
    type: counter,
    help: "Calls to Discord's REST API, by what they were for and how they ended.",
    labels: ["purpose", "outcome"],
  },
  provost_discord_actions_total: {
    type: counter,
    help: "What the bot tried to do to people in Discord, by kind and how it ended; later: it is tried again, away: it waits for the person.",
    labels: ["kind", "outcome"],
  },
  provost_audit_log_entries_skipped_total: {
    type: counter,
    help: "Entries of servers' audit logs that could not be read or recorded, and were left out.",
    labels: none,
  },
  provost_deliveries_due: { type: gauge, help: "Effects of decided requests that are due and not done yet.", labels: none },
  provost_deliveries_failed: {
    type: gauge,
    help: "Effects of decided requests that failed and that nobody has tried again.",
    labels: none,
  },
  provost_cards_lag_seconds: { type: gauge, help: "For how long a review card has been due; 0: none is.", labels: none },
  provost_matches_total: { type: counter, help: "Matches that were opened or closed.", labels: ["change"] },
  provost_job_last_success_timestamp_seconds: {
    type: gauge,
    help: "When a job last came to its end without an error; 0: not yet since the start.",
    labels: ["job_name"],
  },
  provost_job_last_duration_seconds: { type: gauge, help: "How long the last run of a job took.", labels: ["job_name"] },
  provost_alerts_skipped_total: {
    type: counter,
    help: "Alerts that could not be shown as they were, and that were left out.",
    labels: none,
  },
  provost_job_failures_total: { type: counter, help: "Runs of a job that ended with an error.", labels: ["job_name"] },
  provost_audit_head_sequence: { type: gauge, help: "The position of the newest audit entry.", labels: none },
  provost_audit_checkpoint_sequence: { type: gauge, help: "The newest position of the audit chain that is signed; 0: none.", labels: none },
  provost_audit_checkpoint_timestamp_seconds: {
    type: gauge,
    help: "When the newest signed position of the audit chain was signed; 0: never.",
    labels: none,
  },
  provost_backup_last_success_timestamp_seconds: {
    type: gauge,
    help: "When the newest whole backup in BACKUP_DIR was made; 0: there is none, absent: BACKUP_DIR is not set.",
    labels: none,
  },
} as const satisfies Readonly<Record<`provost_${string}`, Metric>>;

type Table = typeof metricTable;
type NamesOf<Type> = { [Name in keyof Table]: Table[Name]["type"] extends Type ? Name : never }[keyof Table];
/** Metrics that are told of each thing that happens. */
export type ObservedName = NamesOf<"histogram">;
/** Metrics that are read when somebody asks. */
export type ReadName = NamesOf<"counter" | "gauge">;

/** A value for each label of a metric. */
export type Labels<Name extends keyof Table> = Readonly<Record<Table[Name]["labels"][number], string>>;
/** What a metric says now: a number, undefined where there is none to tell, or one for each combination of its labels. */
export type Reading<Name extends ReadName> = Table[Name]["labels"] extends readonly []
  ? number | undefined
  : readonly (readonly [Labels<Name>, number])[];

/** How metrics are read. One that has to look something up answers a promise, and is asked at most every few seconds. */
export type Readings = { readonly [Name in ReadName]?: () => Reading<Name> | Promise<Reading<Name>> };

/** One sample for each value that a label can have: 1 for the present one, 0 for the others. */
export function oneOf<Value extends string, L>(values: readonly Value[], present: Value, labels: (value: Value) => L): [L, number][] {
  return values.map((value) => [labels(value), value === present ? 1 : 0]);
}
