import type { APIActionRowComponent, APIButtonComponent, APIComponentInMessageActionRow } from "discord.js";
import type { Row } from "../discord/command.ts";

type Control = APIComponentInMessageActionRow;

/** One row of a message. */
export function rowOf(...components: Control[]): Row {
  return { type: 1, components } satisfies APIActionRowComponent<Control>;
}

/** @param style 1: the way on, 2: plain, 3: good, 4: harm */
export function buttonOf(label: string, customId: string, style: 1 | 2 | 3 | 4 = 2): APIButtonComponent {
  return { type: 2, style, label, custom_id: customId };
}
