import { createConfirmationsService } from "../../src/features/confirmations/confirmations.service.ts";
import type { ConfirmationsDeps } from "../../src/features/confirmations/confirmations.service.ts";
import { createEventsService } from "../../src/features/events/events.service.ts";

/** Events and confirmations as rooms need them; nothing has to be confirmed unless told. */
export function createJournals(
  deps: Omit<ConfirmationsDeps, "events" | "confirmInDiscord" | "secondPersonForDanger">,
  settings: Partial<Pick<ConfirmationsDeps, "confirmInDiscord" | "secondPersonForDanger">> = {},
) {
  const events = createEventsService(deps);
  const confirmations = createConfirmationsService({ ...deps, events, confirmInDiscord: [], secondPersonForDanger: false, ...settings });
  return { events, confirmations };
}
