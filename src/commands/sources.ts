import type { SourceSpec } from "./entry.ts";
import { cut } from "./show.ts";
import { holds, staffSources } from "./sources-staff.ts";
import { recordSources } from "./sources-records.ts";
import { registrySources } from "./sources-registry.ts";
import { workflowSources } from "./sources-workflows.ts";

const most = 25;

/** Where typed options are completed from, by name. */
export const sources: Readonly<Record<string, SourceSpec>> = {
  ...staffSources,
  ...registrySources,
  ...recordSources,
  ...workflowSources,
  callsign: {
    operation: "listCallsigns",
    input: (typed) => ({ query: { limit: most, q: typed === "" ? undefined : typed } }),
    choice: ({ callsign }: { callsign: string }) => ({ name: cut(callsign, 100), value: callsign }),
  },
  pool: {
    operation: "listCallsignPools",
    input: () => ({ query: { limit: 200 } }),
    keeps: ({ key, name }: { key: string; name: string }, typed) => holds(typed, key, name),
    choice: ({ key, name }: { key: string; name: string }) => ({ name: cut(`${name} (${key})`, 100), value: key }),
  },
};
