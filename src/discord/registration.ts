import type { RESTPostAPIApplicationCommandsJSONBody } from "discord.js";
import type { Logger } from "pino";
import { ProblemError } from "../kernel/errors.ts";
import { labelOf, payloadOf } from "./registration-compare.ts";
import { createCommandList } from "./registration-list.ts";
import { safeError } from "./rest-errors.ts";
import type { DiscordRest } from "./rest.ts";

interface RegistrationOptions {
  rest: DiscordRest;
  clientId: string;
  payloads: readonly RESTPostAPIApplicationCommandsJSONBody[];
  logger: Logger;
  /** First pause after a failure; doubles up to 10 min. */
  retryMs?: number;
}

export interface Registration {
  /** Bring Discord's list of commands in line with ours, once, sending what differs; repeated until it works. */
  start(): void;
  isDone(): boolean;
  stop(): void;
}

/** What the service does about its commands when it connects. Another service with the same list finds nothing left to do. */
export function createRegistration({ rest, clientId, payloads, logger, retryMs = 30_000 }: RegistrationOptions): Registration {
  const stopping = new AbortController();
  const commands = createCommandList({ rest, clientId, callMs: 30_000, signal: stopping.signal });
  const wanted = payloads.map((payload) => payloadOf(payload));
  let state: "idle" | "running" | "done" | "stopped" = "idle";
  let timer: NodeJS.Timeout | undefined;

  const register = async (): Promise<void> => {
    const difference = await commands.difference(wanted);
    if (difference.changes.length === 0) return;
    await commands.send(wanted, difference);
    logger.info({ changed: difference.changes.map(labelOf) }, "slash commands registered");
  };

  const attempt = (failures: number): void => {
    register().then(
      () => {
        if (state === "running") state = "done";
      },
      (error: unknown) => {
        logger.warn({ err: safeError(error) }, "slash commands could not be registered; trying again");
        if (state !== "running") return;
        const asked = error instanceof ProblemError ? (error.retryAfter ?? 0) * 1000 : 0;
        const pauseMs = Math.max(Math.min(600_000, retryMs * 2 ** failures), Math.min(86_400_000, asked));
        timer = setTimeout(() => attempt(failures + 1), pauseMs).unref();
      },
    );
  };

  return {
    start() {
      if (state !== "idle") return;
      state = "running";
      attempt(0);
    },
    isDone: () => state === "done",
    stop() {
      state = "stopped";
      stopping.abort();
      clearTimeout(timer);
    },
  };
}
