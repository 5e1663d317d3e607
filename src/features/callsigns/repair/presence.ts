import type { GuildState, MemberState } from "../../../discord/guild-state.ts";
import type { Standings } from "../../permissions/standing/standing.ts";
import type { Presence } from "./draft.ts";

export interface PresenceDeps {
  /** Whether what is known of the guilds is current and complete. */
  isKnown: () => boolean;
  guildState: Pick<GuildState, "guilds" | "members">;
  standing: Pick<Standings, "of">;
}

/** Who is in the guilds, by what is stored. Of somebody who was never seen there nobody can tell that they have left. */
export function presenceIn({ isKnown, guildState, standing }: PresenceDeps): Presence {
  const guilds = guildState.guilds().filter(({ present }) => present);
  const known = new Set(guilds.map(({ id }) => id));
  const membersOf = (userId: string): MemberState[] => guildState.members(userId).filter(({ guildId }) => known.has(guildId));
  return {
    isComplete: isKnown(),
    hasLeft(userId) {
      const members = membersOf(userId);
      return members.length > 0 && !members.some(({ present }) => present);
    },
    shown(userId) {
      const refs = standing.of(userId).held.flatMap((held) => held.refs);
      const here = membersOf(userId).filter(({ present }) => present);
      const first = here.find(({ guildId }) => refs.some((ref) => ref.startsWith(`${guildId}:`))) ?? here[0];
      if (first === undefined) return null;
      return { guildId: first.guildId, nickname: first.nick, name: first.globalName ?? first.username };
    },
  };
}
