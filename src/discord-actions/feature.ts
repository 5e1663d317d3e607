import { feature } from "../compose.ts";
import { createCausesInForce } from "./in-force.ts";

/** Why the bot acts on people in Discord. Every feature that has it do so registers where it keeps its causes. */
export const causesInForce = feature({ create: () => ({ causesInForce: createCausesInForce() }) });
