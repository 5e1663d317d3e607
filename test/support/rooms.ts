import pino from "pino";
import type { Database } from "../../src/database/database.ts";
import { createConfirmationsService, type ConfirmationsDeps } from "../../src/features/confirmations/confirmations.service.ts";
import { createEventsService } from "../../src/features/events/events.service.ts";
import { createLinkReach } from "../../src/features/links/reach.ts";
import { createErasures } from "../../src/features/privacy/erasures.ts";
import { createDataReads } from "../../src/features/privacy/reads.ts";
import { createServerFacts } from "../../src/features/servers/facts.ts";
import type { Clock } from "../../src/kernel/clock.ts";
import { keyedHash } from "../../src/kernel/secrets.ts";

export const silent = pino({ level: "silent" });

/** Events and confirmations as rooms need them; nothing has to be confirmed unless told. */
export function createJournals(
  deps: Omit<ConfirmationsDeps, "events" | "reach" | "logger" | "confirmInDiscord" | "secondPersonForDanger">,
  settings: Partial<Pick<ConfirmationsDeps, "confirmInDiscord" | "secondPersonForDanger">> = {},
) {
  const events = createEventsService(deps);
  const together = { ...deps, logger: silent, events, reach: createLinkReach() };
  const confirmations = createConfirmationsService({ ...together, confirmInDiscord: [], secondPersonForDanger: false, ...settings });
  return { events, confirmations };
}

/** What intelligence and authorization need of other rooms, where a test puts rooms together by hand: nobody stands above anybody. */
export function createNeighbours({ database, clock, serversKey }: { database: Database; clock: Clock; serversKey: Buffer }) {
  const erasures = createErasures({ hashOf: (userId) => keyedHash(serversKey, userId), journal: { append: () => Promise.resolve() } });
  const reads = createDataReads({ database, erasures, clock, logger: silent });
  return {
    facts: createServerFacts(),
    reach: createLinkReach(),
    reads,
    logger: silent,
    erasures,
    hashOf: (serverId: string) => keyedHash(serversKey, serverId),
    permissions: { requireRankAbove: () => undefined },
    servedGuilds: new Set<string>(),
    events: createEventsService({ database, clock }),
  };
}
