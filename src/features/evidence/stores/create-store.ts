import { evidencePlaceName, type EvidencePlace } from "../../../config/values.ts";
import type { Config } from "../../../config/config.ts";
import type { S3Keys } from "../../../config/secrets.ts";
import type { Database } from "../../../database/database.ts";
import { OperatorError } from "../../../kernel/operator-errors.ts";
import { createDatabaseStore } from "./database.ts";
import { createFolderStore } from "./folder.ts";
import { createS3Store } from "./s3.ts";
import type { EvidenceStore } from "./store.ts";

export interface StoreNeeds {
  config: Pick<Config, "dataDir" | "evidenceS3">;
  /** The keys of a bucket. */
  evidenceKeys: S3Keys | null;
  /** Tells the files of this installation from those of another one in the same bucket. */
  instanceId: string;
  database: Pick<Database, "read" | "write">;
}

/** Where files are outside of the database. */
export type OutsidePlace = Exclude<EvidencePlace, { kind: "database" }>;

/** @throws OperatorError for a bucket without keys */
export function createEvidenceStore(place: EvidencePlace, needs: StoreNeeds): EvidenceStore {
  return place.kind === "database" ? createDatabaseStore(needs.database) : createOutsideStore(place, needs);
}

/** @throws OperatorError for a bucket without keys */
export function createOutsideStore(place: OutsidePlace, { config, evidenceKeys, instanceId }: Omit<StoreNeeds, "database">): EvidenceStore {
  if (place.kind === "folder") return createFolderStore(config.dataDir);
  const name = evidencePlaceName(place);
  if (evidenceKeys === null)
    throw new OperatorError(`${name} is used with two keys: set \`EVIDENCE_S3_ACCESS_KEY\` and \`EVIDENCE_S3_SECRET_KEY\`.`);
  return createS3Store({ ...place, ...config.evidenceS3, name, keys: evidenceKeys, instanceId });
}
