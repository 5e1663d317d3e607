import type { Tx } from "../../database/database.ts";

/** What guilds are told of, as the alerts channel takes it. */
export interface Alerts {
  raise(tx: Tx, alert: ListAlert): void;
}

export type ListAlert =
  | { kind: "listed_person_joined"; guildIds: readonly string[]; userId: string; reference: string; listId: string }
  | { kind: "breaker_tripped"; guildIds: readonly string[]; count: number };
