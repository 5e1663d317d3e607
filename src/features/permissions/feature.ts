import { permissionCommands } from "./permissions.commands.ts";
import { feature } from "../../compose.ts";
import type { Core } from "../../core.ts";
import { permissionsRoutes } from "./permissions.routes.ts";
import { createPermissionsService, type PermissionsDeps } from "./permissions.service.ts";
import { createAccess } from "./access/access-directory.ts";

/** What everybody on the staff may do, in memory: the first of all, as nothing is answered without it. */
export const access = feature({
  create({ config, database, guildState, clock, logger, changes }: Core) {
    const { ownerIds } = config.discord;
    return { access: createAccess({ database, guildState, ownerIds, leaveBars: config.leaveAccess === "none", clock, logger, changes }) };
  },
  async load({ guildState, access }) {
    await guildState.load();
    await access.load();
  },
  close: ({ access }) => access.close(),
});

export const permissions = feature({
  commands: permissionCommands,
  create: (deps: PermissionsDeps) => ({ permissions: createPermissionsService(deps) }),
  routes: ({ permissions }) => permissionsRoutes(permissions),
  jobs: ({ permissions }) => ({ permissions: { run: permissions.expireDue, nextDue: permissions.nextDue } }),
});
