import { feature } from "../../compose.ts";
import type { Core } from "../../core.ts";
import { createOutgoing } from "../../outgoing.ts";
import type { AuditService } from "../audit/audit.service.ts";
import type { EventsService } from "../events/events.service.ts";
import type { EventStreamsService } from "../events/streams.service.ts";
import { createAttempts } from "./attempt.ts";
import { createProgress } from "./progress.ts";
import { createWebhookRecords } from "./records.ts";
import { createRunner } from "./runner.ts";
import { createSights, type SightDeps } from "./sight.ts";
import { webhookEntries, webhookSources } from "./webhooks.commands.ts";
import { most } from "./webhooks.policy.ts";
import { webhooksRoutes } from "./webhooks.routes.ts";
import { createWebhooksService } from "./webhooks.service.ts";

interface WebhooksNeeds extends Core, Pick<SightDeps, "keyStore" | "access"> {
  audit: AuditService;
  events: EventsService;
  eventStreams: EventStreamsService;
}

const timeoutMs = 10_000;
/** One for each web-hook, and some for tests and redeliveries. */
const connections = { kept: most.all, all: most.all + 50 };

/** Addresses that are told of events. */
export const webhooks = feature({
  create(deps: WebhooksNeeds) {
    const { config, stopping, pauses } = deps;
    const outgoing = createOutgoing({ allowed: config.webhookAllowPrivate, stopping, timeoutMs, connections });
    const ground = {
      ...deps,
      outgoing,
      attemptsAt: createAttempts({ ...deps, outgoing }),
      sightOf: createSights(deps),
      records: createWebhookRecords(deps),
      progress: createProgress(deps),
    };
    const runner = createRunner({ ...ground, pace: pauses.webhookRetry, closeConnections: outgoing.close });
    return { webhooks: createWebhooksService({ ...ground, runner }), webhookRunner: runner };
  },
  commands: { sources: webhookSources },
  guide: { entries: webhookEntries },
  routes: ({ webhooks }) => webhooksRoutes(webhooks),
  jobs: ({ webhookRunner }) => ({ webhooks: webhookRunner.sweep }),
  start: ({ webhookRunner }) => webhookRunner.start(),
  stop: ({ webhookRunner }) => ({ webhooks: webhookRunner.stop }),
  metrics: ({ webhookRunner }) => ({
    provost_webhooks: webhookRunner.byState,
    provost_webhook_attempts_total: webhookRunner.attempts,
    provost_webhook_oldest_waiting_seconds: webhookRunner.oldestWaiting,
  }),
});
