import { queueBoard } from "./commands/board.ts";
import { createDoing } from "./commands/doing.ts";
import { createFiles } from "./commands/files.ts";
import { createKept } from "./commands/kept.ts";
import { sharedCard } from "./commands/review-card.ts";
import { createReviewControls } from "./commands/review-controls.ts";
import { sayIn } from "./commands/texts.ts";
import { createVerbs, type RequestPlaces, type Verbs, type VerbsDeps } from "./commands/verbs.ts";
import type { Core } from "./core.ts";
import type { InteractionHandlers } from "./discord/interactions/dispatcher.ts";
import type { AuditService } from "./features/audit/audit.service.ts";
import type { Standings } from "./features/permissions/standing/standing.ts";
import type { Cards } from "./features/workflows/cards/cards.ts";
import type { ShownQueue, ShownRequest } from "./features/workflows/cards/shown.ts";

const say = sayIn("en-GB");

/** How a request and the queue look in a channel that everybody there reads: in English. */
export const looks = {
  request: (shown: ShownRequest) => sharedCard(shown, say),
  queue: (shown: ShownQueue) => queueBoard(shown, say),
};

export type AroundVerbs = (verbs: Verbs) => Verbs;

interface InteractionsDeps extends Pick<Core, "discord" | "publicUrl"> {
  audit: Pick<AuditService, "noteDenied">;
  standing: Pick<Standings, "actorOf">;
  cards: Pick<Cards, "refresh">;
  requestPlaces: RequestPlaces;
}

interface InteractionsOptions extends Pick<VerbsDeps, "routes" | "switchedOff"> {
  known: { permissions: VerbsDeps["knownPermissions"] };
  aroundVerbs?: AroundVerbs | undefined;
}

/** What answers slash commands, buttons, menus and forms: the operations of the HTTP routes. */
export function createInteractions(
  { discord, publicUrl, audit, standing, cards, requestPlaces }: InteractionsDeps,
  { routes, known, switchedOff, aroundVerbs = (verbs) => verbs }: InteractionsOptions,
): InteractionHandlers {
  const files = createFiles(discord.attachments);
  const verbs = aroundVerbs(createVerbs({ requests: requestPlaces, routes, knownPermissions: known.permissions, switchedOff, ...files }));
  const { commands, controls } = createDoing(verbs, createKept(), publicUrl);
  return {
    commands,
    controls: [...controls, ...createReviewControls(verbs, cards.refresh)],
    translator: sayIn,
    actorOf: standing.actorOf,
    noteDenied: audit.noteDenied,
    denialOf: verbs.denialOf,
  };
}
