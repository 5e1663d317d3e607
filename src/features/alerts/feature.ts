import { feature } from "../../compose.ts";
import type { Core } from "../../core.ts";
import { translator } from "../../kit/say.ts";
import type { ChannelsService } from "../channels/channels.service.ts";
import type { EventsService } from "../events/events.service.ts";
import type { FollowedEntries } from "../follows/entries.ts";
import type { Keeping, Posting } from "../messages/keeping.ts";
import { alertMessage, type Ground } from "./commands/alert-message.ts";
import { createAlerts } from "./alerts.ts";

interface AlertsNeeds extends Core {
  pressOf: Ground["pressOf"];
  channels: ChannelsService;
  followedEntries: Pick<FollowedEntries, "nameOf">;
  events: EventsService;
  posting: Posting;
  keeping: Keeping;
}

/** What needs attention, told in the alerts channels of guilds, each in the language of its server. */
export const alerts = feature({
  create: (deps: AlertsNeeds) => ({
    alerts: createAlerts({
      ...deps,
      look: (alert, guildId) =>
        alertMessage(
          alert,
          { t: translator(deps.guildState.preferredLocale(guildId) ?? "en"), pressOf: deps.pressOf },
          {
            list: deps.followedEntries.nameOf(String(alert.data["list"])),
            server: deps.guildState.guilds().find(({ id }) => id === guildId)?.name,
          },
        ),
    }),
  }),
  jobs: ({ alerts }) => ({ alerts: alerts.sweep }),
  metrics: ({ alerts }) => ({ provost_alerts_skipped_total: alerts.skipped }),
  start: ({ alerts }) => alerts.start(),
  stop: ({ alerts }) => ({ alerts: alerts.stop }),
});
