import type { Deps } from "../../deps.ts";
import type { Tx } from "../../../database/database.ts";
import type { GuildState } from "../../../discord/guild-state.ts";
import { requirePermission, requireWrite, type Call } from "../../../kernel/call.ts";
import { recordNotFound } from "../../../kernel/errors.ts";
import { directPolicy } from "./direct.policy.ts";
import { createGuildSetting } from "./guild-settings.ts";
import { DirectRules, PutDirectInput, PutReasonsInput, ReasonTemplates, type DirectView, type ReasonsView } from "./direct.schema.ts";

const noRules: DirectRules = { warning: null, note: null, timeout: null, kick: null, ban: null };
export const directSetting = createGuildSetting("direct", DirectRules, noRules);
export const reasonsSetting = createGuildSetting("reasons", ReasonTemplates, { reasons: [] });

export interface DirectSettingsDeps extends Deps<"database" | "audit"> {
  guildState: Pick<GuildState, "guilds">;
}

/** What a server lets each level do alone, and the reasons it gives often. */
export function createDirectSettings({ database, audit, guildState }: DirectSettingsDeps) {
  /** @throws ProblemError record_not_found for a guild that is not served */
  function requireServed(guildId: string): void {
    if (!guildState.guilds().some(({ id, present }) => present && id === guildId)) throw recordNotFound();
  }

  function record(tx: Tx, action: "direct.update" | "reasons.update", guildId: string, change: { before: object; after: object }): void {
    audit.record(tx, { action, target: { kind: "guild", id: guildId }, guildId, ...change, permission: directPolicy.manage });
  }

  return {
    requireServed,

    /** What each level does alone in a server. @throws ProblemError record_not_found */
    async getDirect(call: Call, guildId: string): Promise<DirectView> {
      requirePermission(call, directPolicy.read);
      requireServed(guildId);
      const { value, ...rest } = await directSetting.read(database.read, guildId);
      return { guild_id: guildId, ...value, ...rest };
    },

    /** Choose all rules of a server; what is left out is off. @throws ZodError, ProblemError record_not_found, precondition_failed */
    async putDirect(call: Call, guildId: string, input: PutDirectInput, ifMatch?: number): Promise<DirectView> {
      requireWrite(call, directPolicy.manage);
      requireWrite(call, directPolicy.decide);
      const value = PutDirectInput.parse(input);
      requireServed(guildId);
      return await database.write(call, async (tx) => {
        const { value: rules, ...rest } = await directSetting.put(tx, guildId, { value, ifMatch }, (before) =>
          record(tx, "direct.update", guildId, { before, after: value }),
        );
        return { guild_id: guildId, ...rules, ...rest };
      });
    },

    /** The reason templates of a server. @throws ProblemError record_not_found */
    async getReasons(call: Call, guildId: string): Promise<ReasonsView> {
      requirePermission(call, directPolicy.read);
      requireServed(guildId);
      const { value, ...rest } = await reasonsSetting.read(database.read, guildId);
      return { guild_id: guildId, ...value, ...rest };
    },

    /** Replace all reason templates of a server. @throws ZodError, ProblemError record_not_found, precondition_failed */
    async putReasons(call: Call, guildId: string, input: PutReasonsInput, ifMatch?: number): Promise<ReasonsView> {
      requireWrite(call, directPolicy.manage);
      const value = PutReasonsInput.parse(input);
      requireServed(guildId);
      return await database.write(call, async (tx) => {
        const { value: reasons, ...rest } = await reasonsSetting.put(tx, guildId, { value, ifMatch }, (before) =>
          record(tx, "reasons.update", guildId, { before, after: value }),
        );
        return { guild_id: guildId, ...reasons, ...rest };
      });
    },
  };
}
