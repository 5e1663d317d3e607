import { severities } from "../../kernel/vocabulary.ts";
import { listActions, type ListActionName, type Stance, type StanceRule } from "./lists.schema.ts";

/** That somebody is listed: what a record of a list says about them. */
export interface Listing {
  listId: string;
  recordId: string;
  /** Such as `BL-000123`; the name that audit and reasons carry. */
  reference: string;
  category: string;
  severity: string;
  /** What the record recommends, as far as the bot can do it. */
  action: ListActionName | null;
  /** The guilds it counts for; null is everywhere. */
  guildIds: readonly string[] | null;
}

/** One thing a guild does about somebody. At most one with a key stands at a time. */
export interface Verdict {
  key: string;
  stance: Exclude<Stance, "ignore">;
  action: ListActionName | null;
  roleId: string | null;
  /** Of a timeout. */
  seconds: number | null;
  listing: Listing;
}

export interface Circumstances {
  guildId: string;
  /** Whether the guild leaves them alone. */
  isExempt: boolean;
  /** Staff and owners: of them it is told, and nothing else is done. */
  isProtected: boolean;
  /** Whether a list may not give a role of the guild. */
  isBarredRole: (roleId: string) => boolean;
}

const unsaid: StanceRule = {
  list: "",
  category: "any",
  stance: "notify",
  action: null,
  role_id: null,
  timeout_seconds: 28 * 86_400,
  min_severity: "low",
};

/** Whether a guild has a rule for a listing. */
export function hasRuleFor(rules: readonly StanceRule[], listing: Pick<Listing, "listId" | "category">): boolean {
  return ruleFor(rules, listing) !== unsaid;
}

/** The rule that a listing meets: that of its category, else that of the rest of its list, else that all are told. */
export function ruleFor(rules: readonly StanceRule[], { listId, category }: Pick<Listing, "listId" | "category">): StanceRule {
  const ofList = rules.filter(({ list }) => list === listId);
  return ofList.find((rule) => rule.category === category) ?? ofList.find((rule) => rule.category === "any") ?? unsaid;
}

/** What a guild does about somebody because of these listings: of several actions only the gravest, which stands for all. */
export function verdictsOf(listings: readonly Listing[], rules: readonly StanceRule[], at: Circumstances): Verdict[] {
  if (at.isExempt) return [];
  const all = listings
    .filter(({ guildIds }) => guildIds === null || guildIds.includes(at.guildId))
    .toSorted((a, b) => severityOrder(b.severity) - severityOrder(a.severity) || (a.reference < b.reference ? -1 : 1))
    .flatMap((listing) => verdictOf(listing, ruleFor(rules, listing), at));
  const gravest = all.filter(({ stance }) => stance === "apply").toSorted((a, b) => graveness(b) - graveness(a))[0];
  return all.filter((verdict) => verdict.stance !== "apply" || verdict === gravest);
}

function severityOrder(severity: string): number {
  return severities.findIndex((known) => known === severity);
}

function graveness({ action }: Verdict): number {
  return action === null ? -1 : listActions.indexOf(action);
}

function verdictOf(listing: Listing, rule: StanceRule, { isProtected, isBarredRole }: Circumstances): Verdict[] {
  if (rule.stance === "ignore" || severityOrder(listing.severity) < severityOrder(rule.min_severity)) return [];
  const action = rule.action ?? listing.action;
  const about = `${listing.listId}:${listing.recordId}`;
  const roleId = action === "role" ? rule.role_id : null;
  const isBarred = roleId !== null && isBarredRole(roleId);
  // A record that recommends nothing the bot could do is told of.
  if (rule.stance === "notify" || isProtected || isBarred || action === null)
    return [{ key: `notify:${about}`, stance: "notify", action: null, roleId: null, seconds: null, listing }];
  const seconds = action === "timeout" ? rule.timeout_seconds : null;
  const what = [action, ...(roleId === null ? [] : [roleId])].join(":");
  const key = rule.stance === "propose" ? `propose:${about}:${what}` : `apply:${what}`;
  return [{ key, stance: rule.stance, action, roleId, seconds, listing }];
}
