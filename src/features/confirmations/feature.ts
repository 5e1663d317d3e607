import { confirmationCommands, createConfirmControls } from "./confirmations.commands.ts";
import { feature } from "../../compose.ts";
import type { Core } from "../../core.ts";
import { confirmationsRoutes } from "./confirmations.routes.ts";
import { type ConfirmationsDeps, createConfirmationsService } from "./confirmations.service.ts";

export const confirmations = feature({
  commands: confirmationCommands,
  controls: (_all, verbs) => createConfirmControls(verbs),
  create: ({ config, ...deps }: Omit<ConfirmationsDeps, "confirmInDiscord" | "secondPersonForDanger"> & Pick<Core, "config">) => {
    const { confirmInDiscord, secondPersonForDanger } = config;
    return { confirmations: createConfirmationsService({ ...deps, confirmInDiscord, secondPersonForDanger }) };
  },
  routes: ({ confirmations }) => confirmationsRoutes(confirmations),
  jobs: ({ confirmations }) => ({ confirmations: { run: confirmations.expireDue, nextDue: confirmations.nextDue } }),
});
