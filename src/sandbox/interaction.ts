import { InteractionType, type InteractionResponseType } from "discord-api-types/v10";
import { requireLength } from "./component-rules.ts";
import type { Component } from "./components.ts";
import { invalidForm, unknown } from "./errors.ts";
import { readModal } from "./modal-rules.ts";
import type { Channel, Guild, Member, Message, Target } from "./model.ts";

export type Modal = { custom_id: string; title: string; components: Component[] };
export type Choice = { name: string; value: string | number };

/** One interaction from its opening to the end of its token. */
export type Interaction = {
  readonly id: string;
  readonly token: string;
  readonly type: InteractionType;
  readonly createdAt: number;
  readonly guild: Guild;
  readonly channel: Channel;
  readonly member: Member;
  readonly data: Record<string, unknown>;
  /** The message a component sits on, also for a modal opened from it. */
  readonly source: Message | null;
  readonly name: string;
  /** What a command of a context menu was used on. */
  readonly target?: Target;
  ack: { type: InteractionResponseType; afterMs: number } | null;
  missed: boolean;
  /** The original answer; while `thinking` only its flags count. */
  original: Message | null;
  thinking: boolean;
  /** Whether the user has seen a final answer. */
  answered: boolean;
  readonly followups: Message[];
  modal: Modal | null;
  choices: Choice[] | null;
};

export type Opening = Pick<Interaction, "type" | "guild" | "channel" | "member" | "data" | "source" | "name" | "target">;

export function answerWithChoices(interaction: Interaction, data: Record<string, unknown>): void {
  const choices = (data["choices"] ?? []) as Choice[];
  if (choices.length > 25) throw invalidForm("data.choices", "BASE_TYPE_MAX_LENGTH", "Must be 25 or fewer in length.");
  for (const [index, { name, value }] of choices.entries()) {
    requireLength(name, { min: 1, max: 100 }, `data.choices.${index}.name`);
    if (typeof value === "string") requireLength(value, { max: 100 }, `data.choices.${index}.value`);
  }
  interaction.choices = choices;
  interaction.answered = true;
}

export function answerWithModal(interaction: Interaction, data: Record<string, unknown>): void {
  if (interaction.type === InteractionType.ModalSubmit) throw invalidForm("type", "BASE_TYPE_CHOICES", "A modal cannot answer a modal.");
  interaction.modal = readModal(data);
  interaction.answered = true;
}

export function requireSource({ source }: Interaction): Message {
  if (!source) throw invalidForm("type", "BASE_TYPE_CHOICES", "There is no message to update.");
  return source;
}

/** 10008 when the original answer is gone or never was a message. */
export function requireOriginal({ original }: Interaction): Message {
  if (!original) throw unknown("Message");
  return original;
}
