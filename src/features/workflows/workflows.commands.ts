import type { CommandSet } from "../../commands/entry.ts";
import { requestMenuEntries, requestMenus } from "./commands/menus.ts";
import { requestEntries } from "./commands/request.ts";
import { reviewEntries } from "./commands/review.ts";
import { workflowSources } from "./commands/sources.ts";

/** What Discord offers of requests: filing, `/request`, and deciding, `/review`. */
export const workflowCommands: CommandSet = {
  entries: [...requestEntries, ...reviewEntries],
  menus: requestMenus,
  menuEntries: requestMenuEntries,
  sources: workflowSources,
};
