import type { Reply } from "../discord/command.ts";
import { escapeText } from "../discord/replies.ts";
import type { HeldView } from "../kernel/held.ts";
import { buttonOf, rowOf } from "./rows.ts";
import { momentOf } from "./show.ts";
import type { Say } from "./texts.ts";

/** Nothing was changed yet: who has to say so, until when, and the buttons for whoever may. */
export function heldReply({ code, summary, needs, expires_at, key }: HeldView, say: Say): Reply {
  const who = needs.map((one) => say(`held ${one}`)).join(", ");
  const waits = say("held waits", { summary: escapeText(summary), who, until: momentOf(expires_at, "R"), code });
  const content = key === undefined ? waits : `${waits}\n${say("held key", { key })}`;
  // Only whoever asked sees this: where it is for somebody else to confirm, they can only take it back.
  const buttons = [
    ...(needs[0] === "acting_user" ? [buttonOf(say("button confirm"), `cf:accept:${code}`, 3)] : []),
    buttonOf(say("button decline"), `cf:decline:${code}`),
  ];
  return { content, components: [rowOf(...buttons)] };
}
