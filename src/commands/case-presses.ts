import { timelineKinds } from "../features/timeline/timeline.schema.ts";
import type { OptionSpec, PressSpec } from "./entry.ts";

/** The option that names a case. */
export const caseOption: OptionSpec = { name: "case", kind: "text", required: true, completes: "case", max: 40 };

const carries = [caseOption];
export const caseShowPress: PressSpec = { name: "cs", carries };
export const caseNotesPress: PressSpec = { name: "cn", carries };
export const caseFilesPress: PressSpec = { name: "cf", carries };
export const caseHistoryPress: PressSpec = { name: "ch", carries };

/** Which part of somebody's history is shown. */
export const timelineKind: OptionSpec = { name: "kind", kind: "text", choices: timelineKinds };
export const personTimelinePress: PressSpec = { name: "ct", carries: [{ name: "user", kind: "person" }, timelineKind] };
