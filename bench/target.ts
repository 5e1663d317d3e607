import type { LoadOrder } from "./load.ts";
import { catalog, levelOrder } from "../src/kernel/permissions.ts";

/** A server to measure: how to start it and what to ask it. */
export interface Target {
  /** @returns the port it listens on, on 127.0.0.1 */
  start(): Promise<number>;
  /** Removes what it left behind; its process ends afterwards. */
  stop?(): Promise<void>;
  request: Pick<LoadOrder, "paths" | "headers" | "body" | "status">;
  /** What else it can be asked to do, by name. */
  tasks?: Readonly<Record<string, (input: never) => unknown>>;
}

/** What every target answers: the same bytes, serialised for each request. */
export const payload = {
  id: "80351110224678912",
  is_staff: true,
  level: "moderator",
  rank: 40,
  roles: ["moderator", "trainer"],
  permissions: ["cases.open", "cases.read", "blacklist.read", "staff.read", "workflows.punishment.create"],
  reasons: [{ code: "role_mapping", source: "role_allow", ref: "moderator" }],
  as_of: "2026-11-20T10:00:00.000Z",
  stale: false,
};

/** The envelope of a single record around it. */
export const envelope = { success: true, data: payload };

/** As large as the access answer of a moderator. */
export const accessEnvelope = {
  success: true,
  data: {
    user_id: "80351110224678912",
    allowed: true,
    level: "moderator",
    rank: 40,
    staff_roles: ["moderator"],
    permissions: catalog
      .filter(({ default_level }) => default_level !== "none" && levelOrder[default_level] <= levelOrder.moderator)
      .map(({ key }) => key),
    denied: [],
    status: "active",
    reasons: [{ code: "role_mapping", source: "moderator", ref: "80351110224678912:80351110224678913" }],
    max_age_seconds: 30,
    evaluated_at: "2026-11-20T10:00:00.000Z",
  },
};

export const benchKey = "prv_live_Bench0000000_0123456789012345678901234567890123456789012_aaaaaa";
