import type { Database } from "../../database/database.ts";
import type { Call } from "../../kernel/call.ts";
import { mayKnow } from "./workflows.policy.ts";

/** Which requests are kept from whom, for the rooms that name requests. */
export function createRequestSight({ database }: { database: Pick<Database, "read"> }) {
  return {
    /** The ids of the requests a caller may not know of: confidential ones that are not their business. */
    async hiddenFrom(call: Call): Promise<string[]> {
      const restricted = await database.read.workflowRequest.findMany({
        where: { subjects: { some: { kind: "restricted" } } },
        select: { id: true, requesterId: true, subjects: true },
      });
      return restricted.filter((request) => !mayKnow({ call, accounts: [] }, request)).map(({ id }) => id);
    },
  };
}
