import { z } from "zod";
import { Timestamp } from "../../../kernel/fields.ts";

export const LookAnswer = z
  .object({
    success: z.literal(true),
    id: z.string(),
    reference: z.string().meta({ example: "PUN-REQ-000001" }),
    looked_at: Timestamp,
    looked_by: z.string().nullable(),
    replayed: z.literal(true).optional().meta({ description: "Somebody had looked at it before; nothing happened" }),
  })
  .meta({ id: "WorkflowLooked" });
export type LookAnswer = z.infer<typeof LookAnswer>;
