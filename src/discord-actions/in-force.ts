import { say } from "../kit/say.ts";
import type { Tx } from "../database/database.ts";
import type { DiscordActionDraft } from "../kernel/discord-port.ts";

/** A person in a guild. */
export interface Place {
  guildId: string;
  userId: string;
}

/** An action of the bot that a decision asks for, as long as that decision is in force. */
export interface CauseInForce {
  feature: "request" | "list";
  /** The row that holds it, unique within the feature. */
  id: string;
  /** The number of the request or record. */
  reference: string;
  kind: "ban" | "timeout" | "role_add" | "role_remove";
  roleId?: string;
  /** Its own end; null without one. Another cause can keep the person timed out for longer. */
  until: Date | null;
  /** For a timeout, the end that the bot set in Discord, where that is not `until`. */
  shown?: Date;
  /** Whether the bot changed something: otherwise the same was in place before, and there is nothing to take back. */
  changed: boolean;
  state: "pending" | "done";
  /** When it was decided. */
  at: Date;
}

/** What becomes known of a cause when it takes over what another one did. */
export interface Marker {
  changed: boolean;
  until?: Date;
}

/** Where a feature keeps its causes. Every method runs in the transaction of the caller. */
export interface CauseSource {
  feature: CauseInForce["feature"];
  causesOf(tx: Tx, place: Place): Promise<readonly CauseInForce[]>;
  /** Whether the bot still has something to do to the person there. */
  isUnderWay(tx: Tx, place: Place): Promise<boolean>;
  /** Texts of which the reason of every ban that the bot made for this feature contains one. */
  signsOf(tx: Tx, place: Place): Promise<readonly string[]>;
  /** Record that a cause has taken over what another one did; of a pending one, that its action may be done already. */
  mark(tx: Tx, id: string, marker: Marker): Promise<void>;
  /** Take the locks that come before those of a person's causes, for a decision that ends some. */
  lockForEnding?(tx: Tx, place: Place): Promise<void>;
  /** Record that a decision ends every cause of a kind. Nothing is sent: the decision does that. */
  end(tx: Tx, place: Place, ending: Ending): Promise<void>;
}

export interface Ending {
  kind: "ban" | "timeout";
  /** The reference of the decision. */
  by: string;
}

/** A cause that is no longer in force. */
export interface WithdrawnCause extends CauseInForce, Place {
  /** For Discord's audit log. */
  reason: string;
}

/** What is left to do for a cause that was withdrawn. */
export interface Remaining {
  /** What keeps the person as they are, in a sentence; null when nothing does. */
  stays: string | null;
  /** What the bot has to do; null when Discord shows what holds already. */
  next: DiscordActionDraft | null;
}

/** The decision behind an action that is carried out later. */
export interface Decided {
  at: Date;
  /** Whether it ended every earlier ban or timeout of the person, and is not only the end of one. */
  isEnding: boolean;
}

/** What is left of an action that is carried out later than it was decided. */
export interface LeftOver extends Remaining {
  /** Where nothing is left: whether the action counts as carried out, for when the decision that stands in its way is withdrawn. */
  changed: boolean;
}

/** What holds for a person in a guild. */
export interface Holding {
  isBanned: boolean;
  /** Null: not timed out. */
  timedOutUntil: Date | null;
  /** Roles on which a decision was made; true: the person has it. */
  roles: ReadonlyMap<string, boolean>;
}

type Cause = CauseInForce;
type Kind = Cause["kind"];

const nothing: Remaining = { stays: null, next: null };
/** Discord keeps ends of timeouts to this precision, in milliseconds. */
const precisionMs = 1000;

/** Compute what holds from all causes in force: banned by any, timed out until the latest end, each role by the newest decision. */
export function holding(causes: readonly Cause[], now: Date): Holding {
  const inOrder = byAge(causes.filter((cause) => isInForce(cause, now)));
  return {
    isBanned: inOrder.some(({ kind }) => kind === "ban"),
    timedOutUntil: latestOf(inOrder)?.until ?? null,
    roles: new Map(inOrder.flatMap(({ kind, roleId }) => (roleId === undefined ? [] : [[roleId, kind === "role_add"]]))),
  };
}

export interface CausesInForce {
  register(source: CauseSource): void;
  /** Hold what is known of a person's causes: whoever writes down what became of an action reads it after this, as another cause may mark it. */
  lock(tx: Tx, given: Place): Promise<void>;
  /** Everything in force for a person in a guild, the oldest first. */
  of(tx: Tx, given: Place): Promise<Cause[]>;
  /** Whether the bot still has something to do to a person in a guild: what Discord shows now is about to change. */
  isUnderWay(tx: Tx, place: Place): Promise<boolean>;
  /** When the timeouts in force for a person in a guild end; null without any. */
  timedOutUntil(tx: Tx, place: Place): Promise<Date | null>;
  /**
   * Work out what follows for Discord once a cause is no longer in force, and have a remaining one take over what it did.
   * @param read the cause as the bot delivered it, once no other decision about the person is under way: what was read of it before may be
   * marked by now. A source may or may not list it still
   */
  afterWithdrawing(tx: Tx, place: Place, read: () => Promise<WithdrawnCause>): Promise<Remaining>;
  /**
   * Work out what follows for Discord once the own end of a timeout has changed. An end that is not ahead ends it.
   * @param before the cause with its former end
   */
  afterTimeoutChange(tx: Tx, before: WithdrawnCause, until: Date): Promise<Remaining>;
  /**
   * Work out what is left of an action that is carried out later than it was decided, and have what stands in its way take over what it
   * would have changed. What was decided in between holds. It may be called again for the same action.
   */
  afterWaiting(tx: Tx, action: DiscordActionDraft, given: Decided): Promise<LeftOver>;
  /** Record that a decision ends every ban or timeout of a person in a guild. */
  endInTx(tx: Tx, place: Place, ending: Ending): Promise<void>;
}

/** The causes of all features that act on people in Discord. */
export function createCausesInForce(): CausesInForce {
  const sources: CauseSource[] = [];

  async function lock(tx: Tx, { userId }: Place): Promise<void> {
    await tx.lock(`discord:${userId}`);
  }

  async function of(tx: Tx, { guildId, userId }: Place): Promise<Cause[]> {
    const found: Cause[] = [];
    for (const source of sources) found.push(...(await source.causesOf(tx, { guildId, userId })));
    return byAge(found.filter((cause) => isInForce(cause, tx.now)));
  }

  async function mark(tx: Tx, { feature, id }: Cause, marker: Marker): Promise<void> {
    for (const source of sources) if (source.feature === feature) await source.mark(tx, id, marker);
  }

  async function signsOf(tx: Tx, place: Place): Promise<string[]> {
    const found: string[] = [];
    for (const source of sources) found.push(...(await source.signsOf(tx, place)));
    return [...new Set(found)];
  }

  async function afterBan(tx: Tx, cause: WithdrawnCause, left: readonly Cause[]): Promise<Remaining> {
    const { guildId, userId, reason, feature, changed } = cause;
    const heir = left.find(({ state }) => state === "done") ?? left[0];
    if (heir !== undefined) {
      if (changed) await mark(tx, heir, { changed });
      return { stays: stays(heir), next: null };
    }
    if (!changed) return nothing;
    const next = { kind: "unban", guildId, userId, reason } as const;
    return { stays: null, next: feature === "list" ? { ...next, onlyWith: await signsOf(tx, { guildId, userId }) } : next };
  }

  /** Only a timeout that ends when one of ours does is changed: any other one was set by somebody else since. */
  async function afterTimeout(tx: Tx, cause: WithdrawnCause, left: readonly Cause[]): Promise<Remaining> {
    const { guildId, userId, reason, changed } = cause;
    const heir = latestOf(left);
    const shown = endOf(cause);
    if (heir?.until && shown !== null && heir.until >= shown) {
      // The one that remains had found this end set already. Or somebody had shortened it by hand, and this cause set its own end on top.
      if (changed && (!heir.changed || isOlder(heir, cause))) await mark(tx, heir, { changed, until: shown });
      return { stays: staysUntil(heir), next: null };
    }
    if (!changed) return heir === undefined ? nothing : { stays: staysUntil(heir), next: null };
    const from = endsOf([cause, ...left]);
    if (!heir?.until) return { stays: null, next: { kind: "timeout_lift", guildId, userId, reason, until: from } };
    await mark(tx, heir, { changed, until: heir.until });
    return { stays: staysUntil(heir), next: { kind: "timeout", guildId, userId, reason, until: heir.until.toISOString(), from } };
  }

  /** @param left the decisions on the same role that remain, the oldest first */
  async function afterRole(tx: Tx, cause: WithdrawnCause, left: readonly Cause[]): Promise<Remaining> {
    const { guildId, userId, roleId = "", reason, kind, changed } = cause;
    const later = left.find((one) => isOlder(cause, one));
    if (later !== undefined) {
      // The next decision now follows what this one followed.
      const before = changed ? opposite(kind) : kind;
      await mark(tx, later, { changed: later.kind !== before });
      return later.kind === kind ? { stays: stays(later), next: null } : nothing;
    }
    const newest = left.at(-1);
    if (newest?.kind === kind) {
      if (changed) await mark(tx, newest, { changed });
      return { stays: stays(newest), next: null };
    }
    return changed ? { stays: null, next: { kind: opposite(kind), guildId, userId, roleId, reason } } : nothing;
  }

  return {
    register(source: CauseSource): void {
      sources.push(source);
    },

    lock,

    of,

    async isUnderWay(tx: Tx, place: Place): Promise<boolean> {
      for (const source of sources) if (await source.isUnderWay(tx, place)) return true;
      return false;
    },

    async timedOutUntil(tx: Tx, place: Place): Promise<Date | null> {
      return holding(await of(tx, place), tx.now).timedOutUntil;
    },

    async afterWithdrawing(tx: Tx, place: Place, read: () => Promise<WithdrawnCause>): Promise<Remaining> {
      await lock(tx, place);
      const cause = await read();
      const others = (await of(tx, cause)).filter(({ feature, id }) => feature !== cause.feature || id !== cause.id);
      if (cause.kind === "ban") return await afterBan(tx, cause, ofKind(others, "ban"));
      if (cause.kind === "timeout") return await afterTimeout(tx, cause, ofKind(others, "timeout"));
      return await afterRole(
        tx,
        cause,
        others.filter(({ roleId }) => roleId !== undefined && roleId === cause.roleId),
      );
    },

    async afterTimeoutChange(tx: Tx, before: WithdrawnCause, until: Date): Promise<Remaining> {
      await lock(tx, before);
      const others = ofKind(await of(tx, before), "timeout").filter(({ feature, id }) => feature !== before.feature || id !== before.id);
      const { guildId, userId, reason } = before;
      const heir = latestOf(others);
      const shown = latest([endOf(before), ...others.map(endOf)]);
      const wanted = latest([until > tx.now ? until : null, heir?.until ?? null]);
      const kept = heir?.until && heir.until > until ? staysUntil(heir) : null;
      if (wanted === null) return { stays: kept, next: { kind: "timeout_lift", guildId, userId, reason, until: endsOf([before]) } };
      // What was shown last may have been changed by an action of the same cause: only another one's end is there for certain.
      if (heir?.until === wanted && shown !== null && Math.abs(shown.getTime() - wanted.getTime()) < precisionMs) {
        // The one that remains had found this end set already.
        if (!heir.changed) await mark(tx, heir, { changed: before.changed, until: shown });
        return { stays: kept, next: null };
      }
      const longer = { kind: "timeout", guildId, userId, reason, until: wanted.toISOString() } as const;
      if (shown === null || wanted > shown) return { stays: kept, next: longer };
      if (heir?.until === wanted) await mark(tx, heir, { changed: true, until: wanted });
      return { stays: kept, next: { ...longer, from: endsOf([before, ...others]) } };
    },

    async afterWaiting(tx: Tx, action: DiscordActionDraft, { at, isEnding }: Decided): Promise<LeftOver> {
      const whole = { stays: null, next: action, changed: false };
      if (!isOverridable(action)) return whole;
      await lock(tx, action);
      const all = await of(tx, action);
      // Earlier versions left what such a decision ended as it was, with the end after it in the queue.
      const causes = isEnding ? all.filter((cause) => cause.at >= at) : all;
      if (action.kind === "unban") {
        const bans = ofKind(causes, "ban");
        const heir = bans.find(({ state }) => state === "done") ?? bans[0];
        if (heir === undefined) return whole;
        await mark(tx, heir, { changed: true });
        return { stays: stays(heir), next: null, changed: false };
      }
      if (action.kind === "role_add" || action.kind === "role_remove") {
        const newest = causes.findLast(({ roleId }) => roleId === action.roleId);
        // What was decided later and is still to be done comes after it.
        if (newest === undefined || newest.kind === action.kind || newest.at <= at || newest.state === "pending") return whole;
        if (!newest.changed) await mark(tx, newest, { changed: true });
        return { stays: say("discord-actions.a-later-decision-says-otherwise"), next: null, changed: !newest.changed };
      }
      const heir = latestOf(causes);
      if (!heir?.until || (action.kind === "timeout" && heir.until <= new Date(action.until))) return whole;
      await mark(tx, heir, { changed: true, until: heir.until });
      const { guildId, userId, reason } = action;
      const from = action.kind === "timeout" ? action.from : action.until === undefined ? "any" : [action.until].flat();
      const next = { kind: "timeout", guildId, userId, reason, until: heir.until.toISOString(), from } as const;
      return { stays: staysUntil(heir), next, changed: false };
    },

    async endInTx(tx: Tx, place: Place, ending: Ending): Promise<void> {
      for (const source of sources) await source.lockForEnding?.(tx, place);
      await lock(tx, place);
      for (const source of sources) await source.end(tx, place, ending);
    },
  };
}

function stays({ feature }: Cause): string {
  return feature === "list"
    ? say("discord-actions.it-stays-a-list-asks-for-the")
    : say("discord-actions.it-stays-another-approval-asks-for-the");
}

function staysUntil({ feature, until }: Cause): string {
  const at = until?.toISOString() ?? "";
  return feature === "list"
    ? say("discord-actions.it-stays-until-a-list-asks-for", { at })
    : say("discord-actions.it-stays-until-another-approval-asks-for", { at });
}

type Overridable = Extract<DiscordActionDraft, { kind: "unban" | "timeout_lift" | "role_add" | "role_remove" | "timeout" }>;

/** Whether another cause can stand in the way of an action: an end, another end, or a role. A ban and a timeout of their own only add to it. */
function isOverridable(action: DiscordActionDraft): action is Overridable {
  if (action.kind === "timeout") return action.from !== undefined;
  return action.kind === "unban" || action.kind === "timeout_lift" || action.kind === "role_add" || action.kind === "role_remove";
}

function opposite(kind: Kind): "role_add" | "role_remove" {
  return kind === "role_add" ? "role_remove" : "role_add";
}

function isInForce({ kind, until }: Cause, now: Date): boolean {
  return kind !== "timeout" || until === null || until > now;
}

function ofKind(causes: readonly Cause[], kind: Kind): Cause[] {
  return causes.filter((cause) => cause.kind === kind);
}

function isOlder(one: Cause, other: Cause): boolean {
  return one.at.getTime() - other.at.getTime() < 0 || (one.at.getTime() === other.at.getTime() && one.id < other.id);
}

function byAge(causes: readonly Cause[]): Cause[] {
  return causes.toSorted((one, other) => (isOlder(one, other) ? -1 : 1));
}

function latestOf(causes: readonly Cause[]): Cause | undefined {
  const timeouts = ofKind(causes, "timeout").filter(({ until }) => until !== null);
  return timeouts.toSorted((one, other) => (one.until?.getTime() ?? 0) - (other.until?.getTime() ?? 0)).at(-1);
}

/** The end that a timeout has in Discord, as far as it is this cause's. */
function endOf({ until, shown, changed }: Cause): Date | null {
  return changed && shown !== undefined ? shown : until;
}

function latest(ends: readonly (Date | null)[]): Date | null {
  return ends.reduce((most, end) => (end !== null && (most === null || end > most) ? end : most), null);
}

function endsOf(causes: readonly Cause[]): string[] {
  const ends = causes.flatMap(({ until, shown, changed }) => [until, ...(changed ? [shown] : [])]);
  return [...new Set(ends.flatMap((end) => (end ? [end.toISOString()] : [])))];
}
