import { Routes } from "discord-api-types/v10";
import type { Clock } from "../../kernel/clock.ts";
import { ProblemError } from "../../kernel/errors.ts";
import type { DiscordCalls } from "../../kernel/discord-port.ts";

const keptMs = 600_000;
const deadlineMs = 2000;
const slash = 1;

interface Listed {
  id: string;
  name: string;
  type?: number;
}

/** The ids of the registered slash commands by their names. */
export type CommandIds = () => Promise<ReadonlyMap<string, string>>;

/** Reads the ids of the slash commands, at most every ten minutes. Without Discord none are known, and nothing is thrown. */
export function createCommandIds(rest: DiscordCalls, clientId: string, clock: Clock): CommandIds {
  let kept: { ids: ReadonlyMap<string, string>; until: number } | undefined;
  return async () => {
    const now = clock.now().getTime();
    if (kept !== undefined && now < kept.until) return kept.ids;
    try {
      const route = Routes.applicationCommands(clientId);
      const listed = await rest.call<Listed[]>({ method: "GET", route, purpose: "registration", deadlineMs });
      const ids = new Map(listed.filter(({ type = slash }) => type === slash).map(({ name, id }) => [name, id]));
      // Before the first registration there are none yet.
      if (ids.size > 0) kept = { ids, until: now + keptMs };
      return ids;
    } catch (error) {
      if (error instanceof ProblemError) return kept?.ids ?? new Map();
      throw error;
    }
  };
}
