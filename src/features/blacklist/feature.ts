import { blacklistCommands } from "./blacklist.commands.ts";
import { feature } from "../../compose.ts";
import type { EvidenceService } from "../evidence/evidence.service.ts";
import { blacklistRoutes } from "./blacklist.routes.ts";
import { type BlacklistDeps, createBlacklistService } from "./blacklist.service.ts";
import { blacklistTransferRoutes } from "./import/import.routes.ts";
import type { ImportDeps } from "./import/import.ts";
import { createBlacklistTransfer } from "./import/import.service.ts";

type Needs = Omit<BlacklistDeps, "dropEvidence"> &
  Pick<ImportDeps, "listPreviews" | "conflicts"> & { evidence: Pick<EvidenceService, "register" | "dropOf"> };

export const blacklist = feature({
  commands: blacklistCommands,
  create({ evidence, ...deps }: Needs) {
    const blacklist = createBlacklistService({ ...deps, dropEvidence: (tx, recordId) => evidence.dropOf(tx, "blacklist", recordId) });
    evidence.register("blacklist", blacklist.evidenceHost);
    return { blacklist, blacklistTransfer: createBlacklistTransfer(deps) };
  },
  routes: ({ blacklist, blacklistTransfer }) => [...blacklistRoutes(blacklist), ...blacklistTransferRoutes(blacklistTransfer)],
  jobs: ({ blacklist }) => ({ blacklist: { run: blacklist.expireDue, nextDue: blacklist.nextDue } }),
  load: ({ blacklist }) => blacklist.prepare(),
});
