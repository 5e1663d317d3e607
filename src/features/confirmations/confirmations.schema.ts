import { say } from "../../kit/say.ts";
import { z } from "zod";
import { idOrPattern, listQuery, redacted, Snowflake, Timestamp, text } from "../../kernel/fields.ts";

/** Who may have to confirm, in the order in which they do. */
export const needs = ["acting_user", "second_person"] as const;
export type Need = (typeof needs)[number];

const statuses = ["pending", "applied", "declined", "expired", "failed"] as const;

/** The id of a held change, or the code that is typed in Discord. */
export const ConfirmationKey = z
  .string()
  .trim()
  .regex(idOrPattern("[0-9a-z]{6}"), say("confirmations.name-the-change-by-its-id-or"))
  .meta({ description: "Id or code", example: "K7QM2X" });

export const ListConfirmationsQuery = z.strictObject(listQuery);
export type ListConfirmationsQuery = z.output<typeof ListConfirmationsQuery>;

export const declineLimits = { reason: 1000 } as const;

export const DeclineConfirmationInput = z
  .strictObject({
    reason: text(3, declineLimits.reason)
      .optional()
      .meta({ description: "Why; shown to the person who asked", example: "Let us talk about it first." }),
  })
  .meta({ id: "DeclineConfirmationInput" });
export type DeclineConfirmationInput = z.input<typeof DeclineConfirmationInput>;

export const ConfirmationView = z
  .object({
    id: z.uuid(),
    code: z
      .string()
      .optional()
      .meta({ description: "What is typed or picked in `/confirm`; only for those who can confirm it now or next" }),
    action: z.string().meta({ description: "The verb that is carried out", example: "permissions.users.update" }),
    summary: z.string().meta({ description: "What it does, in plain words" }),
    needs: z.array(z.enum(needs)).meta({ description: "Who still has to confirm, in this order; empty once it has ended" }),
    status: z.enum(statuses).meta({
      description:
        "`applied`: carried out. `failed`: confirmed, but not allowed any more, or the key it was asked with was revoked; nothing was changed",
    }),
    requested_by: Snowflake,
    confirmed_by: z.array(Snowflake).meta({ description: "Who has confirmed, in order" }),
    declined_by: Snowflake.nullable(),
    decline_reason: z.string().nullable(),
    failure: z.string().optional().meta({ description: "The problem code it failed with", example: "hierarchy_violation" }),
    created_at: Timestamp,
    expires_at: Timestamp.meta({ description: "When it lapses unless it is confirmed" }),
    ended_at: Timestamp.nullable(),
    revision: z.int(),
    redacted,
  })
  .meta({ id: "Confirmation" });
export type ConfirmationView = z.infer<typeof ConfirmationView>;
