import type { Logger } from "pino";
import { createNightlyBackup } from "../backup/nightly.ts";
import { features, type Services } from "../features.ts";
import { createJobs } from "../jobs.ts";
import { endWithin } from "../kernel/ends.ts";

/**
 * How long the end of what only one process does waits for what is under way. What is left after that is found again by its lease or position, and
 * writes nothing once another process leads.
 */
const endMs = 4000;

interface LeadingOptions {
  services: Services;
  logger: Logger;
  /** Whether jobs run every minute. */
  isScheduled: boolean;
  /** Another process may lead from now on, and this one has ended what only one may do. */
  onDeposed(): void;
}

/** What only one process of an installation does: the link to Discord, what features follow, and the jobs. */
export function createLeading({ services, logger, isScheduled, onDeposed }: LeadingOptions) {
  const { config, database, clock, member, guildState, discord } = services;
  const nightly = createNightlyBackup({ ...config.backup, clock, logger });
  const jobs = createJobs({ ...features.jobs(services), database: database.sweep, backup: nightly.sweep }, logger, clock);
  let ended: Promise<void> | undefined;

  async function lead(): Promise<void> {
    // The process before may have written what this one has not read yet.
    if (member !== undefined) await guildState.load();
    if (ended !== undefined) return;
    discord.start();
    features.start(services);
    if (isScheduled) jobs.start();
  }

  const end = (): Promise<void> =>
    (ended ??= endWithin(
      endMs,
      { jobs: jobs.stop, backup: nightly.stop, ...features.stop(services), discord: discord.disconnect },
      logger,
    ));

  const depose = (): void => {
    logger.warn("this process leads no more");
    void end().then(onDeposed);
  };

  return {
    jobs,
    nightly,
    /** Lead at once where this is the only process, and otherwise once no other one does. */
    async start(): Promise<void> {
      if (member === undefined) return lead();
      const onWon = (): void =>
        void lead().catch((error: unknown) => {
          logger.error({ err: error }, "this process could not begin to lead");
          void member.handOver().finally(depose);
        });
      member.start({ onWon, onLost: depose });
    },
    /** End it, within a few seconds whatever any feature does. It does not begin again: another app leads the next time. */
    end,
  };
}
