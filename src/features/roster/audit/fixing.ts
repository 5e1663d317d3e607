import { say, term } from "../../../kit/say.ts";
import type { Tx } from "../../../database/database.ts";
import type { RosterEntry } from "../../../generated/sqlite/client.ts";
import type { Call } from "../../../kernel/call.ts";
import type { CallsignsService } from "../../callsigns/callsigns.service.ts";
import type { StaffService } from "../../staff/staff.service.ts";
import type { AuditedPerson } from "./people.ts";
import { auditPermissions } from "./audit.policy.ts";
import type { FixAction } from "./audit.schema.ts";
import type { RosterService } from "../roster.service.ts";
import type { RosterMove } from "../in-tx.ts";

/** Brings one person in step with the roster in Discord, as the feature for that does it. */
export type SyncMember = (
  call: Call,
  input: { discord_user_id: string; direction: "to_discord"; apply: SyncField[]; reason: string },
) => Promise<{ changes: readonly { applied: boolean; reason: string | null }[]; warnings: readonly string[] }>;
type SyncField = "held_roles" | "nickname";

/** What a fix is given. */
export interface Fixing {
  person: AuditedPerson;
  finding: string;
  reason: string;
}

/** What became of it. */
export interface Fixed {
  outcome: "fixed" | "unchanged" | "failed" | "refused";
  detail: string;
}

export interface FixingDeps {
  roster: Pick<RosterService, "moveInTx" | "beginTrialInTx">;
  callsigns: Pick<CallsignsService, "allocateInTx" | "holdAllInTx">;
  staff: Pick<StaffService, "suspendInTx">;
}

/** Fixes inside a transaction that has looked again and holds the person's lock; the others are done in Discord. */
export type Fixings = Readonly<Record<Exclude<FixAction, keyof typeof syncFields>, (tx: Tx, fixing: Fixing) => Promise<Fixed>>>;

/** What the other fixes bring in step. */
export const syncFields: Readonly<Record<"sync_roles" | "sync_nickname", SyncField>> = {
  sync_roles: "held_roles",
  sync_nickname: "nickname",
};

const permission = auditPermissions.fix;

export function createFixings({ roster, callsigns, staff }: FixingDeps): Fixings {
  async function move(tx: Tx, { person, reason }: Fixing, wanted: Pick<RosterMove, "event" | "to">): Promise<Fixed> {
    const done = await roster.moveInTx(tx, person.userId, { ...wanted, causeReference: null, permission, reason });
    return "skipped" in done
      ? { outcome: "unchanged", detail: done.skipped }
      : fixed(say("roster.the-entry-is-now", { status: term(done.entry.status) }));
  }

  return {
    end_trial: (tx, fixing) => move(tx, fixing, { event: "promoted", to: "active" }),
    end_leave: (tx, fixing) => move(tx, fixing, { event: "loa_ended" }),

    async resign(tx, fixing) {
      const left = await move(tx, fixing, { event: "resigned" });
      if (left.outcome !== "fixed") return left;
      const note = { causeReference: null, permission, reason: fixing.reason };
      const { held } = await callsigns.holdAllInTx(tx, fixing.person.userId, note);
      return fixed(`${left.detail} ${say("roster.callsigns-rest", { count: held })}`);
    },

    async begin(tx, { person, reason }) {
      const staffRole = person.access.held[0]?.role.key ?? null;
      const note = { causeReference: null, permission, reason };
      const { entry } = await roster.beginTrialInTx(tx, { userId: person.userId, staffRole, trialDays: 0, ...note });
      return fixed(say("roster.they-are-on-the-roster-now", { role: entry.staffRole ?? "no staff role" }));
    },

    async allocate_callsign(tx, { person: { userId, role, entry }, reason }) {
      const wish = { pool: role?.callsignPool ?? "", userId, roleKey: role?.key ?? null, ...departmentOf(entry) };
      const { slot } = await callsigns.allocateInTx(tx, { ...wish, causeReference: null, permission, reason });
      return fixed(say("roster.they-have-now", { callsign: slot.callsign }));
    },

    async suspend(tx, { person: { userId, entry }, finding, reason }) {
      const until = entry?.status === "suspended" ? entry.suspendedUntil : null;
      const done = await staff.suspendInTx(tx, { userId, until, reason, permission, causeReference: finding });
      return "skipped" in done ? { outcome: "refused", detail: done.skipped } : fixed(say("roster.they-are-suspended-as-staff-now"));
    },
  };
}

function fixed(detail: string): Fixed {
  return { outcome: "fixed", detail };
}

/** The pool's own department counts where the entry names none. */
function departmentOf(entry: RosterEntry | null): { department?: string } {
  const department = entry?.department ?? null;
  return department === null ? {} : { department };
}
