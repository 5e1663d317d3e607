import { createHash } from "node:crypto";
import type { GuildState } from "../../discord/guild-state.ts";
import type { Clock } from "../../kernel/clock.ts";
import { fieldError } from "../../kernel/errors.ts";
import type { Standing } from "../permissions/standing.ts";
import { presentAccess } from "./staff.policy.ts";
import type { AccessContent } from "./staff.policy.ts";
import type { AccessView } from "./staff.schema.ts";

/** An access answer and the tag of its content, which the time is no part of. */
export interface TaggedAccess {
  view: AccessView;
  tag: string;
}

interface Kept {
  content: AccessContent;
  freshness: string;
  answer: TaggedAccess;
  evaluatedAt: number;
}

/** Answers are the same object for this long, so that a busy client costs nothing. */
const sharedMs = 1000;

export interface AccessAnswers {
  answer(standing: Standing): TaggedAccess;
  decide(standing: Standing, permissions: readonly string[]): TaggedAccess;
  /** @throws ProblemError validation_failed for an unknown permission */
  parse(list: string): string[];
}

/**
 * Access answers, each made once for a standing: a standing is replaced when anything behind it changes.
 * @param known every permission of the catalog
 */
export function createAccessAnswers(known: ReadonlySet<string>, guildState: Pick<GuildState, "freshness">, clock: Clock): AccessAnswers {
  const kept = new WeakMap<Standing, Kept>();

  function remember(standing: Standing): Kept {
    const freshness = guildState.freshness();
    const key = freshness.stale ? `stale ${String(freshness.asOf?.getTime())}` : "live";
    const now = clock.now().getTime();
    const before = kept.get(standing);
    if (before !== undefined && before.freshness === key && now >= before.evaluatedAt && now - before.evaluatedAt < sharedMs) return before;
    const isSame = before?.freshness === key;
    const content = isSame ? before.content : presentAccess(standing, known, freshness);
    const tag = isSame ? before.answer.tag : tagOf(content);
    const next = {
      content,
      freshness: key,
      evaluatedAt: now,
      answer: { view: { ...content, evaluated_at: new Date(now).toISOString() }, tag },
    };
    kept.set(standing, next);
    return next;
  }

  return {
    answer: (standing) => remember(standing).answer,
    decide(standing, permissions) {
      const { content, answer } = remember(standing);
      const decisions = permissions.map((permission) => {
        const { allowed, reasons } = standing.decide(permission);
        return { permission, allowed, reasons: [...reasons] };
      });
      const asked = { ...content, allowed: decisions.every((decision) => decision.allowed), decisions };
      return { view: { ...asked, evaluated_at: answer.view.evaluated_at }, tag: tagOf(asked) };
    },
    parse(list) {
      const asked = [...new Set(list.split(",").map((key) => key.trim()))];
      const unknown = asked.find((key) => !known.has(key));
      if (unknown !== undefined)
        throw fieldError("/permission", "unknown_permission", `"${unknown.slice(0, 100)}" is not a permission of the catalog.`, "query");
      return asked;
    },
  };
}

function tagOf(content: object): string {
  return createHash("sha256").update(JSON.stringify(content)).digest("base64url").slice(0, 22);
}
