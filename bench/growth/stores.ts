import type { GrowthStore } from "./list.ts";

/** Everything that is listed, by name; loaded only when measured. */
export const stores: Readonly<Record<string, () => Promise<GrowthStore>>> = {
  blacklist: async () => (await import("./blacklist.ts")).store,
  audit: async () => (await import("./audit.ts")).store,
  requests: async () => (await import("./requests.ts")).store,
  cases: async () => (await import("./cases.ts")).store,
  roster: async () => (await import("./roster.ts")).store,
  nativeActions: async () => (await import("./native-actions.ts")).store,
  register: async () => (await import("./register.ts")).store,
};
