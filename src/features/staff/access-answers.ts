import { say } from "../../kit/say.ts";
import { createHash } from "node:crypto";
import type { GuildState } from "../../discord/guild-state.ts";
import type { Clock } from "../../kernel/clock.ts";
import { fieldError } from "../../kernel/errors.ts";
import type { Access } from "../permissions/access/access-directory.ts";
import { presentAccess, type AccessContent } from "./staff.policy.ts";
import type { AccessQuery, AccessView } from "./staff.schema.ts";

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

/** Permissions to decide one by one, and the guild in which they are used. */
interface Asked {
  permissions: readonly string[] | undefined;
  guildId: string | undefined;
}

/**
 * The answers about access, each made once: an answer is replaced when anything behind it changes.
 * @param known every permission of the catalog
 */
export function createAccessAnswers(known: ReadonlySet<string>, guildState: Pick<GuildState, "freshness" | "guilds">, clock: Clock) {
  const kept = new WeakMap<Access, Kept>();

  function remember(access: Access): Kept {
    const freshness = guildState.freshness();
    const key = freshness.stale ? `stale ${String(freshness.asOf?.getTime())}` : "live";
    const now = clock.now().getTime();
    const before = kept.get(access);
    if (before !== undefined && before.freshness === key && now >= before.evaluatedAt && now - before.evaluatedAt < sharedMs) return before;
    const isSame = before?.freshness === key;
    const content = isSame ? before.content : presentAccess(access, known, freshness);
    const tag = isSame ? before.answer.tag : tagOf(content);
    const next = {
      content,
      freshness: key,
      evaluatedAt: now,
      answer: { view: { ...content, evaluated_at: new Date(now).toISOString() }, tag },
    };
    kept.set(access, next);
    return next;
  }

  function decide(access: Access, { permissions, guildId }: Asked): TaggedAccess {
    const { content: general, answer } = remember(access);
    const content = guildId === undefined ? general : presentAccess(access, known, guildState.freshness(), guildId);
    const decisions = permissions?.map((permission) => {
      const { allowed, reasons } = access.decide(permission, guildId);
      return { permission, allowed, reasons: [...reasons] };
    });
    const asked = {
      ...content,
      ...(decisions !== undefined && { allowed: decisions.every((decision) => decision.allowed), decisions }),
    };
    return { view: { ...asked, evaluated_at: answer.view.evaluated_at }, tag: tagOf(asked) };
  }

  function parsePermissions(list: string): string[] {
    const asked = [...new Set(list.split(",").map((key) => key.trim()))];
    const unknown = asked.find((key) => !known.has(key));
    if (unknown !== undefined)
      throw fieldError(
        "/permission",
        "unknown_permission",
        say("permissions.is-not-a-permission-of-the-catalog", { key: unknown.slice(0, 100) }),
        "query",
      );
    return asked;
  }

  return {
    /** @param asked what of an answer was asked for; undefined: the answer itself, at once */
    answer: (access: Access, asked?: Asked): TaggedAccess => (asked === undefined ? remember(access).answer : decide(access, asked)),
    /** @throws ProblemError validation_failed for an unknown permission or guild */
    parse({ permission, guild_id: guildId }: AccessQuery): Asked | undefined {
      if (permission === undefined && guildId === undefined) return undefined;
      const permissions = permission === undefined ? undefined : parsePermissions(permission);
      if (guildId !== undefined && !guildState.guilds().some(({ id, present }) => id === guildId && present))
        throw fieldError("/guild_id", "unknown_guild", say("staff.the-service-does-not-know-this-guild"), "query");
      return { permissions, guildId };
    },
  };
}

function tagOf(content: object): string {
  return createHash("sha256").update(JSON.stringify(content)).digest("base64url").slice(0, 22);
}
