import { rolesStep } from "./commands/roles-step.ts";
import { staffCommands } from "./staff.commands.ts";
import { feature } from "../../compose.ts";
import { staffRoutes } from "./staff.routes.ts";
import { createStaffService, type StaffDeps } from "./staff.service.ts";

export const staff = feature({
  commands: staffCommands,
  guide: { step: rolesStep },
  create: (deps: StaffDeps) => ({ staff: createStaffService(deps) }),
  routes: ({ staff }) => staffRoutes(staff),
  jobs: ({ staff }) => ({ staff: { run: staff.expireDue, nextDue: staff.nextDue } }),
});
