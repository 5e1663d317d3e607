import type { Deps } from "../../deps.ts";
import type { GuildState } from "../../../discord/guild-state.ts";
import { requireWrite, type Call } from "../../../kernel/call.ts";
import { recordNotFound } from "../../../kernel/errors.ts";
import { flat, setting, type Stored } from "../../../kit/setting.ts";
import { directPolicy } from "./direct.policy.ts";
import { DirectRules, PutDirectInput, PutReasonsInput, ReasonTemplates, type DirectView, type ReasonsView } from "./direct.schema.ts";

export const directSetting = setting({
  key: "direct:",
  per: "guild",
  schema: DirectRules,
  nothing: { warning: null, note: null, timeout: null, kick: null, ban: null },
  permission: directPolicy,
  action: "direct.update",
});
export const reasonsSetting = setting({
  key: "reasons:",
  per: "guild",
  schema: ReasonTemplates,
  nothing: { reasons: [] },
  permission: directPolicy,
  action: "reasons.update",
});

export interface DirectSettingsDeps extends Deps<"database" | "audit"> {
  guildState: Pick<GuildState, "guilds">;
}

/** What a server lets each level do alone, and the reasons it gives often. */
export interface DirectSettings {
  /** @throws ProblemError record_not_found for a guild that is not served */
  requireServed(guildId: string): void;
  /** What somebody may do alone in a server, of what the bot does in Discord. */
  actionsIn(guildId: string): Promise<("timeout" | "kick" | "ban")[]>;
  /** What each level does alone in a server. @throws ProblemError record_not_found */
  getDirect(call: Call, guildId: string): Promise<DirectView>;
  /** Choose all rules of a server; what is left out is off. @throws ZodError, ProblemError record_not_found, precondition_failed */
  putDirect(call: Call, guildId: string, input: PutDirectInput, ifMatch?: number): Promise<DirectView>;
  /** The reason templates of a server. @throws ProblemError record_not_found */
  getReasons(call: Call, guildId: string): Promise<ReasonsView>;
  /** Replace all reason templates of a server. @throws ZodError, ProblemError record_not_found, precondition_failed */
  putReasons(call: Call, guildId: string, input: PutReasonsInput, ifMatch?: number): Promise<ReasonsView>;
}

const present = <Value extends object>(guildId: string, stored: Stored<Value>) => ({ guild_id: guildId, ...flat(stored) });

/** Answers and changes the settings of moderation in one step. */
export function createDirectSettings({ database, audit, guildState }: DirectSettingsDeps): DirectSettings {
  const isServed = (guildId: string): boolean => guildState.guilds().some(({ id, present: isPresent }) => isPresent && id === guildId);
  const deps = { database, audit, placeOf: (guildId: string) => (isServed(guildId) ? guildId : undefined) };
  const direct = directSetting.serve<DirectView>({ ...deps, present });
  const reasons = reasonsSetting.serve<ReasonsView>({ ...deps, present });

  return {
    requireServed(guildId) {
      if (!isServed(guildId)) throw recordNotFound();
    },
    async actionsIn(guildId) {
      const { value } = await directSetting.read(database.read, guildId);
      return (["timeout", "kick", "ban"] as const).filter((name) => value[name] !== null);
    },
    getDirect: direct.get,
    async putDirect(call, guildId, input, ifMatch) {
      const wanted = (): DirectRules => {
        requireWrite(call, directPolicy.decide);
        return PutDirectInput.parse(input);
      };
      return await direct.put(call, guildId, wanted, ifMatch);
    },
    getReasons: reasons.get,
    putReasons: (call, guildId, input, ifMatch) => reasons.put(call, guildId, () => PutReasonsInput.parse(input), ifMatch),
  };
}
