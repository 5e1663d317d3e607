import { enRecords } from "./en-records.ts";
import { enLabels } from "./en-labels.ts";
import { enServers } from "./en-servers.ts";
import { enSetup } from "./en-setup.ts";
import { enStaff } from "./en-staff.ts";
import { enPayloads } from "./en-payloads.ts";
import { enWorkflows } from "./en-workflows.ts";
import { enRegistry } from "./en-registry.ts";
import { interactionTexts } from "../../discord/replies.ts";
/** English: every text of commands and replies. */
export const en: Readonly<Record<string, string>> = {
  ...enLabels,
  ...enRecords,
  ...enServers,
  ...enStaff,
  ...enSetup,
  ...enRegistry,
  ...enPayloads,
  ...enWorkflows,
  ...interactionTexts,
  "* callsign": "Which callsign",
  "* pool": "Which pool",
  "* fill": "Which number of those that are free",
  "* user": "Whom it is about",
  "* reason": "Why; kept in the audit",
  "* state": "In which state",
  "button go": "Yes, do it",
  "button again": "Change and send again",
  "button fill": "Change it",
  "say fill": "This is how it reads now:",
  "button cancel": "Cancel",
  "button confirm": "Confirm",
  "button decline": "Decline",
  "button csv": "CSV",
  "button json": "JSON",
  "held waits": "Nothing is changed yet: {summary}\nIt waits for {who}, and ends {until}. Code: `{code}`",
  "held acting_user": "your own word",
  "held second_person": "a second person",
  "label value": "Value",
  "say cancelled": "Nothing was done.",
  "say file": "Here is the file.",
  "say file-cut": "Here is the file. It holds the first {count} lines; the rest is given over HTTP.",
  "say in-file": "Not all of it fits here; the file has the rest.",
  "say nothing-found": "Nothing was found.",
  "say page": "Page {page}",
};
