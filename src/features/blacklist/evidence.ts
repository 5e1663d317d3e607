import type { BlacklistRecord } from "../../generated/sqlite/client.ts";
import { requirePermission } from "../../kernel/call.ts";
import type { EvidenceHost, Host } from "../evidence/hosts.ts";
import type { Opening } from "./open.ts";
import { referenceOf } from "./blacklist.policy.ts";

/** Evidence belongs to a record whatever its status: what comes to light later is kept, too. */
export function createEvidenceHost(opening: Opening): EvidenceHost {
  return {
    async read(call, key) {
      requirePermission(call, "blacklist.read");
      return hostOf(await opening.find(key));
    },

    async open(tx, key) {
      requirePermission(tx.call, "blacklist.update");
      const row = await opening.lock(tx, key);
      await opening.requireImpartial(tx, row);
      return hostOf(row);
    },

    async requireRedactable(tx, key) {
      requirePermission(tx.call, "blacklist.read");
      await opening.requireImpartial(tx, await opening.lock(tx, key));
    },
  };
}

function hostOf(row: BlacklistRecord): Host {
  return { id: row.id, reference: referenceOf(row), subjectUserId: row.kind === "user" ? row.subjectId : null };
}
