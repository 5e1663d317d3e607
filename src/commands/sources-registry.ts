import type { SourceSpec } from "./entry.ts";
import { cut } from "./show.ts";
import { holds } from "./sources-staff.ts";

const most = 25;
const minuteOf = (at: string): string => `${at.slice(0, 16).replace("T", " ")} UTC`;

/** What options of `/callsign` and `/roster` are completed from. */
export const registrySources: Readonly<Record<string, SourceSpec>> = {
  repair: {
    operation: "listCallsignRepairs",
    input: () => ({ query: { limit: most } }),
    choice: ({ id, pool, at }: { id: string; pool: string | null; at: string }) => ({
      name: cut([minuteOf(at), ...(pool === null ? [] : [pool])].join(" · "), 100),
      value: id,
    }),
  },
  "roster-role": {
    operation: "listStaffRoles",
    input: () => ({ query: { limit: 200 } }),
    choice: ({ key, name }: { key: string; name: string }) => ({ name: cut(`${name} (${key})`, 100), value: key }),
    keeps: ({ key, name }: { key: string; name: string }, typed) => holds(typed, key, name),
  },
  "roster-audit": {
    operation: "listRosterAudits",
    input: () => ({ query: { limit: most } }),
    choice: ({ id, started_at: at, findings_total: found }: { id: string; started_at: string; findings_total: number }) => ({
      name: `${minuteOf(at)} · ${found.toString()}`,
      value: id,
    }),
  },
};
