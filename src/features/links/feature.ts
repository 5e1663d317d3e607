import { linkCommands } from "./links.commands.ts";
import { feature } from "../../compose.ts";
import { linksRoutes } from "./links.routes.ts";
import { createLinksService, type LinksDeps } from "./links.service.ts";
import { createConflicts, type ConflictsDeps } from "./conflicts.ts";
import { createLinkReach } from "./reach.ts";

/** Which accounts belong together, as other features ask it. */
export const linkReach = feature({ create: () => ({ reach: createLinkReach() }) });

/** Who is too close to somebody to decide about them, as other features ask it. */
export const conflicts = feature({ create: (deps: ConflictsDeps) => ({ conflicts: createConflicts(deps) }) });

export const links = feature({
  commands: linkCommands,
  create: (deps: LinksDeps) => ({ links: createLinksService(deps) }),
  routes: ({ links }) => linksRoutes(links),
  jobs: ({ links }) => ({ links: links.expireDue }),
});
