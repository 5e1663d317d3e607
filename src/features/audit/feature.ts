import { auditCommands } from "./audit.commands.ts";
import type { Jobs } from "../../jobs.ts";
import { feature } from "../../compose.ts";
import type { Core } from "../../core.ts";
import { auditRoutes } from "./audit.routes.ts";
import { createAuditService } from "./audit.service.ts";
import { createCheckpoints } from "./checkpoints.ts";
import { createSharedCheckpoints } from "./shared-checkpoints.ts";
import { createSigner } from "./sign.ts";
import { epochSeconds } from "../../kernel/clock.ts";

export const audit = feature({
  commands: auditCommands,
  create({ config, database, instanceId, keyFor, cursors, clock, logger, cluster }: Core) {
    const { auditEntry } = database.read;
    const origin = () => Promise.resolve(instanceId);
    const keeper = createCheckpoints({
      path: config.auditCheckpoints,
      signer: createSigner(keyFor("audit-checkpoints")),
      minutes: config.auditCheckpointMinutes,
      origin,
      head: async () => (await auditEntry.findFirst({ orderBy: { seq: "desc" }, select: { seq: true, hash: true } })) ?? undefined,
      hashAt: async (seq) => (await auditEntry.findUnique({ where: { seq }, select: { hash: true } }))?.hash,
      clock,
      logger,
      ...((config.cluster || cluster.isOn) && { shared: createSharedCheckpoints(database, cluster.isLeader) }),
    });
    const checkpoints = { keeper, path: config.auditCheckpoints };
    const detailsDays = config.auditDetailsDays;
    return { audit: createAuditService({ database, cursors, clock, logger, detailsDays, checkpoints, origin }) };
  },
  routes: ({ audit }) => auditRoutes(audit),
  jobs: ({ audit }) => ({ audit: audit.sweep }),
  jobsEach: ({ audit, cluster }): Jobs => (cluster.isOn ? { auditCheckpoints: audit.copyCheckpoints } : {}),
  metrics: ({ audit }) => ({
    provost_audit_head_sequence: audit.headSequence,
    provost_audit_checkpoint_sequence: async () => (await audit.signed())?.seq ?? 0,
    async provost_audit_checkpoint_timestamp_seconds() {
      const signed = await audit.signed();
      return epochSeconds(signed && new Date(signed.at));
    },
  }),
  close: ({ audit }) => audit.close(),
});
