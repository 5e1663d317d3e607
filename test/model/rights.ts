import type { Caller, Person } from "./steps.ts";

/** From which level on, domain.md §3.6. */
const needs = {
  "blacklist.read": "moderator",
  "blacklist.read_confidential": "senior",
  "blacklist.check": "viewer",
  "blacklist.create": "admin",
  "blacklist.update": "senior",
  "blacklist.revoke": "admin",
  "cases.read": "moderator",
  "cases.read_all": "senior",
  "cases.confidential": "admin",
  "cases.create": "moderator",
  "cases.note": "moderator",
  "cases.close": "senior",
  "cases.reopen": "senior",
} as const;
export type Right = keyof typeof needs;

const order = ["none", "viewer", "moderator", "senior", "admin", "owner"] as const;
type Level = (typeof order)[number];

export const levelOf: Readonly<Record<Person, Level>> = {
  owner: "owner",
  admin: "admin",
  senior: "senior",
  moderator: "moderator",
  viewer: "viewer",
  member: "moderator",
  suspect: "senior",
  chief: "owner",
  stranger: "none",
};

/** What the narrow key may do at most. */
export const narrowScopes: readonly Right[] = ["blacklist.read", "blacklist.check", "cases.read"];

/** The person behind a caller; null: nobody. */
export function personOf(caller: Caller): Person | null {
  return caller === "key" ? null : caller === "narrow" ? "senior" : caller;
}

export function has(caller: Caller, right: Right): boolean {
  if (caller === "narrow" && !narrowScopes.includes(right)) return false;
  const person = personOf(caller);
  return person === null || order.indexOf(levelOf[person]) >= order.indexOf(needs[right]);
}

/** Whether one person stands above another: staff of lower rank, and everybody who is no staff. Owners stand above all. */
export function outranks(caller: Caller, other: string): boolean {
  const person = personOf(caller);
  if (person === null || person === "owner" || !(other in levelOf)) return true;
  const level = levelOf[other as Person];
  return level === "none" || order.indexOf(levelOf[person]) > order.indexOf(level);
}

export interface Refusal {
  status: number;
  code: string;
  required?: string;
  missing_in?: string;
}

/** Why a caller is refused before anything is looked at; undefined: they are not. */
export function refusalOf(caller: Caller, right: Right, isWrite: boolean): Refusal | undefined {
  const denied = { status: 403, code: "permission_denied", required: right };
  if (caller === "narrow" && !narrowScopes.includes(right)) return { ...denied, missing_in: "key" };
  if (caller === "stranger") return { status: 403, code: "acting_user_not_staff" };
  if (!has(caller, right)) return { ...denied, missing_in: "acting_user" };
  return isWrite && personOf(caller) === null ? { status: 403, code: "acting_user_required" } : undefined;
}
