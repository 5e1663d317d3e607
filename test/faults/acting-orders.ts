/** What the service could leave out of what it does in Discord. */
export type Sabotage = "refusals are done" | "nothing is tried again" | "attempts are forgotten" | "ends stay as they were";

/** What a process of the service is told to do. Times are in milliseconds. */
export type Order =
  | { do: "time"; offset: number }
  | { do: "arm"; statements: number }
  | { do: "is leader" | "hear" | "settle" | "forget failures" }
  | { do: "look"; people: readonly string[] }
  | { do: "sabotage"; by: Sabotage | null };

/** What the service has recorded of some people. */
export interface Look {
  effects: readonly {
    userId: string;
    reference: string;
    key: string;
    status: string;
    dueAt: number | null;
    lastError: string | null;
  }[];
  actions: readonly { userId: string; reference: string; state: string; dueAt: number | null; lastError: string | null }[];
  /** References of what events say has failed, and of what the audit says. */
  told: readonly string[];
  noted: readonly string[];
}
