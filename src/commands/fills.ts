import type { Control, Reply, Row } from "../discord/command.ts";
import { escapeText } from "../discord/replies.ts";
import { ProblemError } from "../kernel/errors.ts";
import type { Given } from "./entry.ts";
import { formOf } from "./forms.ts";
import type { Asked, Kept } from "./kept.ts";
import { buttonOf, rowOf } from "./rows.ts";
import { cut } from "./show.ts";
import { entryOf } from "./table.ts";
import type { Say } from "./texts.ts";

const name = "fi";
const shown = 1500;

/** What the first field of the form reads now, and a button that opens the form with all of it. */
export function fillReply(kept: Kept, asked: Asked, filled: Given["values"], say: Say): Reply {
  const values = { ...filled, ...asked.given.values };
  const key = kept.keep({ ...asked, given: { ...asked.given, values } });
  const [first = { name: "" }] = entryOf(asked.entry).form ?? [];
  const content = `${say("say fill")}\n>>> ${cut(escapeText(String(values[first.name] ?? "–")), shown)}`;
  return { content, components: [rowOf(buttonOf(say("button fill"), `${name}:${key}`, 1))] };
}

/** A button that opens the form again, with all that was typed into it. */
export function againRow(kept: Kept, asked: Asked, say: Say): Row {
  return rowOf(buttonOf(say("button again"), `${name}:${kept.keep(asked)}`, 1));
}

/** Opens a form that was offered. It can be opened again, as long as it was not sent. */
export function fillControl(kept: Kept): Control {
  return {
    name,
    opens([key = ""], interaction) {
      const asked = kept.find(key, interaction.user.id);
      return formOf(entryOf(asked.entry), `fm:${key}`, asked.given, interaction.locale);
    },
    run() {
      throw new ProblemError("invalid_transition", { detail: "This is not known any more. Give the command again." });
    },
  };
}
