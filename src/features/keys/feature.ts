import { feature } from "../../compose.ts";
import type { Core } from "../../core.ts";
import type { AccessDirectory } from "../permissions/access/access-directory.ts";
import { createAssertions } from "./assertion.ts";
import { createAuthenticate } from "./authenticate.ts";
import { clientEntries, clientSource, keyStep } from "./keys.commands.ts";
import { keysRoutes } from "./keys.routes.ts";
import { createKeysService, type KeysDeps } from "./keys.service.ts";
import { createKeyStore } from "./store.ts";

export const keys = feature({
  create({
    keyFor,
    instanceId,
    access,
    ...deps
  }: Omit<KeysDeps, "pepper" | "access"> &
    Pick<Core, "keyFor" | "instanceId" | "clock" | "logger" | "changes" | "claims"> & { access: AccessDirectory }) {
    const pepper = keyFor("api-keys");
    const keys = createKeysService({ ...deps, access, pepper });
    const keyStore = createKeyStore({ ...deps, access, keys, pepper });
    const verifyAssertion = createAssertions({ audience: instanceId, clock: deps.clock, claims: deps.claims });
    return { keys, keyStore, authenticate: createAuthenticate({ store: keyStore, access, verifyAssertion, clock: deps.clock }) };
  },
  commands: { sources: { client: clientSource } },
  guide: { entries: clientEntries, step: keyStep },
  routes: ({ keys }) => keysRoutes(keys),
  jobs: ({ keys }) => ({ keys: keys.sweep }),
  close: ({ keyStore }) => keyStore.close(),
});
