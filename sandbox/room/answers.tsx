import { isEphemeral } from "../message-payload.ts";
import type { Message, World } from "../model.ts";
import { MessageView } from "./message.tsx";
import type { Done } from "./state.ts";

/** A message with what led to it, or a line about what has no message. */
type Shown = { key: string; trail: string[]; one: Done; message?: Message; line?: string };

/** What the bot answered to a person, newest first. A message stands here once, however often it was changed; a public one stands in its channel. */
export function Answers({ world, done }: { world: World; done: readonly Done[] }) {
  const shown = answersOf(world, done);
  if (shown.length === 0) return <p>Nothing yet. Run a command, or press a button in a channel.</p>;
  return (
    <>
      {shown.map(({ key, trail, one, message, line }) => (
        <section class="answer" aria-label={`Answer to ${trail.join(", ")}`} data-key={`answer-${key}`}>
          <h4>{trail.join(" › ")}</h4>
          {line !== undefined && <p>{line}</p>}
          {message && <MessageView message={message} place={{ world, guild: one.guild, run: one.id }} />}
        </section>
      ))}
    </>
  );
}

function answersOf(world: World, done: readonly Done[]): Shown[] {
  const shown = new Map<string, Shown>();
  for (const one of done.toReversed()) {
    const { interaction } = one.run;
    const messages = [interaction.original, ...interaction.followups].filter((message) => message !== null);
    for (const message of messages) {
      const before = shown.get(message.id);
      shown.delete(message.id);
      const trail = [...(before?.trail ?? []), one.words];
      const channel = world.channels.get(message.channelId);
      const isPublic = !isEphemeral(message);
      const place = isPublic ? { line: `The answer is in #${channel?.name ?? "a channel that is gone"}.` } : { message };
      shown.set(message.id, { key: message.id, trail, one, ...place });
    }
    const line = messages.length > 0 ? undefined : lineOf(one);
    if (line !== undefined) shown.set(one.id, { key: one.id, trail: [one.words], one, line });
  }
  return [...shown.values()].toReversed();
}

/** What is said of an answer without a message; undefined while its form is open, and once it was left. */
function lineOf({ run: { interaction } }: Done): string | undefined {
  if (interaction.missed) return "The bot did not answer in time.";
  if (interaction.modal) return undefined;
  return interaction.ack ? "The bot took note, and shows nothing." : "Waiting for the bot…";
}
