import { validationProblem, type FieldError } from "../../../kernel/errors.ts";
import type { Change } from "./explain.schema.ts";
import { flawsOf } from "../users/users.policy.ts";
import { wantedBy } from "../simulate.ts";

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
  if (change.role_key !== undefined) return hasRole(change.role_key) ? [] : [["role_key", "unknown_role", "There is no such staff role."]];
  return wantedBy(change).flatMap((wanted) =>
    flawsOf(wanted, guilds, now).map(([, field, code, detail]) => {
      const index = change[wanted.effect].indexOf(wanted.key);
      return [field === "key" ? `${wanted.effect}/${index.toString()}` : field, code, detail] as const;
    }),
  );
}
