import type { PermissionKey } from "../../../kernel/permissions.ts";
import type { Tx } from "../../../database/database.ts";
import type { Prisma, WorkflowEffect } from "../../../generated/sqlite/client.ts";
import type { Undone } from "../../../kernel/undo.ts";
import type { DecisionInput } from "../requests/decision.ts";
import type { EffectInputs } from "./inputs.ts";
import type { Request } from "../requests/workflows.policy.ts";

export type Json = Prisma.InputJsonObject;

/** An approval that takes effect, inside its transaction. */
export interface Approval {
  tx: Tx;
  /** The request as it was before this decision; what an effect needs of its payload is its input. */
  request: Omit<Request, "payload">;
  input: DecisionInput;
  /** From when lengths count: the decision, also when it is put back in force later. */
  from: Date;
  actorId: string;
  approvedBy: readonly string[];
  /** The permission that approves it. */
  permission: PermissionKey;
}

/** An approval that is taken back, inside its transaction. */
export interface Reversal {
  tx: Tx;
  request: Omit<Request, "payload">;
  reason: string;
  actorId: string | null;
  permission: PermissionKey;
}

export interface Target {
  kind: string;
  id: string;
  reference?: string;
}

/** What an effect did, or left to be done. */
export interface Done {
  /** Of its own when an effect does several things; that of the table unless said. */
  key?: string;
  status: "done" | "pending" | "skipped";
  target?: Target | null;
  /** In words that everybody who reads the request may read. */
  detail: string;
  /** What has to be done later: `{ discord: DiscordAction }` for the bot, anything else for the effect's own `run`. */
  input?: Json;
  /** What is needed to take it back. */
  undo?: Json;
  /** When what is left falls due; at once unless said. */
  dueAt?: Date;
  /** For later effects of the same approval; it is not stored. */
  memo?: unknown;
}

/** What became of taking an effect back. */
export interface EffectUndone extends Undone {
  /** What makes up for it outside, such as a message. */
  amends?: readonly Done[];
}

/** Why an approval cannot take effect now. */
export interface Blocker {
  code: string;
  detail: string;
  /** Whether `override` passes it. */
  isWaivable?: boolean;
}

/** What earlier effects of the same approval did. */
export type Earlier = readonly (Done & { key: string })[];

/** One thing that approvals do. A kind of request says from its payload what the effect is to know: its input. */
export interface Effect<Input> {
  /** What an approval will do, for those who decide. */
  preview: string | ((input: Input) => string);
  /** Whether a decision may switch it off. */
  isOptional?: true;
  /** What keeps it from being done now. */
  check?(approval: Approval, input: Input): Promise<readonly Blocker[]>;
  /** Whatever throws undoes the approval. */
  apply(approval: Approval, input: Input, earlier: Earlier): Promise<readonly Done[]>;
  /** Absent: there is nothing to take back. What waits for the bot is taken back by itself. */
  undo?(reversal: Reversal, effect: WorkflowEffect): Promise<EffectUndone>;
  /** What was left for a date is done, in a transaction of its own. Throws ProblemError when it cannot be. */
  run?(due: Due, effect: WorkflowEffect, input: Input): Promise<Done>;
}

/** An effect whose date has come. */
export type Due = Omit<Reversal, "reason">;

/** A part of the table of effects that one file fills. */
export type SomeEffects<Key extends keyof EffectInputs> = { readonly [Each in Key]: Effect<EffectInputs[Each]> };
export type EffectTable = SomeEffects<keyof EffectInputs>;
