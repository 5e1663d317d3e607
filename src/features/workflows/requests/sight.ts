import type { Database } from "../../../database/database.ts";
import type { Call } from "../../../kernel/call.ts";
import type { LinkReach } from "../../links/reach.ts";
import { mayKnow, viewerOf } from "./workflows.policy.ts";

/** Which requests are kept from whom, for the rooms that name requests. */
export function createRequestSight({ database, reach }: { database: Pick<Database, "read">; reach: Pick<LinkReach, "groupOf"> }) {
  return {
    /** The ids of the requests a caller may not know of: confidential ones that are not their business. */
    async hiddenFrom(call: Call): Promise<string[]> {
      const restricted = await database.read.workflowRequest.findMany({
        where: { subjects: { some: { kind: "restricted" } } },
        select: { id: true, requesterId: true, subjects: true },
      });
      if (restricted.length === 0) return [];
      const viewer = await viewerOf(database.read, reach, call);
      return restricted.filter((request) => !mayKnow(viewer, request)).map(({ id }) => id);
    },
  };
}
