import { resolutionOutcomes } from "../features/intelligence/intelligence.schema.ts";
import type { OptionSpec, PressSpec } from "./entry.ts";

export const userOption: OptionSpec = { name: "user", kind: "person", required: true };
export const outcomeOption: OptionSpec = { name: "outcome", kind: "text", required: true, choices: resolutionOutcomes };
const carries = [userOption];

export const altsShowPress: PressSpec = { name: "as", carries };
export const matchesPress: PressSpec = { name: "im", carries };
export const serversPress: PressSpec = { name: "is", carries };
export const resolvePress: PressSpec = {
  name: "ir",
  carries: [userOption, { name: "match", kind: "text" }, outcomeOption, { name: "revision", kind: "whole" }],
};
