import type { PermissionKey } from "./permissions.ts";
/** Why something is taken back, and what permits it. */
export interface UndoNote {
  reason: string;
  permission: PermissionKey;
}

/** What became of an attempt to take something back. */
export interface Undone {
  /** Whether everything is again as it was before; false where somebody changed it since, or it cannot be taken back. */
  restored: boolean;
  /** In words, what was or was not done. */
  detail: string;
}
