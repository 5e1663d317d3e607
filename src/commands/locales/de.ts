import { deRecords } from "./de-records.ts";
import { deSetup } from "./de-setup.ts";
import { deStaff } from "./de-staff.ts";
import { deWorkflows } from "./de-workflows.ts";
import { deRegistry } from "./de-registry.ts";
import { deDoor } from "./de-door.ts";
/** German. */
export const de: Readonly<Record<string, string>> = {
  ...deRecords,
  ...deStaff,
  ...deSetup,
  ...deRegistry,
  ...deWorkflows,
  ...deDoor,
};
