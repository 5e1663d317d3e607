import type { PermissionKey } from "../../../kernel/permissions.ts";

/** Who may see and change what each level does alone and the reasons that are offered, and who looks at what was done. */
export const directPolicy = {
  read: "workflows.punishment.create",
  manage: "system.settings.manage",
  /** Whoever lets others decide alone has to hold the right to decide. */
  decide: "workflows.punishment.decide",
  look: "workflows.review",
} as const satisfies Record<string, PermissionKey>;
