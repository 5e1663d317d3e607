import type { Person } from "./steps.ts";

const order = ["none", "viewer", "moderator", "senior", "admin", "owner"] as const;
export type Level = (typeof order)[number];

export const levelOf: Readonly<Record<Person, Level>> = {
  viewer: "viewer",
  moderator: "moderator",
  senior: "senior",
  linked: "senior",
  admin: "admin",
  owner: "owner",
};

/** From which level on, domain.md §3.6. */
const needs: Readonly<Record<string, Level>> = {
  "workflows.read": "moderator",
  "workflows.review": "moderator",
  "workflows.claim": "moderator",
  "workflows.assign": "senior",
  "workflows.hold": "moderator",
  "workflows.edit_any": "senior",
  "workflows.void": "senior",
  "workflows.reopen": "senior",
  "workflows.decide_escalated": "admin",
  "workflows.override": "owner",
  "cases.confidential": "admin",
  "roster.apply_fixes": "admin",
};
const filedByEverybody: ReadonlySet<string> = new Set(["investigation", "poach", "appeal"]);
const decidedByAdmins: ReadonlySet<string> = new Set(["blacklist-server", "server-merge"]);

export function has(person: Person, right: string): boolean {
  const [, kind = "", verb] = /^workflows\.([a-z-]+)\.(create|decide|reverse)$/.exec(right) ?? [];
  const level =
    verb === "create"
      ? filedByEverybody.has(kind)
        ? "viewer"
        : "moderator"
      : verb === "decide"
        ? decidedByAdmins.has(kind)
          ? "admin"
          : "senior"
        : verb === "reverse"
          ? "admin"
          : needs[right];
  if (level === undefined) throw new Error(`domain.md has no ${right}`);
  return order.indexOf(levelOf[person]) >= order.indexOf(level);
}

/** Whether somebody stands at or above a person; who is no staff stands below everybody. */
export function isAtOrAbove(other: string, person: Person): boolean {
  if (person === "owner" || !(other in levelOf)) return false;
  return order.indexOf(levelOf[other as Person]) >= order.indexOf(levelOf[person]);
}
