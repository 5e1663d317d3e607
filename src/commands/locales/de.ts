import { deRecords } from "./de-records.ts";
import { deLabels } from "./de-labels.ts";
import { deServers } from "./de-servers.ts";
import { deSetup } from "./de-setup.ts";
import { deStaff } from "./de-staff.ts";
import { dePayloads } from "./de-payloads.ts";
import { deWorkflows } from "./de-workflows.ts";
import { deRegistry } from "./de-registry.ts";
import { deDoor } from "./de-door.ts";
import { deProblems } from "./de-problems.ts";
/** German. */
export const de: Readonly<Record<string, string>> = {
  ...deLabels,
  ...deRecords,
  ...deServers,
  ...deStaff,
  ...deSetup,
  ...deRegistry,
  ...dePayloads,
  ...deWorkflows,
  ...deDoor,
  ...deProblems,
};
