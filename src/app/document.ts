import { existsSync, readFileSync } from "node:fs";
import type { Config, Operator } from "../config/config.ts";
import { defaultRateLimits } from "../config/values.ts";
import { routeTable } from "../features.ts";
import { createHttpApp } from "../http/http-app.ts";
import type { DocumentInfo, OpenApiDocument } from "../http/openapi/document.ts";
import { systemClock } from "../kernel/clock.ts";
import { ProblemError } from "../kernel/errors.ts";
import { knownPermissions } from "../kernel/permissions.ts";
import { workflowKinds } from "../kernel/vocabulary.ts";
import { createLogger } from "../logger.ts";
import { createRateLimiters } from "../operations/rate-limit.ts";
import { generatedFile } from "../package-folder.ts";
import { version } from "../version.ts";

/** What routes are checked against, and documented with. */
export const described = {
  info: {
    title: "Provost",
    version,
    description:
      "Moderation backend for Discord communities: authorization, server intelligence, staff, permissions, blacklist, workflow requests and audit.",
  },
  known: { permissions: knownPermissions, expansions: { type: workflowKinds } },
  builtDocument,
};

/** What `npm run build` wrote of the document; nothing in a checkout that is not built. */
function builtDocument(unsupportedStatus: Config["http"]["unsupportedStatus"]): OpenApiDocument | undefined {
  const file = generatedFile(builtDocumentName(unsupportedStatus));
  return existsSync(file) ? (JSON.parse(readFileSync(file, "utf8")) as OpenApiDocument) : undefined;
}

/** The file beside a build that holds the document of installations with this setting. */
export const builtDocumentName = (unsupportedStatus: Config["http"]["unsupportedStatus"]): string =>
  `openapi-${unsupportedStatus.toString()}.json`;

/** The OpenAPI document. It needs no environment and no database. */
export function openApiDocument(unsupportedStatus: Config["http"]["unsupportedStatus"] = 501): OpenApiDocument {
  return createHttpApp({
    ...described,
    routes: routeTable(),
    pages: [],
    authenticate: () => {
      throw new ProblemError("invalid_credentials");
    },
    limiters: createRateLimiters(defaultRateLimits),
    logger: createLogger("silent", process.stderr),
    clock: systemClock,
    switchedOff: () => undefined,
    unsupportedStatus,
    isShuttingDown: () => true,
    requireIfMatch: false,
    fingerprintKey: Buffer.alloc(0),
  }).document();
}

/** Whom the author of a client can ask. */
export function documentContact({ name, contact }: Operator): Pick<DocumentInfo, "contact"> {
  if (name === null && contact === null) return {};
  const email = contact?.startsWith("mailto:") === true ? contact.slice("mailto:".length) : undefined;
  const url = email === undefined ? contact : null;
  return { contact: { ...(name !== null && { name }), ...(url !== null && { url }), ...(email !== undefined && { email }) } };
}
