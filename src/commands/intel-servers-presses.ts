import type { OptionSpec, PressSpec } from "./entry.ts";

/** The option that names a registered server, by its id or an alias. */
export const serverOption: OptionSpec = { name: "server", kind: "text", required: true, completes: "registered-server", max: 40 };

const carries = [serverOption];
export const registeredPress: PressSpec = { name: "vs", carries };
export const agreementsPress: PressSpec = { name: "va", carries };
export const incidentsPress: PressSpec = { name: "vi", carries };
