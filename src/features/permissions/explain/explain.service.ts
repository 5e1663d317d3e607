import { say, term, serverId } from "../../../kit/say.ts";
import type { Deps } from "../../deps.ts";
import { requirePermission, requireWrite, type Call, type Reason } from "../../../kernel/call.ts";
import { fieldError, ProblemError, validationProblem, type FieldError } from "../../../kernel/errors.ts";
import { catalog, knownPermissions } from "../../../kernel/permissions.ts";
import { loosened, requireRankAbove, type RequireGrants, type RequireKeys } from "../grant.ts";
import type { Giving } from "../giving.ts";
import { grantsOf } from "../overrides.ts";
import {
  explainLimits,
  ExplainInput,
  SimulateInput,
  type ExplainView,
  type SimulateView,
  type Change,
  steps,
  type Step,
} from "./explain.schema.ts";
import { effectivePermissions, permissionsPolicy } from "../permissions.policy.ts";
import type { EffectiveQuery, EffectiveView } from "../users/users.schema.ts";
import { affected, imagine, wantedBy, type Imagined, type ImaginedStep } from "../simulate.ts";
import type { Access, StaffRoleRecord } from "../access/access-directory.ts";
import { flawsOf } from "../users/users.policy.ts";
import { isoOrNull } from "../../../kernel/fields.ts";
import { clientOnly, notGranted, notNamed, notStaff, notTold } from "../resolve.ts";

/** What is known of a rule besides its reason. */
interface Details {
  /** When it ends by itself; undefined where that cannot be. */
  expiresAt?: Date | null;
  /** The one guild it counts in. */
  scope?: string;
  /** The level of the staff role it stands in. */
  level?: string;
}

/** One rule that spoke about a permission. */
type Spoken = Reason & Details & { permission: string };

const limits = ({ scope, expiresAt }: Spoken) => ({
  guild: scope === undefined ? "none" : serverId(scope),
  at: expiresAt?.toISOString() ?? "none",
});

const ownerSentences: Readonly<Record<string, string>> = {
  configuration: say("permissions.they-are-an-owner-by-the-configuration"),
  owners: say("permissions.they-are-an-owner-by-name"),
  last_owner: say("permissions.they-stay-an-owner-because-nobody-else"),
};

/** Whether a rule of a step allows, and how it reads in plain words. */
const kinds: Readonly<Record<Step, { allows: boolean; sentence: (spoken: Spoken) => string }>> = {
  owner: {
    allows: true,
    sentence: ({ source }) => ownerSentences[source] ?? say("permissions.they-are-an-owner-by-the-staff", { role: source }),
  },
  suspension: { allows: false, sentence: (spoken) => say("permissions.suspended", limits(spoken)) },
  blacklist: { allows: false, sentence: (spoken) => say("permissions.severe-record", limits(spoken)) },
  loa_policy: { allows: false, sentence: (spoken) => say("permissions.on-leave", { at: limits(spoken).at }) },
  user_deny: { allows: false, sentence: (spoken) => say("permissions.own-entry-denies", limits(spoken)) },
  user_allow: { allows: true, sentence: (spoken) => say("permissions.own-entry-allows", limits(spoken)) },
  role_deny: { allows: false, sentence: ({ ref }) => say("permissions.the-staff-role-denies-it", { role: ref ?? "" }) },
  role_allow: { allows: true, sentence: ({ ref }) => say("permissions.the-staff-role-allows-it", { role: ref ?? "" }) },
  default: {
    allows: true,
    sentence: ({ ref, level }) => say("permissions.the-staff-role-is-of-the-level", { role: ref ?? "", level: term(level ?? "") }),
  },
  nothing: { allows: false, sentence: nothingSentence },
};

function nothingSentence({ permission, code, source }: Spoken): string {
  if (permission === clientOnly) return say("permissions.api-keys-alone-hold-it-by-their");
  if (code === notTold.reason.code) return say("permissions.discord-could-not-be-asked-which-roles");
  if (source === notNamed.reason.source) return say("permissions.it-is-a-bot-and-a-bot");
  return code === notStaff.reason.code ? say("permissions.they-hold-no-staff-role") : say("permissions.no-staff-role-of-theirs-allows-it");
}

const roleSteps: ReadonlySet<string> = new Set(["role_deny", "role_allow", "default"] satisfies Step[]);

function stepOf({ code, source, ref }: Reason): Step {
  if (code === "not_member" || code === "unknown") return "nothing";
  if (code !== "role_mapping") return code;
  return ref !== notGranted.reason.ref && roleSteps.has(source) ? (source as Step) : "nothing";
}

/** What is known of the rules of a step. */
const details: Partial<Readonly<Record<Step, (access: Access, ref: string | null) => Details>>> = {
  suspension: entryDetails,
  blacklist: ({ listing }) => ({ expiresAt: listing?.expiresAt ?? null }),
  loa_policy: ({ leave }) => ({ expiresAt: leave?.until ?? null }),
  user_deny: entryDetails,
  user_allow: entryDetails,
  default: ({ held }, ref) => ({ level: held.find(({ role }) => role.key === ref)?.role.level ?? "none" }),
};

function entryDetails({ overrides }: Access, ref: string | null): Details {
  const entry = overrides.find(({ id }) => id === ref);
  return { expiresAt: entry?.expiresAt ?? null, ...(typeof entry?.guildId === "string" && { scope: entry.guildId }) };
}

/** Every rule that spoke about a permission, in the order in which they were asked. */
function explain(access: Access, permission: string, guildId?: string): ExplainView {
  const { allowed, reasons } = access.decide(permission, guildId);
  const trace = reasons.map((reason, index) => {
    const step = stepOf(reason);
    const known = details[step]?.(access, reason.ref) ?? {};
    const { expiresAt, scope } = known;
    return {
      step,
      effect: kinds[step].allows ? ("allow" as const) : ("deny" as const),
      decides: index === 0,
      ...reason,
      ...(scope !== undefined && { scope }),
      ...(expiresAt !== undefined && { expires_at: isoOrNull(expiresAt) }),
      text: kinds[step].sentence({ ...reason, ...known, permission }),
    };
  });
  return { user_id: access.id, key: permission, allowed, expires_at: endOf(access, permission, guildId), trace, order: [...steps] };
}

/** When somebody's holding of a permission ends by itself. */
function endOf(access: Access, permission: string, guildId?: string): string | null {
  return isoOrNull(access.heldUntil(permission, guildId) ?? null);
}

export interface ExplanationsDeps extends Deps<"servedGuilds" | "access" | "clock"> {
  requireKeys: RequireKeys;
  requireGrants: RequireGrants;
  requireMayName: Giving["requireMayName"];
}

/** What is decided about somebody and why, and what would be decided if things were otherwise. */
export function createExplanations({ access, clock, servedGuilds, requireKeys, requireGrants, requireMayName }: ExplanationsDeps) {
  function requireGuild(guildId: string | undefined, pointer: string, where: FieldError["in"]): void {
    if (guildId !== undefined && !servedGuilds.has(guildId))
      throw fieldError(pointer, "unknown_guild", say("permissions.the-service-does-not-know-this-guild"), where);
  }

  function roleOf(key: string): StaffRoleRecord {
    const role = access.role(key);
    if (role === undefined) throw new Error(`there is no staff role ${key}`);
    return role;
  }

  /** The rules that saving a change would have to keep. */
  function requireSavable(call: Call, step: ImaginedStep, personOf: (userId: string) => Access): void {
    if (step.kind === "role") {
      requireWrite(call, permissionsPolicy.changeRole);
      requireRankAbove(call, step.before.rank);
      requireKeys(call, loosened(step.before.rules, step.after.rules));
    } else {
      requireWrite(call, permissionsPolicy.changeUser);
      const person = personOf(step.userId);
      requireRankAbove(call, person.rank);
      requireGrants(call, grantsOf(step.edits));
      requireMayName(call, person, step.edits);
    }
  }

  function refusalsOf(call: Call, { steps }: Imagined, personOf: (userId: string) => Access): SimulateView["refusals"] {
    return steps.flatMap((step, index) => {
      try {
        requireSavable(call, step, personOf);
        return [];
      } catch (error) {
        if (error instanceof ProblemError) return [{ index, code: error.code, detail: error.said }];
        throw error;
      }
    });
  }

  function roleDifferences({ roles }: Imagined): SimulateView["roles"] {
    return [...roles.values()].map((after) => {
      const [was, is] = [roleOf(after.key).rules, after.rules].map((rules) => new Set(effectivePermissions(rules)));
      const beyond = (keys: ReadonlySet<string> | undefined, others: ReadonlySet<string> | undefined): string[] =>
        [...(keys ?? [])].filter((key) => others?.has(key) !== true);
      return { role_key: after.key, gains: beyond(is, was), loses: beyond(was, is) };
    });
  }

  return {
    /**
     * Every permission of the catalog as decided for somebody now. A stranger is an answer, too.
     * @throws ProblemError validation_failed for a guild the service does not know
     */
    async effective(call: Call, userId: string, { guild_id: guildId }: EffectiveQuery = {}): Promise<EffectiveView> {
      requirePermission(call, permissionsPolicy.explain, { own: userId });
      requireGuild(guildId, "/guild_id", "query");
      const found = await access.resolve(userId);
      const { level, rank, status, isBarred } = found;
      return {
        user_id: userId,
        guild_id: guildId ?? null,
        level,
        rank,
        status,
        barred: isBarred,
        permissions: catalog.map(({ key }) => {
          const { allowed, reasons } = found.decide(key, guildId);
          const [reason = { code: "not_member" as const, source: "staff", ref: null }] = reasons;
          return { key, allowed, expires_at: endOf(found, key, guildId), reason: { ...reason } };
        }),
      };
    },

    /**
     * Every rule that speaks about one permission of somebody, in order.
     * @throws ProblemError validation_failed for a permission or guild that does not exist
     */
    async explain(call: Call, given: ExplainInput): Promise<ExplainView> {
      requirePermission(call, permissionsPolicy.explain);
      const { user_id, key, context } = ExplainInput.parse(given);
      if (!knownPermissions.has(key))
        throw fieldError("/key", "unknown_permission", say("permissions.is-not-a-permission-of-the-catalog", { key }));
      requireGuild(context?.guild_id, "/context/guild_id", "body");
      return explain(await access.resolve(user_id), key, context?.guild_id);
    },

    /**
     * Who would gain and lose what by these changes, and which of them the caller could not save. Nothing is written.
     * @throws ProblemError validation_failed for roles, permissions and guilds that do not exist
     */
    async simulate(call: Call, given: SimulateInput): Promise<SimulateView> {
      requirePermission(call, permissionsPolicy.explain);
      const { changes } = SimulateInput.parse(given);
      const named = await Promise.all(changes.flatMap(({ user_id }) => user_id ?? []).map(async (id) => await access.resolve(id)));
      requireThinkable(changes, { hasRole: (key) => access.role(key) !== undefined, guilds: servedGuilds, now: clock.now() });
      const people = new Map<string, Access>(named.map((one) => [one.id, one]));
      for (const id of access.people()) if (!people.has(id)) people.set(id, access.of(id));
      const imagined = imagine(changes, { roleOf, overridesOf: access.overridesOf, now: clock.now() });
      const changed = affected(people.values(), changes, imagined, access);
      return {
        people: changed.slice(0, explainLimits.people).map(({ rank: _, ...one }) => one),
        people_total: changed.length,
        roles: roleDifferences(imagined),
        refusals: refusalsOf(call, imagined, (userId) => people.get(userId) ?? access.of(userId)),
      };
    },
  };
}

/** What there is, for changes to be about. */
interface Known {
  hasRole(key: string): boolean;
  guilds: ReadonlySet<string>;
  now: Date;
}

/** @throws ProblemError validation_failed naming roles, permissions and guilds that cannot be */
export function requireThinkable(changes: readonly Change[], known: Known): void {
  const errors = changes.flatMap((change, index) =>
    changeFlaws(change, known).map(([field, code, detail]): FieldError => {
      return { pointer: `/changes/${index.toString()}/${field}`, in: "body", code, detail };
    }),
  );
  if (errors.length > 0) throw validationProblem(errors);
}

function changeFlaws(change: Change, { hasRole, guilds, now }: Known): (readonly [field: string, code: string, detail: string])[] {
  if (change.role_key !== undefined)
    return hasRole(change.role_key) ? [] : [["role_key", "unknown_role", say("callsigns.there-is-no-such-staff-role")]];
  return wantedBy(change).flatMap((wanted) =>
    flawsOf(wanted, guilds, now).map(([, field, code, detail]) => {
      const index = change[wanted.effect].indexOf(wanted.key);
      return [field === "key" ? `${wanted.effect}/${index.toString()}` : field, code, detail] as const;
    }),
  );
}
