/** Operations that no command leads to, each with the reason, for people. */
export const notInDiscord: Readonly<Record<string, string>> = {
  getHealth: "for machines: whether the service is well, asked by what watches over it",
  getLiveness: "for machines: whether the service is to be started again",
  getReadiness: "for machines: whether requests can be sent here",
  followEvents: "for machines: a stream that a client follows",
  listBlacklistChanges: "for machines: a feed by which a client keeps its own copy",
  createCallsignPool: "set up once: the rules of a pool are too many for a form",
  updateCallsignPool: "set up once: the rules of a pool are too many for a form",
  deleteCallsignPool: "set up once: the rules of a pool are too many for a form",
  redactUser: "erasing somebody for good is done at the command line or over HTTP, where nobody presses a button by mistake",
  replaceRolePermissions: "for machines: a whole set at once; single rights of a role are changed with /permission role",
  decideWorkflows: "for machines: many decisions at once, out of a selection on a page",
  getWorkflowPolicy: "every policy is shown at once with /setup policies",
  listWorkflowTypes: "for machines: what the forms of requests are made of",
};

/** Operations that only buttons and menus of answers lead to. */
export const onlyButtons: Readonly<Record<string, string>> = {
  listWorkflowEvidence: "card of a request: evidence",
};
