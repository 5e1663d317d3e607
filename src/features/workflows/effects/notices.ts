import type { StaffService } from "../../staff/staff.service.ts";
import { outward } from "./outward.ts";
import { amendsOf, punishmentText, warningText, welcomeText } from "./texts.ts";
import type { Approval, Done, SomeEffects } from "./types.ts";
import { untilOf } from "./words.ts";

export type NoticeKeys = "notice.owner" | "notice.subject" | "notice.welcome";

export interface NoticeEffectParts {
  staff: Pick<StaffService, "staffRoleOf">;
}

interface Message {
  userId: string;
  content: string;
  amends: string;
  detail: string;
}

/** What approvals tell people outside the staff. */
export function createNoticeEffects({ staff }: NoticeEffectParts): SomeEffects<NoticeKeys> {
  return {
    "notice.subject": {
      preview: "The subject is told by message.",
      isOptional: true,
      apply(approval, input) {
        const { now } = approval.tx;
        const content = punishmentText(input, aboutOf(approval), { now, until: untilOf(input.length, now) });
        if (content === null) return skipped("This is a matter of the staff: the subject is told nothing.");
        const amends = amendsOf.subject(approval.request.reference);
        return told(approval, "notice.subject", { userId: input.userId, content, amends, detail: "The subject is told." });
      },
    },
    "notice.owner": {
      preview: "The owner of the offending server is warned by message, if the register names them.",
      isOptional: true,
      async apply(approval, { serverId }) {
        const where = { OR: [{ id: serverId }, { aliases: { some: { aliasId: serverId } } }] };
        const server = await approval.tx.db.server.findFirst({ where, select: { ownerUserId: true } });
        if (server === null || server.ownerUserId === null) return skipped("The register names no owner of the server.");
        const content = warningText(serverId, aboutOf(approval));
        const amends = amendsOf.owner(approval.request.reference);
        return told(approval, "notice.owner", {
          userId: server.ownerUserId,
          content,
          amends,
          detail: "The owner of the server is warned.",
        });
      },
    },
    "notice.welcome": {
      preview: "They are welcomed by message.",
      isOptional: true,
      apply(approval, { userId, roleKey, trialDays }, earlier) {
        const callsign = earlier.find(({ key, memo }) => key === "callsign.allocate" && typeof memo === "string")?.memo;
        const role = staff.staffRoleOf(roleKey)?.name ?? roleKey;
        const content = welcomeText(role, { trialDays, callsign: typeof callsign === "string" ? callsign : null });
        return told(approval, "notice.welcome", { userId, content, amends: amendsOf.welcome(), detail: "They are welcomed." });
      },
    },
  };
}

function aboutOf({ request, input }: Approval) {
  return { reference: request.reference, reason: input.reasonPublic };
}

function told({ request }: Approval, key: NoticeKeys, { userId, content, amends, detail }: Message): Promise<Done[]> {
  const action = { kind: "message_user", userId, content, reason: request.reference } as const;
  return Promise.resolve([outward(action, { id: `${request.id}:${request.revision.toString()}:${key}`, detail, amends })]);
}

function skipped(detail: string): Promise<Done[]> {
  return Promise.resolve([{ status: "skipped", detail }]);
}
