import { refuseHalfRestored } from "../backup/marker.ts";
import { loadConfigOrExit, type Config } from "../config/config.ts";
import type { Secrets } from "../config/secrets.ts";
import type { AuditService } from "../features/audit/audit.service.ts";
import type { BlacklistService } from "../features/blacklist/blacklist.service.ts";
import type { BlacklistTransfer } from "../features/blacklist/import/import.service.ts";
import type { AuthorizationService } from "../features/authorization/authorization.service.ts";
import type { EvidenceService } from "../features/evidence/evidence.service.ts";
import type { GuildState } from "../discord/guild-state.ts";
import type { KeyView } from "../features/keys/keys.schema.ts";
import type { KeysService } from "../features/keys/keys.service.ts";
import type { PermissionsService } from "../features/permissions/permissions.service.ts";
import type { AccessDirectory } from "../features/permissions/access/access-directory.ts";
import type { PrivacyService } from "../features/privacy/privacy.service.ts";
import { databaseRefusal } from "../database/refusals.ts";
import { systemCall, type Call } from "../kernel/call.ts";
import { ProblemError } from "../kernel/errors.ts";
import { uuid7 } from "../kernel/ids.ts";
import { requireSecretKey } from "../secret-key.ts";

/** What the command line uses of the services. */
export interface Services {
  keys: Pick<KeysService, "bootstrap" | "create" | "get" | "list" | "revoke" | "rotate" | "update">;
  audit: Pick<AuditService, "acceptRestore" | "export" | "leftBehind" | "signHead">;
  authorization: Pick<AuthorizationService, "reencrypt">;
  permissions: Pick<PermissionsService, "owners">;
  evidence: Pick<EvidenceService, "adoptRestored" | "moveTo">;
  privacy: Pick<PrivacyService, "catchUp" | "export" | "redact" | "unsuppress">;
  blacklist: Pick<BlacklistService, "prepare">;
  blacklistTransfer: Pick<BlacklistTransfer, "export" | "importLines" | "readers">;
  guildState: Pick<GuildState, "load">;
  access: Pick<AccessDirectory, "load">;
  close(): Promise<void>;
}

/** The services of an installation, once `SECRET_KEY` is known to be the one of its database. @throws DatabaseError other_secret_key */
export async function openInstallation({ config, secrets }: { config: Config; secrets: Secrets }): Promise<Services> {
  // Loaded only by the commands that need it.
  const { openServices } = await import("../features.ts");
  return openServices({
    config,
    secrets,
    async checkInstallation(database) {
      await requireSecretKey({ database, secretKey: secrets.secretKey });
      return database.instance.id();
    },
  });
}

/** Run `work` with the services of this installation and close them, whatever happens. */
export async function withServices<T>(work: (services: Services, call: Call) => Promise<T>): Promise<T> {
  const { config, secrets } = loadConfigOrExit();
  await refuseHalfRestored(config.dataDir);
  const services = await openInstallation({ config, secrets });
  try {
    return await work(services, systemCall("cli", uuid7()));
  } catch (error) {
    throw databaseRefusal(config.database.url, error);
  } finally {
    await services.close();
  }
}

/** Every key of the installation, revoked ones too. */
export async function listKeys(services: Services, call: Call): Promise<KeyView[]> {
  const rows: KeyView[] = [];
  let cursor: string | null | undefined;
  do {
    const page = await services.keys.list(call, { limit: 200, ...(typeof cursor === "string" && { cursor }) });
    rows.push(...page.data);
    cursor = page.next_cursor;
  } while (cursor !== null);
  return rows;
}

/**
 * One key by its public key id or the id of its record.
 * @throws Error in words for the terminal when there is none
 */
export async function findKey({ keys }: Services, call: Call, id: string): Promise<KeyView> {
  try {
    return await keys.get(call, id);
  } catch (error) {
    if (error instanceof ProblemError && error.code === "record_not_found")
      throw new Error(`There is no key ${id}. \`provost keys list\` shows all of them.`, { cause: error });
    throw error;
  }
}
