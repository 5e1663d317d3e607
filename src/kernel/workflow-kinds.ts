/** The kinds of request, spelled as in their routes. Permission keys, routes and counters are made from this one list. */
export const workflowKinds = [
  "blacklist-server",
  "blacklist-user",
  "investigation",
  "recruitment",
  "server-merge",
  "alt-request",
  "punishment",
  "poach",
  "appeal",
] as const;

export type WorkflowKind = (typeof workflowKinds)[number];
