import { say } from "../../../kit/say.ts";
import type { DraftRecords } from "../drafts/records.ts";
import type { RegistryService } from "../../servers/servers.service.ts";
import { agreementDraft } from "./drafts.ts";
import { createMergeEffects, type MergeEffectDeps } from "./merges.ts";
import type { Approval, Done, Reversal, SomeEffects } from "./types.ts";

type Keys =
  | "agreement.create"
  | "agreements.suspend"
  | "clearance.grant"
  | "clearance.use"
  | "merge.plan"
  | "poach.incident"
  | "server.merge";

export interface ServersEffectDeps extends MergeEffectDeps {
  registry: RegistryService;
  drafts: Pick<DraftRecords, "suggestInTx" | "dismissInTx">;
}

/** From how many incidents in 180 days a server is suggested for the blacklist. */
const incidentsThatSuggest = 3;
const noteOf = ({ reason, permission }: Reversal) => ({ reason, permission });
const suggestionKey = (serverId: string): string => `poaching:${serverId}`;

/** What approvals do between servers. */
export function createServersEffects(parts: ServersEffectDeps): SomeEffects<Keys> {
  return { ...createMergeEffects(parts), ...agreementEffects(parts), ...clearanceEffects(parts), ...incidentEffects(parts) };
}

function agreementEffects({ registry }: ServersEffectDeps): SomeEffects<"agreement.create" | "agreements.suspend"> {
  return {
    "agreement.create": {
      preview: say("workflows.the-agreement-is-made-between-the-servers"),
      check: (_approval, { unsigned }) =>
        Promise.resolve(
          unsigned.map((id) => ({
            code: "signature_missing",
            detail: say("workflows.the-user-has-not-signed-the-agreement", { id }),
            isWaivable: true,
          })),
        ),
      async apply(approval, input) {
        const made = await registry.createAgreementInTx(approval.tx, agreementDraft(approval, input));
        if (made === null) {
          const detail = say("workflows.nothing-was-made-it-would-be-over");
          return [{ status: "skipped", detail }];
        }
        const detail =
          made.status === "scheduled"
            ? say("workflows.the-agreement-was-made-and-begins-at", { at: made.starts_at })
            : say("workflows.the-agreement-was-made");
        return [{ status: "done", target: { kind: "agreement", id: made.id }, detail }];
      },
      async undo(reversal, { targetId }) {
        const before = await reversal.tx.db.agreement.findUnique({ where: { id: targetId ?? "" }, select: { status: true } });
        if (before === null || before.status === "ended")
          return { restored: false, detail: say("workflows.the-agreement-had-ended-already") };
        await registry.endAgreementInTx(reversal.tx, targetId ?? "", noteOf(reversal));
        return { restored: true, detail: say("workflows.the-agreement-was-ended") };
      },
    },
    "agreements.suspend": {
      preview: say("workflows.agreements-with-the-server-are-suspended-while"),
      async apply({ tx, request, permission }, { serverIds }) {
        const note = { reference: request.reference, permission, reason: `Approval of ${request.reference}` };
        const suspended = await registry.suspendAgreementsInTx(tx, [...serverIds], note);
        if (suspended.ids.length === 0) return [{ status: "skipped", detail: say("workflows.there-is-no-agreement-with-the-server") }];
        return [
          {
            status: "done",
            detail: say("workflows.agreements-were-suspended", { count: suspended.ids.length }),
            undo: { ...suspended.undo },
          },
        ];
      },
      undo: (reversal, { undo }) => registry.undoSuspendAgreementsInTx(reversal.tx, undo, noteOf(reversal)),
    },
  };
}

function clearanceEffects({ registry }: ServersEffectDeps): SomeEffects<"clearance.grant" | "clearance.use"> {
  return {
    "clearance.grant": {
      preview: say("workflows.the-user-may-be-recruited-once-in"),
      async apply({ tx, request, permission }, input) {
        const granted = await registry.grantClearanceInTx(tx, {
          ...input,
          originReference: request.reference,
          permission,
        });
        if ("skipped" in granted) return [{ status: "skipped", detail: granted.skipped }];
        return [{ status: "done", target: { kind: "poach_clearance", id: granted.id }, detail: say("workflows.the-clearance-was-given") }];
      },
      undo: (reversal, { targetId }) => registry.revokeClearanceInTx(reversal.tx, targetId ?? "", noteOf(reversal)),
    },
    "clearance.use": {
      preview: say("workflows.a-clearance-of-the-applicant-if-there"),
      async apply({ tx, request, permission }, { userId }): Promise<Done[]> {
        const [clearance] = await registry.findClearances(tx.db, userId, tx.now);
        if (clearance === undefined) return [{ status: "skipped", detail: say("workflows.there-is-no-clearance-to-use") }];
        const used = await registry.useClearanceInTx(tx, { id: clearance.id, reference: request.reference, permission });
        if ("skipped" in used) return [{ status: "skipped", detail: used.skipped }];
        return [
          {
            status: "done",
            target: { kind: "poach_clearance", id: clearance.id },
            detail: say("workflows.the-clearance-was-used"),
            undo: used.undo,
          },
        ];
      },
      undo: (reversal, { undo }) => registry.undoUseClearanceInTx(reversal.tx, undo, noteOf(reversal)),
    },
  };
}

function incidentEffects({ registry, drafts }: ServersEffectDeps): SomeEffects<"poach.incident"> {
  async function suggest({ tx, request }: Approval, serverId: string, count: number): Promise<Done | null> {
    const draft = await drafts.suggestInTx(tx, {
      type: "blacklist-server",
      payload: {
        server_id: serverId,
        category: "poaching",
        reason: say("workflows.reports-of-poaching-in-180-days-the", { count, reference: request.reference }),
      },
      subject: { kind: "server", id: serverId },
      cause: say("workflows.reports-of-poaching-were-approved-in-180", { count }),
      causeReference: request.reference,
      openKey: suggestionKey(serverId),
    });
    const detail = say("workflows.a-request-to-blacklist-the-server-is");
    return draft === null
      ? null
      : {
          key: "draft.blacklist",
          status: "done",
          target: { kind: "request_draft", id: draft.id },
          detail,
          undo: { open_key: suggestionKey(serverId) },
        };
  }

  return {
    "poach.incident": {
      preview: say("workflows.the-incident-counts-against-the-server-for", { count: incidentsThatSuggest }),
      async apply(approval, { serverId, victimServerId, offenderIds, method, occurredAt }) {
        const { tx, request, permission } = approval;
        const { id, count, undo } = await registry.recordIncidentInTx(tx, {
          serverId,
          victimServerId,
          offenderIds,
          method,
          occurredAt: occurredAt ?? tx.now,
          originReference: request.reference,
          permission,
        });
        const detail = say("workflows.the-incident-was-recorded-count-against-the", { count });
        const suggested = count >= incidentsThatSuggest ? await suggest(approval, serverId, count) : null;
        return [{ status: "done", target: { kind: "poach_incident", id }, detail, undo }, ...(suggested === null ? [] : [suggested])];
      },
      undo: (reversal, { targetId }) => registry.voidIncidentInTx(reversal.tx, targetId ?? "", noteOf(reversal)),
    },
  };
}
