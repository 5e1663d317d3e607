import { say } from "../../kit/say.ts";
import type { Tx } from "../../database/database.ts";
import type { Webhook } from "../../generated/sqlite/client.ts";
import { requirePermission, systemCall } from "../../kernel/call.ts";
import { recordNotFound } from "../../kernel/errors.ts";
import { uuid7 } from "../../kernel/ids.ts";
import { requireRevision } from "../../kernel/revision.ts";
import type { Deps } from "../deps.ts";
import { webhooksPolicy } from "./webhooks.policy.ts";
import type { End } from "./schedule.ts";

/** Why a web-hook was disabled: by its receiver, or for the want of whoever it acts for. */
export type DisableReason = End | "key" | "person";

const problems: Readonly<Record<DisableReason, string>> = {
  gone: say("webhooks.the-receiver-wants-nothing-more-it-answered"),
  failing: say("webhooks.the-receiver-has-not-taken-anything-for"),
  key: say("webhooks.the-api-key-it-acts-for-has"),
  person: say("webhooks.whoever-it-acts-for-may-not-follow"),
};

type Verb = "create" | "update" | "delete" | "rotate" | "disable" | "test" | "redeliver";

export interface WebhookRecords {
  open(tx: Tx, id: string, ifMatch?: number): Promise<Webhook>;
  note(
    tx: Tx,
    verb: Verb,
    row: Webhook,
    more?: {
      before?: object;
      after?: object;
    },
    permission?: string,
  ): void;
  tell(tx: Tx, row: Webhook, isGone?: boolean): void;
  onChange(hear: (row: Webhook, isGone: boolean) => void): void;
  /** Send it nothing more until somebody enables it, unless that has happened already. */
  disable(id: string, reason: DisableReason): Promise<void>;
}

/** The rows of web-hooks, and what is told of their changes. */
export function createWebhookRecords({ database, audit, events }: Deps<"database" | "audit" | "events">): WebhookRecords {
  const hearers: ((row: Webhook, isGone: boolean) => void)[] = [];

  /** @throws ProblemError record_not_found, precondition_failed */
  async function open(tx: Tx, id: string, ifMatch?: number): Promise<Webhook> {
    await tx.lock(`webhook:${id}`);
    const row = await tx.db.webhook.findUnique({ where: { id } });
    if (row === null) throw recordNotFound();
    requireRevision(ifMatch, row.revision);
    return row;
  }

  function note(
    tx: Tx,
    verb: Verb,
    row: Webhook,
    more: { before?: object; after?: object } = {},
    permission: string = webhooksPolicy.manage,
  ): void {
    audit.record(tx, { action: `webhook.${verb}`, target: { kind: "webhook", id: row.id, reference: row.id }, permission, ...more });
  }

  /** Hear, after the commit, of how a web-hook is from now on. */
  function tell(tx: Tx, row: Webhook, isGone = false): void {
    tx.afterCommit(() => {
      for (const hear of hearers) hear(row, isGone);
    });
  }

  return {
    open,
    note,
    tell,
    onChange: (hear: (row: Webhook, isGone: boolean) => void): void => void hearers.push(hear),

    async disable(id: string, reason: DisableReason): Promise<void> {
      const call = systemCall("job", uuid7());
      requirePermission(call, webhooksPolicy.sweep);
      await database.write(call, async (tx) => {
        await tx.lock(`webhook:${id}`);
        const row = await tx.db.webhook.findUnique({ where: { id } });
        if (row?.state !== "active") return;
        const data = { state: "disabled", problem: problems[reason], nextAttemptAt: null, updatedAt: tx.now };
        const disabled = await tx.db.webhook.update({ where: { id }, data: { ...data, revision: { increment: 1 } } });
        note(tx, "disable", disabled, { after: { reason } }, webhooksPolicy.sweep);
        events.emit(tx, { type: "webhook.disabled", data: { webhook_id: id, name: row.name, reason } });
        tell(tx, disabled);
      });
    },
  };
}
