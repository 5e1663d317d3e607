import { onTestFinished } from "vitest";
import { isStorableText } from "../../src/kernel/storable.ts";
import { answerOf, createClient, type Answer } from "../support/client.ts";
import { freshId } from "../contract/document.ts";
import type { User } from "../../sandbox/index.ts";
import type { World } from "../support/world.ts";

/** Milliseconds for which nothing foreign may keep the others waiting. */
const longest = 1000;
const everyMs = 20;

interface LogLine {
  level?: string | number;
  msg?: string;
  err?: { type?: string; name?: string };
}

/** What a log line says of a fault that nobody expected: an exception that came out of where it belongs. */
export type IsExpected = (line: LogLine) => boolean;

/**
 * Watches a world in which something hostile is done: exceptions that nobody caught or that somebody caught who should not have had to, and
 * how long the others waited.
 */
export function createWatch(isExpected: IsExpected = () => false) {
  const faults: string[] = [];
  const note = (reason: unknown): void =>
    void faults.push(`uncaught: ${reason instanceof Error ? (reason.stack ?? reason.message) : String(reason)}`);
  const client = createClient();
  process.on("unhandledRejection", note);
  process.on("uncaughtException", note);
  onTestFinished(() => {
    process.off("unhandledRejection", note);
    process.off("uncaughtException", note);
    client.close();
  });

  /** What the processor gave to this process, as others on the machine may have had it meanwhile. */
  const spent = (): number => process.cpuUsage().user / 1000 + process.cpuUsage().system / 1000;
  function timer(): () => number {
    const [began, used] = [performance.now(), spent()];
    return () => Math.min(performance.now() - began, spent() - used);
  }

  return {
    /** For the `log` of the world. */
    log(text: string): void {
      const line = JSON.parse(text) as LogLine;
      const isLoud = line.level === "error" || line.level === "fatal" || line.level === 50 || line.level === 60;
      if ((line.err !== undefined || isLoud) && !isExpected(line)) faults.push(`logged: ${text.slice(0, 3000)}`);
    },

    /** An answer whose every text both databases would keep, and that is no failure of the service. @returns it */
    check(answer: Answer, what: string): Answer {
      const said = JSON.stringify(answer.body)?.slice(0, 500) ?? "";
      if (answer.status >= 500 && !["discord_error", "discord_unavailable", "unsupported_operation"].includes(answer.body?.code as string))
        faults.push(`${what}: answered ${answer.status.toString()} ${said}`);
      if (!isClean(answer.body)) faults.push(`${what}: said what cannot be stored: ${said}`);
      return answer;
    },

    /** Something is not as it should be. */
    fault: (text: string): void => void faults.push(text),

    /**
     * Do something hostile while others ask the service for something and write. Returns once it is done, and they were answered at
     * least once meanwhile.
     */
    async beside<T>(world: World, actor: User, work: () => Promise<T>): Promise<T> {
      const turn = { isOver: false };
      const ask = async (method: string, path: string, body?: string): Promise<void> => {
        const taken = timer();
        const headers = {
          authorization: `Bearer ${world.key}`,
          "x-acting-user": actor.id,
          ...(body !== undefined && { "content-type": "application/json", "content-length": Buffer.byteLength(body).toString() }),
        };
        const answer = answerOf(await client.send(world.url + path, { method, headers, body }));
        const ms = taken();
        const failed = failing(answer.body);
        // A machine that is slow says so of its storage; whether that works is seen by what neighbours write.
        if (answer.status >= 300 && failed?.join() !== "storage")
          faults.push(
            `a neighbour's ${method} ${path} was answered with ${answer.status.toString()} ${JSON.stringify(failed ?? answer.body)}`,
          );
        if (ms > longest) faults.push(`a neighbour's ${method} ${path} waited for ${ms.toFixed(0)} ms of the processor`);
      };
      const neighbours = async (): Promise<void> => {
        do {
          await ask("GET", "/health");
          const record = {
            kind: "user",
            subject_id: freshId(),
            category: "raid",
            severity: "low",
            reason_internal: "A neighbour's record.",
          };
          await ask("POST", "/blacklist", JSON.stringify(record));
          await new Promise((resolve) => void setTimeout(resolve, everyMs));
        } while (!turn.isOver);
      };
      let sinceTick = timer();
      const ticking = setInterval(() => {
        const ms = sinceTick();
        if (ms > longest) faults.push(`the event loop was kept for ${ms.toFixed(0)} ms of the processor`);
        sinceTick = timer();
      }, everyMs);
      const asking = neighbours();
      try {
        return await work();
      } finally {
        turn.isOver = true;
        await asking;
        clearInterval(ticking);
      }
    },

    /** What was found since the last look. */
    found(): string[] {
      return faults.splice(0);
    },
  };
}
export type Watch = ReturnType<typeof createWatch>;

/** The checks of `/health` that fail. */
function failing({ checks }: { checks?: Record<string, { status: string }> }): string[] | undefined {
  return checks === undefined ? undefined : Object.keys(checks).filter((name) => checks[name]?.status === "fail");
}

function isClean(value: unknown): boolean {
  if (typeof value === "string") return isStorableText(value);
  if (typeof value !== "object" || value === null) return true;
  return Object.entries(value).every(([name, one]) => isStorableText(name) && isClean(one));
}
