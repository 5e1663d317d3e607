import { say } from "../../../kit/say.ts";
import type { Reason } from "../../../kernel/call.ts";
import { isoOrNull } from "../../../kernel/fields.ts";
import { steps, type ExplainView, type Step } from "./explain.schema.ts";
import { clientOnly, notGranted, notNamed, notStaff, notTold } from "../resolve.ts";
import type { Access } from "../access/access-directory.ts";

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

const limits = ({ scope, expiresAt }: Spoken) => ({ guild: scope ?? "none", at: expiresAt?.toISOString() ?? "none" });

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
    sentence: ({ ref, level }) => say("permissions.the-staff-role-is-of-the-level", { role: ref ?? "", level: level ?? "" }),
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
export function explain(access: Access, permission: string, guildId?: string): ExplainView {
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
export function endOf(access: Access, permission: string, guildId?: string): string | null {
  return isoOrNull(access.heldUntil(permission, guildId) ?? null);
}
