import { say } from "../../kit/say.ts";
import type { Deps } from "../deps.ts";
import type { Tx } from "../../database/database.ts";
import type { GuildState } from "../../discord/guild-state.ts";
import { requireWrite, type Call } from "../../kernel/call.ts";
import { fieldError } from "../../kernel/errors.ts";
import { requireRevision } from "../../kernel/revision.ts";
import { flat } from "../../kit/setting.ts";
import type { ListChecks } from "./checks.ts";
import type { Conflicts } from "../links/conflicts.ts";
import { listsPolicy, presentStance, requireServed, stanceSetting } from "./lists.policy.ts";
import { PutStanceInput, PutStanceQuery, type StanceRule, type StanceView } from "./lists.schema.ts";
import type { Previews } from "./preview.ts";
import { barOf } from "./stance-roles.ts";
import type { Rules } from "./rules.ts";

export interface StancesDeps extends Deps<"access" | "database" | "audit" | "servedGuilds"> {
  rules: Rules;
  previews: Previews;
  checks: Pick<ListChecks, "askGuild">;
  conflicts: Pick<Conflicts, "accountsOf" | "ownMatter">;
  guildState: Pick<GuildState, "role">;
  /** What a list is called; undefined where there is none of this id. */
  nameOf: (listId: string) => string | undefined;
}

const barred = {
  staff: say("lists.this-role-maps-to-a-staff-role"),
  privileged: say("lists.this-role-can-moderate-or-administer-the"),
  unknown: say("lists.discord-has-not-reported-the-permissions-of"),
} as const;

/** What each guild does about listed people. */
export interface StancesService {
  /** Take the rules about a list out that there is no more, in every guild. */
  forgetList(tx: Tx, listId: string): Promise<void>;
  /** @throws ProblemError permission_denied, record_not_found for a guild that is not served */
  get(call: Call, guildId: string): Promise<StanceView>;
  /**
   * Set all rules of a guild. What follows for its members follows at once.
   * @throws ZodError, ProblemError record_not_found, precondition_failed, validation_failed, conflict_of_interest for rules about the caller
   */
  put(call: Call, guildId: string, query: PutStanceQuery, input: PutStanceInput, ifMatch?: number): Promise<StanceView>;
}

/** Answers and changes what guilds do. */
export function createStances(deps: StancesDeps): StancesService {
  const { access, database, audit, servedGuilds, rules, previews, checks, conflicts, guildState, nameOf } = deps;
  const { memory } = rules;

  /** @throws ProblemError validation_failed */
  function requireKnown(guildId: string, wanted: readonly StanceRule[]): void {
    for (const [index, { list, role_id: roleId }] of wanted.entries()) {
      const at = `/rules/${index.toString()}`;
      if (nameOf(list) === undefined) throw fieldError(`${at}/list`, "unknown_reference", say("lists.there-is-no-such-list"));
      if (roleId === null) continue;
      // The role of everyone has the id of its guild.
      if (roleId === guildId || guildState.role(guildId, roleId) === undefined)
        throw fieldError(`${at}/role_id`, "unknown_reference", say("lists.the-server-has-no-such-role-that"));
      const bar = barOf({ access, guildState }, guildId, roleId);
      if (bar !== null) throw fieldError(`${at}/role_id`, "privileged_role", barred[bar]);
    }
  }

  const setting = stanceSetting.serve({
    database,
    audit,
    present: (guildId, stored) => presentStance(guildId, flat(stored), nameOf),
    placeOf: (guildId) => (servedGuilds.has(guildId) ? guildId : undefined),
    memory,
    onChange: checks.askGuild,
  });

  return {
    get: setting.get,
    forgetList: (tx, listId) =>
      setting.changeEach(tx, [...servedGuilds], (before) => ({ rules: before.rules.filter(({ list }) => list !== listId) })),
    async put(call, guildId, query, input, ifMatch) {
      requireWrite(call, listsPolicy.manage);
      const { dry_run: dryRun } = PutStanceQuery.parse(query);
      const wanted = PutStanceInput.parse(input);
      requireServed(servedGuilds, guildId);
      requireKnown(guildId, wanted.rules);
      const accounts = await conflicts.accountsOf(database.read, call);
      if (await previews.differs(guildId, rules.of(guildId), wanted.rules, accounts)) throw conflicts.ownMatter();
      const preview = await previews.ofRules(guildId, wanted.rules);
      if (dryRun === "true") {
        const known = memory.known(guildId);
        requireRevision(ifMatch, known.revision);
        return { ...presentStance(guildId, { ...flat(known), ...wanted }, nameOf), preview };
      }
      const stored = await database.write(call, async (tx) => flat(await setting.change(tx, guildId, () => wanted, ifMatch)));
      return { ...presentStance(guildId, stored, nameOf), preview };
    },
  };
}
