import type { Deps } from "../../deps.ts";
import type { Tx } from "../../../database/database.ts";
import type { Level } from "../../../kernel/permissions.ts";
import { requireWrite, type Actor, type Call } from "../../../kernel/call.ts";
import { fieldError, ProblemError } from "../../../kernel/errors.ts";
import { parseDuration } from "../../../kernel/fields.ts";
import type { LinkReach } from "../../links/reach.ts";
import type { Ranks } from "../requests/context.ts";
import type { FileInTx } from "../requests/create.ts";
import type { Acting } from "../requests/act.ts";
import { understand } from "../requests/intake.ts";
import { visibleDecision } from "../requests/visibility.ts";
import { kinds } from "../kinds/kinds.ts";
import { approvalsFor, policyOf } from "../policies/policies.ts";
import { actionSpecs, ModerateInput, nameKey, type ModerationAnswer } from "./direct.schema.ts";
import { directPolicy } from "./direct.policy.ts";
import { inForceAgainst } from "./in-force.ts";
import { createLooking, type LookingDeps } from "./looking.ts";
import { createDirectSettings, directSetting, reasonsSetting, type DirectSettingsDeps } from "./settings.service.ts";
import { waitOf } from "./waiting.ts";

/** Who there is on the staff, and how they stand. */
interface DirectAccess extends Ranks {
  of(userId: string): ReturnType<Ranks["of"]> & { level: Level; explicitDenials: readonly string[] };
  people(): string[];
}

export interface DirectDeps extends DirectSettingsDeps, LookingDeps, Deps<"database"> {
  access: DirectAccess;
  reach: Pick<LinkReach, "linkedAccountsOf">;
  fileInTx: FileInTx;
  approveInTx: Acting["approveInTx"];
}

const type = "punishment";
const leastReason = 10;
const maxDeciders = 3;

/** Moderation in one step: one punishment request, filed and, where the server's rules let its requester, decided in one transaction. */
export function createDirect(parts: DirectDeps) {
  const { database, access, reach, fileInTx, approveInTx } = parts;
  const settings = createDirectSettings(parts);

  /** The text of a template, where the reason names one. @throws ProblemError validation_failed for a reason that is too short */
  async function reasonFor(tx: Tx, guildId: string, said: string): Promise<string> {
    const { reasons } = (await reasonsSetting.read(tx.db, guildId)).value;
    const reason = reasons.find(({ name }) => nameKey(name) === nameKey(said))?.text ?? said;
    if (reason.length < leastReason)
      throw fieldError("/reason", "too_short", "Give a reason of 10 characters or more, or the name of a reason template.");
    return reason;
  }

  async function waitFor(tx: Tx, guildId: string, { action, user_id: userId, duration }: ModerateInput, approvals: number) {
    const { call } = tx;
    const { rule, length, lifts } = actionSpecs[action];
    const lifted = lifts === undefined ? null : await inForceAgainst(tx.db, { guildId, userId, kind: lifts }, tx.now);
    const policy = await policyOf(tx.db, type);
    const needed = (lifted?.payloads ?? []).map((payload) => approvalsFor(type, policy, payload));
    const actor = access.of(call.actor?.id ?? "");
    const subject = access.of(userId);
    const accounts = [call.actor?.id ?? "", ...(await reach.linkedAccountsOf(tx.db, call.actor?.id ?? ""))];
    const rules = (await directSetting.read(tx.db, guildId)).value;
    return waitOf({
      call,
      rule: rules[rule],
      level: actor.level,
      seconds: lifted?.seconds ?? (length === "none" ? 0 : secondsOf(duration)),
      liftedBy: lifted?.by ?? null,
      approvals: Math.max(approvals, ...needed),
      isDenied: actor.explicitDenials.some((key) => key === directPolicy.decide || key === "*") || isDeniedIn(actor, guildId),
      isOutranked: !actor.isOwner && subject.isStaff && subject.rank >= actor.rank,
      isConflicted: accounts.includes(userId),
    });
  }

  /** Up to three people who may decide about somebody in a server, those of the lowest rank first. */
  function decidersOf({ actor }: Call, guildId: string, userId: string): string[] {
    const subject = access.of(userId);
    const found = access.people().flatMap((id) => {
      const person = access.of(id);
      const isAbove = person.isOwner || !subject.isStaff || person.rank > subject.rank;
      const may = person.isStaff && isAbove && person.decide(directPolicy.decide, guildId).allowed;
      return may && id !== actor?.id && id !== userId ? [{ id, rank: person.rank }] : [];
    });
    return found
      .toSorted((a, b) => a.rank - b.rank || (a.id < b.id ? -1 : 1))
      .slice(0, maxDeciders)
      .map(({ id }) => id);
  }

  return {
    ...settings,
    ...createLooking(parts),

    /**
     * Warn, note, time out, kick or ban somebody in a server, or take a timeout or a ban back. Done at once where the server's rules let the
     * caller decide alone; otherwise it is filed, and waits for others as every request.
     * @throws ZodError, ProblemError acting_user_required, permission_denied, record_not_found, duplicate_open, rate_limited
     */
    async moderate(call: Call, guildId: string, body: ModerateInput): Promise<ModerationAnswer> {
      requireWrite(call, directPolicy.read);
      if (call.actor === null)
        throw new ProblemError("acting_user_required", { detail: "A decision is a person's: name them in X-Acting-User." });
      const input = ModerateInput.parse(body);
      settings.requireServed(guildId);
      return await database.write(call, async (tx): Promise<ModerationAnswer> => {
        const reason = await reasonFor(tx, guildId, input.reason);
        const intake = understand(kinds[type], requestOf(guildId, { ...input, reason }));
        const required = approvalsFor(type, await policyOf(tx.db, type), intake.payload);
        const waits = await waitFor(tx, guildId, input, required);
        const filed = await fileInTx(tx, type, intake, { isDirect: waits === null });
        const { id, reference, warnings } = filed;
        const told = { success: true, id, reference, warnings } as const;
        if (waits !== null) {
          const deciders = decidersOf(call, guildId, input.user_id);
          return { ...told, status: filed.status, direct: false, waits, deciders, approvals: { have: 0, required }, effects: [] };
        }
        const { status, approvals, effects } = visibleDecision(call, type, await approveInTx(tx, type, id, reason));
        return { ...told, status, direct: true, waits: null, deciders: [], approvals, effects };
      });
    },
  };
}

export type DirectService = ReturnType<typeof createDirect>;

/** Without a length, and with one that is permanent, it has no end. */
function secondsOf(duration: string | null | undefined): number {
  return parseDuration(duration ?? "") ?? Infinity;
}

/** Whether an entry that counts in this server alone takes the right to decide away. */
function isDeniedIn({ decide }: Pick<Actor, "decide">, guildId: string): boolean {
  const { allowed, reasons } = decide(directPolicy.decide, guildId);
  return !allowed && reasons[0]?.code === "user_deny";
}

/** The punishment request that an action is. */
function requestOf(guildId: string, { channel_id: channelId, evidence, notify_subject: isTold, ...input }: ModerateInput): object {
  const { isAnnounced = false } = actionSpecs[input.action];
  return {
    ...input,
    discord: { guild_ids: [guildId] },
    notify_subject: isAnnounced && isTold !== false,
    ...(evidence !== undefined && { evidence }),
    ...(channelId !== undefined && { origin: { guild_id: guildId, channel_id: channelId } }),
  };
}
