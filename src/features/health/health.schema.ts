import { z } from "zod";
import { Timestamp } from "../../kernel/fields.ts";

export const CheckStatus = z.enum(["pass", "warn", "fail"]).meta({ id: "CheckStatus" });

/** One checked part; everything but its status is for holders of `system.health.read`. */
export const CheckView = z
  .object({
    status: CheckStatus,
    reason: z.string().optional().meta({ description: "Why it does not pass; only for holders of system.health.read" }),
    age_seconds: z.number().optional().meta({ description: "How old what is checked is; only for holders of system.health.read" }),
  })
  .meta({ id: "HealthCheck" });
export type CheckView = z.infer<typeof CheckView>;

export const CapabilitiesView = z
  .object({
    callsigns: z.object({ next: z.boolean(), lookup: z.boolean(), repair: z.boolean(), registry: z.boolean() }),
    roster: z.object({ entries: z.boolean(), history: z.boolean(), sync_member: z.boolean(), audit: z.boolean() }),
    workflows: z.array(z.string()),
    webhooks: z.boolean(),
    mcp: z.boolean().meta({ description: "Whether the operations are offered at `/mcp`, too" }),
    events: z.boolean(),
  })
  .meta({ id: "Capabilities", description: "What of the contract is in use here" });
export type CapabilitiesView = z.infer<typeof CapabilitiesView>;

/** One of the processes that serve an installation together. */
export const NodeView = z
  .object({
    id: z.string(),
    host: z.string(),
    pid: z.number().int(),
    version: z.string(),
    started_at: Timestamp,
    heartbeat_at: Timestamp.meta({ description: "When it last said that it is there; after 15 seconds without a word it counts as gone" }),
    is_leader: z.boolean().meta({ description: "Whether it has the link to Discord and does what only one may do" }),
    is_self: z.boolean().meta({ description: "Whether it is the one that answers" }),
  })
  .meta({ id: "Node" });
export type NodeView = z.infer<typeof NodeView>;

export const HealthView = z
  .object({
    success: z.boolean(),
    status: z.enum(["ok", "degraded", "error"]),
    service: z.object({
      name: z.string(),
      version: z.string(),
      instance_id: z.string(),
      commit: z.string().optional().meta({ description: "Only for holders of system.health.read" }),
    }),
    api: z.object({ version: z.string(), contract: z.string(), compatible: z.boolean() }),
    nodes: z.array(NodeView).optional().meta({
      description: "The processes that serve this installation together, where it is set up so; only for holders of system.health.read",
    }),
    capabilities: CapabilitiesView,
    routes: z.array(z.object({ method: z.string(), path: z.string(), supported: z.boolean() })),
    checks: z.object({
      storage: CheckView,
      discord_gateway: CheckView,
      guild_state: CheckView,
      discord_permissions: CheckView.meta({
        description:
          "Warns where the bot lacks a permission or a place of its role that direct moderation or rules about listed people need",
      }),
      audit_checkpoints: CheckView,
      review_cards: CheckView.meta({
        description:
          "Warns where a channel takes no cards or alerts, an alert was left out in the last hour as it could not be shown, or cards have been due for a minute",
      }),
      jobs: CheckView.meta({
        description: "Fails where a job of every minute has failed, or has not ended, for an hour; warns for an hour after a failure",
      }),
      evidence_store: CheckView.meta({ description: "Fails where the bucket of the files of evidence cannot be reached" }),
      deliveries: CheckView.meta({
        description: "Warns where what an approval left to be done has been due for a minute, and fails after an hour",
      }),
      discord_actions: CheckView.meta({
        description:
          "Warns where the bot could not do something to a person in the last 7 days and nobody has tried it again, or where what lists ask for has been due for a minute; fails after an hour",
      }),
      followed_lists: CheckView.meta({
        description: "Warns where a list of others is stopped, or could not be read three times in a row",
      }),
    }),
    time: Timestamp,
  })
  .meta({ id: "Health" });
export type HealthView = z.infer<typeof HealthView>;

export const ProbeView = z.object({ success: z.boolean(), status: z.enum(["ok", "error"]) }).meta({ id: "Probe" });
export type ProbeView = z.infer<typeof ProbeView>;

/** Requests are served without Discord, too; yet an operator who looks here first should see that the bot is not connected. */
export const ReadinessView = ProbeView.extend({
  discord_gateway: CheckStatus.meta({
    description: "`fail` where Discord refuses the token, or cannot be reached; requests are served all the same",
  }),
}).meta({ id: "Readiness" });
export type ReadinessView = z.infer<typeof ReadinessView>;
