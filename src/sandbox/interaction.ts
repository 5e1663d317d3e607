import { InteractionType } from "discord-api-types/v10";
import type { InteractionResponseType } from "discord-api-types/v10";
import type { Component } from "./components.ts";
import { invalidForm, unknown } from "./errors.ts";
import type { Channel, Guild, Member, Message } from "./model.ts";

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

export type Opening = Pick<Interaction, "type" | "guild" | "channel" | "member" | "data" | "source" | "name">;

export function answerWithChoices(interaction: Interaction, data: Record<string, unknown>): void {
  const choices = (data["choices"] ?? []) as Choice[];
  if (choices.length > 25) throw invalidForm("data.choices", "BASE_TYPE_MAX_LENGTH", "Must be 25 or fewer in length.");
  for (const { name } of choices)
    if (name.length < 1 || name.length > 100)
      throw invalidForm("data.choices", "BASE_TYPE_BAD_LENGTH", "Must be between 1 and 100 in length.");
  interaction.choices = choices;
  interaction.answered = true;
}

export function answerWithModal(interaction: Interaction, data: Record<string, unknown>): void {
  if (interaction.type === InteractionType.ModalSubmit) throw invalidForm("type", "BASE_TYPE_CHOICES", "A modal cannot answer a modal.");
  const { custom_id: customId, title, components } = data as Partial<Modal>;
  if (!customId || customId.length > 100)
    throw invalidForm("data.custom_id", "BASE_TYPE_BAD_LENGTH", "Must be between 1 and 100 in length.");
  if (!title || title.length > 45) throw invalidForm("data.title", "BASE_TYPE_BAD_LENGTH", "Must be between 1 and 45 in length.");
  if (!components || components.length < 1 || components.length > 5)
    throw invalidForm("data.components", "BASE_TYPE_BAD_LENGTH", "Must be between 1 and 5 in length.");
  interaction.modal = { custom_id: customId, title, components };
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
