import type { VerbInput, Verbs } from "./verbs.ts";
import { refusalText } from "../discord/refusal.ts";
import { annotated } from "../operations/route.ts";
import { ProblemError } from "../kernel/errors.ts";
import type { CommandInput, MenuTarget, Wording } from "./entry.ts";
import { type Piece, pieceLine } from "./gallery.ts";
import { picked, textIn } from "./input.ts";

/** What a menu on a message gives its entry: where the message stands, and who wrote it. */
export function messageValues({ user, message }: MenuTarget): CommandInput["values"] {
  if (message === undefined) return {};
  return { ...(user !== undefined && { author: user }), "message-id": message.id, "channel-id": message.channel };
}

/** The body of a piece of evidence that is a message, which the service fetches itself. */
export function messageBody(given: CommandInput) {
  const message = { channel_id: textIn(given, "channel-id"), message_id: textIn(given, "message-id") };
  return { kind: "message", ...picked(given, "note"), message };
}

/** A piece that is kept beside what was just made; in words where that failed, for what was made stays. */
export async function keepBeside(
  operation: string,
  params: VerbInput["params"],
  { t, call, given }: Wording,
  verbs: Verbs,
): Promise<string> {
  try {
    const input = { ...(params !== undefined && { params }), body: messageBody(given) };
    return pieceLine(annotated(await verbs.run(operation, call, input)).view as Piece, t);
  } catch (error) {
    if (!(error instanceof ProblemError)) throw error;
    return t("menu message-lost", { code: error.code, detail: refusalText(error, t) });
  }
}
