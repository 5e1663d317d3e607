import type { RESTPostAPIApplicationCommandsJSONBody } from "discord.js";
import type { Logger } from "pino";
import { ProblemError } from "../../kernel/errors.ts";
import { backOff } from "../../kernel/pause.ts";
import { labelOf, payloadOf } from "./compare.ts";
import { createCommandList, commandRefusal } from "./list.ts";
import { safeError } from "../rest/errors.ts";
import type { DiscordRest } from "../rest/rest.ts";

interface RegistrationOptions {
  rest: DiscordRest;
  clientId: string;
  payloads: readonly RESTPostAPIApplicationCommandsJSONBody[];
  logger: Logger;
  /** The first pause after a failure; doubles up to 10 min. */
  retryMs?: number;
}

export interface Registration {
  /** Update Discord's list of commands, once; repeated until it works, or until Discord refuses the commands. */
  start(): void;
  isDone(): boolean;
  stop(): void;
}

/** Registers the commands when the service connects. Only differences are sent, so a second service with the same list changes nothing. */
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
        const refusal = commandRefusal(error);
        if (refusal !== undefined) {
          logger.error(refusal, "Discord refused the slash commands; they stay as they were until the service is started again");
          return;
        }
        const problem = error instanceof ProblemError ? error : undefined;
        logger.warn({ err: safeError(problem?.cause ?? error) }, "slash commands could not be registered; trying again");
        if (state !== "running") return;
        const retryAfterMs = (problem?.retryAfter ?? 0) * 1000;
        const leastMs = Math.min(86_400_000, retryAfterMs);
        timer = setTimeout(() => attempt(failures + 1), backOff(failures, { firstMs: retryMs, mostMs: 600_000, leastMs })).unref();
      },
    );
  };

  return {
    start() {
      if (state !== "idle") return;
      state = "running";
      attempt(1);
    },
    isDone: () => state === "done",
    stop() {
      state = "stopped";
      stopping.abort();
      clearTimeout(timer);
    },
  };
}
