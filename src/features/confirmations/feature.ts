import { confirmedLimit, confirmedSize } from "../../discord/confirmed-text.ts";
import { confirmationCommands, createConfirmControls } from "./confirmations.commands.ts";
import { feature } from "../../compose.ts";
import type { Core } from "../../core.ts";
import { confirmationsRoutes } from "./confirmations.routes.ts";
import { type ConfirmationsDeps, createConfirmationsService } from "./confirmations.service.ts";

export const confirmations = feature({
  commands: confirmationCommands,
  controls: (_all, verbs) => createConfirmControls(verbs),
  create: ({ config, ...deps }: Omit<ConfirmationsDeps, "confirmInDiscord" | "secondPersonForDanger" | "fits"> & Pick<Core, "config">) => {
    const { confirmInDiscord, secondPersonForDanger } = config;
    const fits = (summary: string): boolean => confirmedSize(summary) <= confirmedLimit;
    return { confirmations: createConfirmationsService({ ...deps, confirmInDiscord, secondPersonForDanger, fits }) };
  },
  routes: ({ confirmations }) => confirmationsRoutes(confirmations),
  jobs: ({ confirmations }) => ({ confirmations: { run: confirmations.expireDue, nextDue: confirmations.nextDue } }),
});
