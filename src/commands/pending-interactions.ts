import { say } from "../kit/say.ts";
import { randomBytes } from "node:crypto";
import { LRUCache } from "lru-cache";
import { ProblemError } from "../kernel/errors.ts";
import type { CommandInput } from "./entry.ts";

/** What somebody has asked for, until their next press: Discord tells nothing of it with a button. */
export interface PendingInteraction {
  userId: string;
  /** `<command> <path>` of the entry. */
  entry: string;
  given: CommandInput;
  /** Where each page of a list begins that was seen so far. */
  cursors: (string | undefined)[];
  /** What was given as it was typed, where `given` has what was read from it or shown since. */
  typed?: CommandInput;
  /** What it will do was shown: its form is sent as the answer, and nothing is asked again. */
  isAnswered?: true;
  /** Options that were refused, which its form asks for besides. */
  mends?: readonly string[];
}

/** An answer that only its asker sees can be changed for fifteen minutes; later there is nothing to press. */
const lifeMs = 900_000;
const maxKept = 2000;

export interface PendingInteractions {
  /** @returns the key to put into a custom id */
  keep(asked: PendingInteraction): string;
  /** @throws ProblemError invalid_transition when it is too old, from before a restart, or somebody else's */
  find(key: string, userId: string): PendingInteraction;
  /** As `find`, once: anyone who presses twice is told that it was taken. @throws ProblemError invalid_transition as `find`, and when it was */
  take(key: string, userId: string): PendingInteraction;
  /** What was taken came to nothing, and can be asked for again. */
  giveBack(key: string): void;
}

export function createPendingInteractions(): PendingInteractions {
  const kept = new LRUCache<string, { asked: PendingInteraction; isTaken: boolean }>({ max: maxKept, ttl: lifeMs });

  function find(key: string, userId: string) {
    const found = kept.get(key);
    if (found === undefined) throw new ProblemError("invalid_transition", { detail: say("commands.this-is-too-old-give-the-command") });
    if (found.asked.userId !== userId)
      throw new ProblemError("invalid_transition", {
        detail: say("commands.this-is-not-yours-to-answer-somebody"),
      });
    return found;
  }

  function open(key: string, userId: string) {
    const found = find(key, userId);
    if (found.isTaken) throw new ProblemError("invalid_transition", { detail: say("commands.this-was-answered-already-and-counts-once") });
    return found;
  }

  return {
    keep(asked) {
      const key = randomBytes(12).toString("base64url");
      kept.set(key, { asked, isTaken: false });
      return key;
    },
    find: (key, userId) => open(key, userId).asked,
    take(key, userId) {
      const found = open(key, userId);
      found.isTaken = true;
      return found.asked;
    },
    giveBack(key) {
      const found = kept.peek(key);
      if (found !== undefined) found.isTaken = false;
    },
  };
}
