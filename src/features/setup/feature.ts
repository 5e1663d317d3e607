import { feature } from "../../compose.ts";
import { createWizardControls } from "./commands/wizard.ts";
import { setupCommands } from "./setup.commands.ts";

/** `/setup`: the guide through roles, channels, rules and clients, by the operations of other features. */
export const setup = feature({
  create: () => ({}),
  commands: setupCommands,
  controls: (_all, verbs) => createWizardControls(verbs),
});
