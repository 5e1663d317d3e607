import { say } from "../../kit/say.ts";
import type { Deps } from "../deps.ts";
import type { Tx } from "../../database/database.ts";
import type { GuildState } from "../../discord/guild-state.ts";
import type { Prisma } from "../../generated/sqlite/client.ts";
import { requirePermission, requireWrite, type Call } from "../../kernel/call.ts";
import { fieldError } from "../../kernel/errors.ts";
import { requireRevision } from "../../kernel/revision.ts";
import type { ListChecks } from "./checks.ts";
import type { Conflicts } from "../links/conflicts.ts";
import { listsPolicy, noRules, presentStance, readStance, requireServed, stanceKey, type KnownStance } from "./lists.policy.ts";
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
export function createStancesService({
  access,
  database,
  audit,
  servedGuilds,
  rules,
  previews,
  checks,
  conflicts,
  guildState,
  nameOf,
}: StancesDeps) {
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

  const present = (guildId: string, stance: KnownStance) => presentStance(guildId, stance, nameOf);

  async function store(tx: Tx, guildId: string, before: KnownStance, wanted: StanceRule[]): Promise<KnownStance> {
    const stored = {
      rules: wanted,
      revision: before.revision + 1,
      updated_by: tx.call.actor?.id ?? null,
      updated_at: tx.now.toISOString(),
    };
    const [key, value] = [stanceKey(guildId), stored satisfies Prisma.InputJsonObject];
    await tx.db.setting.upsert({ where: { key }, create: { key, value }, update: { value } });
    audit.record(tx, {
      action: "stance.update",
      target: { kind: "guild", id: guildId },
      guildId,
      before: { rules: before.rules },
      after: { rules: wanted },
      permission: listsPolicy.manage,
    });
    rules.set(tx, guildId, stored);
    checks.askGuild(tx, guildId);
    return stored;
  }

  return {
    /** Take the rules about a list out that there is no more, in every guild. */
    async forgetList(tx: Tx, listId: string): Promise<void> {
      await tx.lock("stances");
      for (const guildId of servedGuilds) {
        const row = await tx.db.setting.findUnique({ where: { key: stanceKey(guildId) } });
        const before = row === null ? noRules : readStance(row.value);
        const left = before.rules.filter(({ list }) => list !== listId);
        if (left.length < before.rules.length) await store(tx, guildId, before, left);
      }
    },

    /** @throws ProblemError permission_denied, record_not_found for a guild that is not served */
    async get(call: Call, guildId: string): Promise<StanceView> {
      requirePermission(call, listsPolicy.read);
      requireServed(servedGuilds, guildId);
      return await Promise.resolve(present(guildId, rules.known(guildId)));
    },

    /**
     * Set all rules of a guild. What follows for its members follows at once; the same again changes nothing.
     * @throws ZodError, ProblemError record_not_found for a guild that is not served, precondition_failed, validation_failed,
     * conflict_of_interest for rules that change what is done about the caller
     */
    async put(call: Call, guildId: string, query: PutStanceQuery, input: PutStanceInput, ifMatch?: number): Promise<StanceView> {
      requireWrite(call, listsPolicy.manage);
      const { dry_run: dryRun } = PutStanceQuery.parse(query);
      const { rules: wanted } = PutStanceInput.parse(input);
      requireServed(servedGuilds, guildId);
      requireKnown(guildId, wanted);
      const accounts = await conflicts.accountsOf(database.read, call);
      if (await previews.differs(guildId, rules.of(guildId), wanted, accounts)) throw conflicts.ownMatter();
      const preview = await previews.ofRules(guildId, wanted);
      if (dryRun === "true") {
        const known = rules.known(guildId);
        requireRevision(ifMatch, known.revision);
        return { ...present(guildId, { ...known, rules: wanted }), preview };
      }
      const stored = await database.write(call, async (tx) => {
        await tx.lock("stances");
        const row = await tx.db.setting.findUnique({ where: { key: stanceKey(guildId) } });
        const before = row === null ? noRules : readStance(row.value);
        requireRevision(ifMatch, before.revision);
        if (JSON.stringify(before.rules) === JSON.stringify(wanted)) {
          rules.set(tx, guildId, before);
          return before;
        }
        return await store(tx, guildId, before, wanted);
      });
      return { ...present(guildId, stored), preview };
    },
  };
}
