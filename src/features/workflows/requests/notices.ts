import type { Done } from "../effects/types.ts";
import { outward } from "../effects/outward.ts";
import type { Action, Status } from "../state/table.ts";
import type { Move } from "./changes.ts";
import { Origin } from "./fields.ts";

/** What a requester is told of. */
const actionsTold: ReadonlySet<Action> = new Set<Action>(["approve", "deny", "request_info", "void", "reverse", "reopen"]);
const wording: Partial<Readonly<Record<Status, string>>> = {
  approved: "was approved",
  denied: "was denied",
  void: "was closed as void",
  reversed: "was approved, and the approval was taken back",
  pending: "was opened again",
  needs_info: "needs your answer",
};

/** What the requester is told of a move, by message or in the channel it was filed in. Votes are told to nobody. */
export function noticesOf({ request, input, actorId, result, policy }: Move): (Done & { key: string })[] {
  const { requesterId } = request;
  const { status } = result.next;
  const said = wording[status];
  const isVote = status === request.status;
  if (requesterId === null || requesterId === actorId || said === undefined || isVote || !actionsTold.has(input.action)) return [];
  const content = [
    `Your request ${request.reference} ${said}.`,
    ...(input.reasonPublic === null ? [] : [input.reasonPublic]),
    ...(input.body.questions ?? []).map((question) => `- ${question}`),
    ...(input.body.message === undefined ? [] : [input.body.message]),
  ].join("\n");
  const id = `${request.id}:${(request.revision + 1).toString()}:requester`;
  const reason = request.reference;
  const origin = Origin.safeParse(request.origin);
  const isChannel = input.body.notify === "channel" && origin.success && !request.subjects.some(({ kind }) => kind === "restricted");
  const key = "notice.requester";
  if (isChannel)
    return [
      {
        key,
        ...outward(
          { kind: "message_channel", channelId: origin.data.channel_id, content: `Request ${request.reference} ${said}.`, reason },
          { id, detail: "The channel it was filed in is told." },
        ),
      },
    ];
  const how = input.body.notify ?? policy.notify;
  if (how === "none") return [];
  return [
    {
      key,
      ...outward(
        { kind: "message_user", userId: requesterId, content, reason },
        { id, detail: `The requester is told that the request ${said}.` },
      ),
    },
  ];
}
