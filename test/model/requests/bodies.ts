import { ownGuilds } from "../../features/workflows-ground.ts";
import type { RequestsGround } from "./ground.ts";
import { day, type Model, type Request } from "./model.ts";
import { effectiveAt } from "./force.ts";
import { confidences, type Act, type Draft, type Length } from "./steps.ts";

const textOf = (words: number): string => `What is said here for the ${words.toString()}th time.`;
const lengthOf = (days: Length): object => (days === undefined ? {} : { duration: days === null ? null : `P${days.toString()}D` });
export const why = "Several people looked at it.";

/** A request as it is filed. */
export function bodyOf(ground: RequestsGround, model: Model, draft: Draft): object {
  const { idOf, timeAt } = ground;
  const reason = textOf(draft.words);
  switch (draft.kind) {
    case "blacklist-user":
      return {
        user_id: idOf(draft.user),
        category: "raid",
        severity: draft.severity,
        scope: draft.scope,
        server_ids: draft.scope === "servers" ? [ownGuilds[0]] : [],
        ...lengthOf(draft.days),
        reason,
      };
    case "blacklist-server":
      return {
        server_id: idOf(draft.server),
        category: "raiding",
        severity: draft.severity,
        member_policy: "flag",
        ...lengthOf(draft.days),
        reason,
      };
    case "investigation":
      return {
        subject: { kind: draft.about === "Den" ? "server" : "user", id: idOf(draft.about) },
        allegation: reason,
        confidential: draft.confidential,
        ...(draft.lead !== null && { lead_user_id: idOf(draft.lead) }),
        conflict_user_ids: draft.kept === null ? [] : [idOf(draft.kept)],
        interim: draft.interim ? "suspend_permissions" : "none",
      };
    case "recruitment":
      return { user_id: idOf(draft.user), position: "helper", trial_days: draft.trial, availability: reason };
    case "server-merge": {
      const [source, target] = draft.swapped ? ["Dst", "Src"] : ["Src", "Dst"];
      const consents = [source, target].map((server) => ({ server_id: idOf(server ?? ""), user_id: idOf("Ann"), at: timeAt(model.now) }));
      return {
        source_server_id: idOf(source ?? ""),
        target_server_id: idOf(target ?? ""),
        effective_at: timeAt(effectiveAt({ filedAt: model.now }, draft)),
        owner_consents: draft.consented ? consents : consents.slice(1),
        reason,
      };
    }
    case "alt-request":
      return {
        user_ids: draft.pair.map(idOf),
        confidence: draft.confidence,
        basis: [{ type: "behaviour", note: "They write alike." }],
        propagate: { matches: true },
        reason,
      };
    case "punishment":
      return {
        user_id: idOf(draft.user),
        action: draft.action,
        points: draft.points,
        ...lengthOf(draft.days),
        ...(draft.action === "demotion" && { demote_to: "lower" }),
        reason,
      };
    case "poach": {
      const end = typeof draft.days === "number" ? timeAt(model.now + draft.days * day) : undefined;
      const [one, other] = draft.pair.map(idOf);
      const what = {
        report: {
          offender_user_ids: [idOf(draft.user)],
          offending_server_id: one,
          victim_server_id: other,
          occurred_at: timeAt(model.now - 60),
        },
        agreement: { party_server_ids: [one, other], ends_at: end },
        clearance: { user_id: idOf(draft.user), from_server_id: one, to_server_id: other, valid_until: end },
      };
      return { kind: draft.what, ...what[draft.what], reason };
    }
    case "appeal":
      return {
        target: model.requests[draft.which]?.reference,
        grounds: reason,
        desired_outcome: draft.desired,
        ...(draft.user !== null && { user_id: idOf(draft.user) }),
      };
  }
}

/** What an amendment makes of a payload, and the fields it sends. */
export function amended(draft: Draft, { words, severity }: Act): { draft: Draft; fields: object } {
  switch (draft.kind) {
    case "blacklist-user":
    case "blacklist-server":
      return { draft: { ...draft, severity }, fields: { severity } };
    case "alt-request": {
      const confidence = confidences[words] ?? "suspected";
      return { draft: { ...draft, confidence }, fields: { confidence } };
    }
    case "investigation":
      return { draft: { ...draft, words }, fields: { allegation: textOf(words) } };
    case "recruitment":
      return { draft: { ...draft, words }, fields: { availability: textOf(words) } };
    case "appeal":
      return { draft: { ...draft, words }, fields: { grounds: textOf(words) } };
    default:
      return { draft: { ...draft, words }, fields: { reason: textOf(words) } };
  }
}

/** A decision as it is sent. */
export function decisionOf(ground: RequestsGround, request: Request, step: Act): object {
  const { action } = step;
  const isAppeal = request.draft.kind === "appeal" && action === "approve";
  const more: Partial<Readonly<Record<Act["action"], object>>> = {
    claim: { steal: step.steal },
    assign: { assignee: ground.idOf(step.assignee) },
    request_info: { questions: ["What happened?"] },
    provide_info: { answer: "This is what happened." },
    amend: { payload: amended(request.draft, step).fields },
    approve: isAppeal ? { new_severity: "low", new_points: 0 } : {},
  };
  const isOverride = step.override && ["approve", "deny", "reverse"].includes(action);
  return {
    decision: isAppeal && step.ruling !== null ? step.ruling : action,
    reason: why,
    ...more[action],
    ...(isOverride && { override: true }),
    ...(step.revision !== "none" && { revision: request.revision + (step.revision === "right" ? 0 : 7) }),
  };
}
