import { messageLimits, type MessageParts } from "../../kernel/message-parts.ts";
import { held, type Fields } from "./fields.ts";
import { emojiPart } from "./small.ts";

/** A poll: its question, and its answers with their votes. */
export function pollPart(poll: Fields): MessageParts["poll"] {
  const question = poll.object("question", mediaOf);
  const results = poll.object("results", (found) => ({
    isFinal: found.flag("is_finalized"),
    counts: found.objects("answer_counts", messageLimits.items, (one) => {
      one.pass("me_voted");
      return { id: one.number("id"), votes: one.number("count") };
    }),
  }));
  const answers = poll.objects("answers", messageLimits.items, (answer) => {
    const id = answer.number("answer_id");
    return held({ id, ...answer.object("poll_media", mediaOf), votes: results?.counts.find((one) => one.id === id)?.votes });
  });
  const ids = new Set(answers.map(({ id }) => id));
  const others = (results?.counts ?? []).filter(({ id }) => !ids.has(id));
  return held({
    question: question?.text,
    question_emoji: question?.emoji,
    answers: [...answers, ...others],
    expires_at: poll.time("expiry"),
    is_multiple_choice: poll.flag("allow_multiselect"),
    layout: poll.number("layout_type"),
    is_final: results?.isFinal,
  });
}

const mediaOf = (media: Fields) => ({ text: media.text("text", 1000), emoji: media.object("emoji", emojiPart) });
