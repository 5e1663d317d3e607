import { feature } from "../compose.ts";
import type { Core } from "../core.ts";

/** What keeps the rows in order by which several processes agree, and memory in step with the database. */
export const shared = feature({
  create: (_core: Core) => ({}),
  jobs: ({ claims, authFailures, leader }) =>
    claims === undefined || authFailures === undefined
      ? {}
      : { claims: claims.sweep, authFailures: authFailures.sweep, leaderRequests: leader.sweep },
  jobsEach: ({ changes }) => ({ memory: changes.compare }),
  async load({ cluster, authFailures, leader }) {
    authFailures?.start();
    if (cluster.isOn) leader.start();
  },
  async close({ authFailures, leader }) {
    await authFailures?.stop();
    await leader.stop();
  },
});
