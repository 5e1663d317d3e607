import { feature } from "../compose.ts";
import type { Core } from "../core.ts";

/** What keeps the rows in order by which several processes agree. */
export const shared = feature({
  create: (_core: Core) => ({}),
  jobs: ({ claims, authFailures }) => ({
    ...(claims !== undefined && { claims: claims.sweep }),
    ...(authFailures !== undefined && { authFailures: authFailures.sweep }),
  }),
  load: async ({ authFailures }) => authFailures?.start(),
  close: ({ authFailures }) => authFailures?.stop(),
});
