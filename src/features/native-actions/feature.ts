import { feature } from "../../compose.ts";
import type { Core } from "../../core.ts";
import { requirePermission } from "../../kernel/call.ts";
import { nativeActionsCommands } from "./native-actions.commands.ts";
import { nativeActionsListeners } from "./native-actions.listeners.ts";
import { nativeActionsPolicy } from "./native-actions.policy.ts";
import { nativeActionsRoutes } from "./native-actions.routes.ts";
import { createNativeActionsService } from "./native-actions.service.ts";
import { createNativeRecords } from "./records.ts";
import { createNativeWatch } from "./watch.ts";

type Needs = Pick<Core, "database" | "cursors" | "discord" | "clock" | "logger">;

/** What others did in Discord: seen in the audit logs of the guilds, recorded, and told to whoever keeps a ledger of what the bot did. */
export const nativeActions = feature({
  commands: nativeActionsCommands,
  create(deps: Needs) {
    const nativeRecords = createNativeRecords(deps);
    const nativeWatch = createNativeWatch({ ...deps, records: nativeRecords });
    return { nativeActions: createNativeActionsService({ ...deps, watch: nativeWatch }), nativeRecords, nativeWatch };
  },
  routes: ({ nativeActions }) => nativeActionsRoutes(nativeActions),
  listeners: ({ nativeWatch }) => nativeActionsListeners(nativeWatch),
  jobs: ({ nativeWatch }) => ({
    nativeActions(call) {
      requirePermission(call, nativeActionsPolicy.tend);
      return nativeWatch.tend();
    },
  }),
  metrics: ({ nativeWatch }) => ({ provost_audit_log_entries_skipped_total: nativeWatch.skipped }),
  stop: ({ nativeWatch }) => ({ nativeActions: nativeWatch.stop }),
});
