import type { CausesInForce } from "../../../discord-actions/in-force.ts";
import type { MemberAction, Verdict } from "../../../discord-actions/possible.ts";
import type { Tx } from "../../../database/database.ts";
import { addSeconds } from "../../../kernel/clock.ts";
import { ProblemError } from "../../../kernel/errors.ts";
import { parseDuration } from "../../../kernel/fields.ts";
import type { DirectAction, ModerateInput } from "./direct.schema.ts";

type Kind = Exclude<MemberAction["kind"], "role_add" | "role_remove" | "nickname">;

/** What the bot does in Discord; a warning and a note are nothing there. */
const kindOf: Readonly<Record<DirectAction, Kind | null>> = {
  warning: null,
  note: null,
  timeout: "timeout",
  kick: "kick",
  ban: "ban",
  untimeout: "timeout_lift",
  unban: "unban",
};

/** What an input asks of Discord; null for what is only recorded. */
export function memberActionOf(
  { action, duration }: Pick<ModerateInput, "action" | "duration">,
  { guildId, userId }: { guildId: string; userId: string },
  now: Date,
): MemberAction | null {
  const kind = kindOf[action];
  if (kind === null) return null;
  if (kind !== "timeout") return { kind, guildId, userId };
  return { kind, guildId, userId, until: addSeconds(now, parseDuration(duration ?? "") ?? 0).toISOString() };
}

/**
 * Refuse what Discord would refuse, and what would change nothing. Bans and timeouts that were decided here are in force until they are
 * lifted here, whatever Discord shows at the moment: they can be lifted, and another decision adds its own length to them. What is about to
 * change is no objection either: whoever bans while an unban is under way wants the ban.
 * @throws ProblemError discord_would_refuse, invalid_transition
 */
export async function requirePossible(
  tx: Tx,
  { kind, guildId, userId }: MemberAction,
  verdict: Verdict | null,
  causes: Pick<CausesInForce, "of" | "isUnderWay">,
): Promise<void> {
  if (verdict === null || verdict.outcome === "waits") return;
  const { outcome, code, detail } = verdict;
  const extra = { discord: { code, guild_id: guildId } };
  if (outcome === "impossible") throw new ProblemError("discord_would_refuse", { detail, extra });
  const about = kind === "timeout" || kind === "timeout_lift" ? "timeout" : "ban";
  const decided = await causes.of(tx, { guildId, userId });
  if (decided.some((cause) => cause.kind === about && (cause.until === null || cause.until > tx.now))) return;
  if (await causes.isUnderWay(tx, { guildId, userId })) return;
  throw new ProblemError("invalid_transition", { detail, extra });
}
