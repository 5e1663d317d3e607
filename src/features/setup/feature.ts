import { feature } from "../../compose.ts";
import type { GuidePart } from "../../commands/guide.ts";
import { createWizard } from "./commands/wizard.ts";

/** The guide through what a server goes by. @param parts what the features add to it */
export function setup(parts: () => readonly GuidePart[]) {
  return feature({
    create: () => ({}),
    controls: (_all, verbs) => createWizard(parts()).controls(verbs),
  });
}
