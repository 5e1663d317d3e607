import { say } from "../../../kit/say.ts";
import type { WorkflowEffect } from "../../../generated/sqlite/client.ts";
import { addSeconds } from "../../../kernel/clock.ts";
import type { EffectInputs } from "./inputs.ts";
import { takenBackOf, type Causes } from "./shared-actions.ts";
import type { Done, Due, Effect } from "./types.ts";
import { untilOf } from "./words.ts";

/** A ban that Discord has not carried out at its end is looked at again so many seconds later. */
const laterSeconds = 3600;

/** The end of a ban that has a length: at its date the bot takes back what it did, as a reversal would. */
export const createBanEnd = (causes: Causes): Effect<EffectInputs["discord.ban_end"]> => ({
  preview: ({ length }) =>
    typeof length === "string"
      ? say("workflows.the-ban-is-lifted-when-its-length")
      : say("workflows.the-ban-stands-until-somebody-lifts-it"),
  apply({ from }, { length }, earlier) {
    const until = untilOf(length, from);
    const bans = until === null ? [] : earlier.filter(({ key, status }) => key === "discord.punish" && status === "pending");
    const ends = bans.map(({ target }): Done => {
      const detail = say("workflows.the-ban-is-lifted-at-its-end");
      return { status: "pending", detail, ...(target !== undefined && { target }), ...(until !== null && { dueAt: until }) };
    });
    return Promise.resolve(ends);
  },
  async run({ tx, request }: Due, row: WorkflowEffect): Promise<Done> {
    // An approval that was put in force again has banned them anew.
    const ban = request.effects.findLast(
      ({ key, targetId, place }) => key === "discord.punish" && targetId === row.targetId && place < row.place,
    );
    if (ban?.status === "pending")
      return { status: "pending", detail: say("workflows.the-ban-waits-for-discord-still"), dueAt: addSeconds(tx.now, laterSeconds) };
    if (ban?.status !== "done") return { status: "skipped", detail: say("workflows.the-ban-had-ended-before") };
    const taken = await takenBackOf(causes, ban, { tx, reason: request.reference });
    if (taken === undefined) return { status: "skipped", detail: say("workflows.the-bot-had-not-banned-them") };
    const { status, detail, undo, amends } = taken;
    await tx.db.workflowEffect.updateMany({ where: placeOf(ban), data: { status, detail, updatedAt: tx.now, ...(undo && { undo }) } });
    const [lift] = amends;
    return lift === undefined
      ? { status: "done", detail: say("workflows.the-ban-is-over-and-there-was") }
      : { ...lift, detail: say("workflows.end-of-the-ban"), dueAt: tx.now };
  },
});

function placeOf({ requestId, place }: WorkflowEffect): { requestId: string; place: number } {
  return { requestId, place };
}
