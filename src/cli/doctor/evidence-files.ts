import { existsSync } from "node:fs";
import { heldPlaceOf, textSetting } from "../../backup/source.ts";
import { evidencePlaceName } from "../../config/values.ts";
import { otherPlace } from "../../features/evidence/place.ts";
import { createOutsideStore } from "../../features/evidence/stores/create-store.ts";
import { fail, pass, warn } from "../findings.ts";
import { ofStored } from "./database.ts";

/** Whether the files of evidence are where they are looked for; outside of the database one is written, read and deleted there. */
export const evidence = ofStored(async (source, { config, secrets }) => {
  const place = config.evidenceStore;
  const name = evidencePlaceName(place);
  const refusal = otherPlace(await heldPlaceOf(source), name);
  const [kept] = await source.query("SELECT 1 AS one FROM evidence_files WHERE status = 'stored' LIMIT 1");
  if (refusal !== undefined && kept !== undefined) return [fail(refusal)];
  if (place.kind === "database") return [pass(name)];
  if (place.kind === "folder" && !existsSync(config.dataDir)) return [pass("The next start makes the folder.")];
  const instanceId = (await textSetting(source, "instance_id")) ?? "";
  const away = await createOutsideStore(place, { config, evidenceKeys: secrets.evidenceS3, instanceId }).tryOut();
  return [away === undefined ? pass(`${name}: files can be written, read and deleted`) : warn(away)];
});
