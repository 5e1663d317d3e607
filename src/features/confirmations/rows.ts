import { z } from "zod";
import type { Confirmation } from "../../generated/sqlite/client.ts";
import { ConfirmationKey, needs, type ConfirmationView, type Need } from "./confirmations.schema.ts";

/** A held change without what it is carried out with, which leaves the database for nobody but the service method that does it. */
export type ConfirmationRow = Omit<Confirmation, "input">;
export const withoutInput = { input: true } as const;

/** What one person said about a held change. `asked` stands for the person who asked for it. */
const Answer = z.object({
  user_id: z.string(),
  as: z.enum(["asked", ...needs, "declined"]),
  at: z.string(),
  guild_id: z.string().optional(),
  /** Who made the API key it was said with. */
  makers: z.array(z.string()).optional(),
  reason: z.string().optional(),
});
export type Answer = z.infer<typeof Answer>;
const Answers = z.array(Answer);
const Needs = z.array(z.enum(needs));
const Keys = z.array(z.string());

export const answersOf = (row: ConfirmationRow): Answer[] => Answers.parse(row.answers);
export const needsOf = (row: ConfirmationRow): Need[] => Needs.parse(row.needs);
export const keysOf = (row: ConfirmationRow): string[] => Keys.parse(row.keys);

/** What a change does, without the lines that hold what people wrote. */
export const titleOf = ({ summary }: Pick<ConfirmationRow, "summary">): string => summary.split("\n", 1)[0] ?? "";

/** The status that counts at a moment, whether or not the sweep has come by. */
export function statusAt(row: ConfirmationRow, now: Date): ConfirmationView["status"] {
  return row.status === "pending" && row.expiresAt <= now ? "expired" : (row.status as ConfirmationView["status"]);
}

/** The row a key names: an id, or a code in any case. */
export function keyOf(key: string): { id: string } | { code: string } | undefined {
  const parsed = ConfirmationKey.safeParse(key);
  if (!parsed.success) return undefined;
  return parsed.data.length === 36 ? { id: parsed.data.toLowerCase() } : { code: parsed.data.toUpperCase() };
}
