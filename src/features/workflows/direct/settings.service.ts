import type { Deps } from "../../deps.ts";
import type { GuildState } from "../../../discord/guild-state.ts";
import { requirePermission, requireWrite, type Call } from "../../../kernel/call.ts";
import { recordNotFound } from "../../../kernel/errors.ts";
import { directPolicy } from "./direct.policy.ts";
import { createGuildSetting, type GuildSetting } from "./guild-settings.ts";
import { DirectRules, PutDirectInput, PutReasonsInput, ReasonTemplates, type DirectView, type ReasonsView } from "./direct.schema.ts";

const noRules: DirectRules = { warning: null, note: null, timeout: null, kick: null, ban: null };
export const directSetting = createGuildSetting("direct", DirectRules, noRules);
export const reasonsSetting = createGuildSetting("reasons", ReasonTemplates, { reasons: [] });

export interface DirectSettingsDeps extends Deps<"database" | "audit"> {
  guildState: Pick<GuildState, "guilds">;
}

type Action = "direct.update" | "reasons.update";

interface Change<Value> {
  guildId: string;
  value: Value;
  ifMatch: number | undefined;
}

/** What a server lets each level do alone, and the reasons it gives often. */
export function createDirectSettings({ database, audit, guildState }: DirectSettingsDeps) {
  /** @throws ProblemError record_not_found for a guild that is not served */
  function requireServed(guildId: string): void {
    if (!guildState.guilds().some(({ id, present }) => present && id === guildId)) throw recordNotFound();
  }

  async function get<Value>(setting: GuildSetting<Value>, call: Call, guildId: string) {
    requirePermission(call, directPolicy.read);
    requireServed(guildId);
    const { value, ...rest } = await setting.read(database.read, guildId);
    return { guild_id: guildId, ...value, ...rest };
  }

  /** Store a setting whole, audited where it is another one. The caller may, and the value is parsed. */
  async function put<Value extends object>(setting: GuildSetting<Value>, action: Action, call: Call, change: Change<Value>) {
    const { guildId, value: after, ifMatch } = change;
    requireServed(guildId);
    return await database.write(call, async (tx) => {
      const { value, ...rest } = await setting.put(tx, guildId, { value: after, ifMatch }, (before) =>
        audit.record(tx, { action, target: { kind: "guild", id: guildId }, guildId, before, after, permission: directPolicy.manage }),
      );
      return { guild_id: guildId, ...value, ...rest };
    });
  }

  return {
    requireServed,

    /** What somebody may do alone in a server, of what the bot does in Discord. */
    async actionsIn(guildId: string): Promise<("timeout" | "kick" | "ban")[]> {
      const { value } = await directSetting.read(database.read, guildId);
      return (["timeout", "kick", "ban"] as const).filter((name) => value[name] !== null);
    },

    /** What each level does alone in a server. @throws ProblemError record_not_found */
    getDirect: (call: Call, guildId: string): Promise<DirectView> => get(directSetting, call, guildId),

    /** Choose all rules of a server; what is left out is off. @throws ZodError, ProblemError record_not_found, precondition_failed */
    async putDirect(call: Call, guildId: string, input: PutDirectInput, ifMatch?: number): Promise<DirectView> {
      requireWrite(call, directPolicy.manage);
      requireWrite(call, directPolicy.decide);
      return await put(directSetting, "direct.update", call, { guildId, value: PutDirectInput.parse(input), ifMatch });
    },

    /** The reason templates of a server. @throws ProblemError record_not_found */
    getReasons: (call: Call, guildId: string): Promise<ReasonsView> => get(reasonsSetting, call, guildId),

    /** Replace all reason templates of a server. @throws ZodError, ProblemError record_not_found, precondition_failed */
    async putReasons(call: Call, guildId: string, input: PutReasonsInput, ifMatch?: number): Promise<ReasonsView> {
      requireWrite(call, directPolicy.manage);
      return await put(reasonsSetting, "reasons.update", call, { guildId, value: PutReasonsInput.parse(input), ifMatch });
    },
  };
}
