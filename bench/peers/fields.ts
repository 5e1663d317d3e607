import type { BlacklistView } from "../../src/features/blacklist/blacklist.schema.ts";
import type { recordOf } from "../record.ts";

/** Times that a record has from the start, beside those of its creation and its last change. */
export const times = ["starts_at", "review_at"] as const;

/** Fields that a server fills in by itself in a way of its own, and one that only deleted people leave behind. */
type Others = "id" | "created_at" | "updated_at" | "redacted";
type Name = Exclude<keyof BlacklistView, keyof ReturnType<typeof recordOf> | (typeof times)[number] | Others>;

/** What a record of ours has beside the five fields that are sent, with the value it has unless something is said: the records of the peers have the same. */
export const defaults = {
  number: "BL-000001",
  subject_snapshot: null,
  scope: "network",
  server_ids: [],
  status: "active",
  reason_internal: null,
  recommended_action: "deny_entry",
  member_policy: null,
  grace_period_seconds: null,
  exempt_user_ids: [],
  include_alts: "confirmed",
  evidence: [],
  tags: [],
  source: "direct",
  origin_reference: null,
  supersedes: null,
  created_by: "1574961588002095104",
  approved_by: [],
  expires_at: null,
  last_reviewed_at: null,
  revoked: null,
  history_count: 1,
  revision: 1,
} as const satisfies Readonly<Record<Name, unknown>>;

export type Default = (typeof defaults)[keyof typeof defaults];
