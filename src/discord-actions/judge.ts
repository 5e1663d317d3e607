import { say } from "../kit/say.ts";
import { RESTJSONErrorCodes as Codes, Routes } from "discord-api-types/v10";
import { refusalCode } from "../discord/actions/refusals.ts";
import type { Leader } from "../cluster/leader.ts";
import type { GuildState } from "../discord/guild-state.ts";
import type { Clock } from "../kernel/clock.ts";
import type { DiscordCalls } from "../kernel/discord-port.ts";
import { ProblemError } from "../kernel/errors.ts";
import { whyNot, type Impossible, type MemberAction, type Verdict } from "./possible.ts";

export interface JudgeDeps {
  guildState: Pick<GuildState, "standings">;
  discord: { rest: DiscordCalls };
  clock: Clock;
  /** The process with the gateway knows who is a member with which roles; another one asks it. */
  leader: Pick<Leader, "answering">;
}

/** Tells before something is done whether Discord would let the bot do it. What is not known is no objection. */
export interface Judge {
  /** By the guild state that this process has, without a request. @returns null when nothing speaks against it */
  now(action: MemberAction): Verdict | null;
  /** By the guild state alone, wherever it is; never rejects. */
  known(actions: readonly MemberAction[]): Promise<readonly (Verdict | null)[]>;
  /**
   * Also by the ban list, which Discord is asked for where it matters; never rejects, and answers within 1.5 s. A process without the gateway
   * waits for the one that has it, up to 5 s.
   */
  ask(action: MemberAction): Promise<Verdict | null>;
}

/** How long a person who acts waits for what only Discord knows. */
const deadlineMs = 1500;

const unknownUser: Impossible = {
  outcome: "impossible",
  code: "unknown_user",
  detail: say("discord-actions.no-such-account"),
};

export function createJudge({ guildState, discord, clock, leader }: JudgeDeps): Judge {
  const judgeBy = (action: MemberAction, isBanned: boolean | undefined): Verdict | null =>
    whyNot(action, { guild: guildState.standings.of(action.guildId), isBanned, now: clock.now() });

  /** Whether Discord has it; undefined when there is no answer that says so. @param missing its code for what is not there */
  async function isThere(route: `/${string}`, missing: number): Promise<boolean | undefined> {
    try {
      await discord.rest.call({ method: "GET", route, purpose: "lookup", deadlineMs });
      return true;
    } catch (error) {
      return error instanceof ProblemError && refusalCode(error) === missing ? false : undefined;
    }
  }

  const now = (action: MemberAction): Verdict | null => judgeBy(action, undefined);
  const all = (actions: readonly MemberAction[]): (Verdict | null)[] => actions.map(now);

  const askAll = leader.answering("discord.verdicts", all);
  const askOne = leader.answering("discord.verdict", async (action: MemberAction): Promise<Verdict | null> => {
    const { kind, guildId, userId } = action;
    const first = now(action);
    if (first !== null || (kind !== "ban" && kind !== "unban")) return first;
    const member = guildState.standings.of(guildId)?.member(userId);
    // A member is not banned, and exists.
    if (member !== undefined && member !== null) return first;
    const [isBanned, isKnown] = await Promise.all([
      isThere(Routes.guildBan(guildId, userId), Codes.UnknownBan),
      kind === "ban" ? isThere(Routes.user(userId), Codes.UnknownUser) : undefined,
    ]);
    return isKnown === false ? unknownUser : judgeBy(action, isBanned);
  });

  return {
    now,
    known: (actions) => askAll(actions).catch(() => all(actions)),
    ask: (action) => askOne(action).catch(() => now(action)),
  };
}
