import type { MemberAction, Verdict } from "../../../discord-actions/possible.ts";
import type { Tx } from "../../../database/database.ts";
import { addSeconds } from "../../../kernel/clock.ts";
import { ProblemError } from "../../../kernel/errors.ts";
import { parseDuration } from "../../../kernel/fields.ts";
import { DiscordEffectInput } from "../effects/discord-effect.ts";
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
 * lifted here, whatever Discord shows at the moment: they can be lifted, and a ban replaced by another one.
 * @throws ProblemError discord_would_refuse, invalid_transition
 */
export async function requirePossible(tx: Tx, { kind, guildId, userId }: MemberAction, verdict: Verdict | null): Promise<void> {
  if (verdict === null || verdict.outcome === "waits") return;
  const { outcome, code, detail } = verdict;
  const extra = { discord: { code, guild_id: guildId } };
  if (outcome === "impossible") throw new ProblemError("discord_would_refuse", { detail, extra });
  const lifted = kind === "timeout_lift" ? "timeout" : "ban";
  if (kind !== "timeout" && (await isDecided(tx, lifted, { guildId, userId }))) return;
  throw new ProblemError("invalid_transition", { detail, extra });
}

/** Whether a decision in force bans somebody, or times them out, in a guild. */
async function isDecided(tx: Tx, kind: "ban" | "timeout", { guildId, userId }: { guildId: string; userId: string }): Promise<boolean> {
  const rows = await tx.db.workflowEffect.findMany({
    where: {
      key: "discord.punish",
      targetKind: "server",
      targetId: guildId,
      status: { in: ["pending", "done"] },
      request: { status: "approved", subjects: { some: { kind: "user", subjectId: userId } } },
    },
    select: { input: true },
  });
  return rows.some(({ input }) => {
    const action = DiscordEffectInput.safeParse(input).data?.discord;
    return action?.kind === kind && (action.kind !== "timeout" || new Date(action.until) > tx.now);
  });
}
