import { feature } from "../../compose.ts";
import type { Core } from "../../core.ts";
import type { SignInService } from "../privacy/sign-in/sign-in.service.ts";
import { authorizationPages } from "./authorization.pages.ts";
import { authorizationRoutes } from "./authorization.routes.ts";
import { type AuthorizationDeps, createAuthorizationService } from "./authorization.service.ts";
import { createConsentNames } from "./consent-names.ts";
import { createConsentEnds } from "./grants/consent-end.ts";
import { createGrantsService } from "./grants/grants.service.ts";

/** Who agreed to what, as other features ask it, and what they do when that ends. */
export const grants = feature({
  create: ({ database, clock }: Core) => ({
    grants: createGrantsService({ read: database.read, clock }),
    consentEnds: createConsentEnds(),
  }),
});

type FromConfig = "serverDetail" | "returnTo" | "pagesKey" | "cooldownSeconds";

export const authorization = feature({
  create({ config, keyFor, ...deps }: Omit<AuthorizationDeps, FromConfig> & Core & Record<"signIn" | "appealSignIn", SignInService>) {
    const { serverDetail, returnTo, refreshCooldownSeconds: cooldownSeconds } = config;
    return { authorization: createAuthorizationService({ ...deps, serverDetail, returnTo, cooldownSeconds, pagesKey: keyFor("pages") }) };
  },
  routes: ({ authorization }) => authorizationRoutes(authorization),
  pages({ config, database, guildState, signIn, appealSignIn, ...services }) {
    return authorizationPages({
      ...services,
      signIns: [signIn, appealSignIn],
      names: createConsentNames({ read: database.read, guildState }),
      returnTo: config.returnTo,
    });
  },
  jobs: ({ authorization }) => ({
    authorization: { run: authorization.sweep, nextDue: authorization.nextDue },
    sealedTexts: authorization.renewForms,
  }),
  start: ({ authorization }) => authorization.revocations.start(),
  stop: ({ authorization }) => ({ revocations: authorization.revocations.stop }),
});
