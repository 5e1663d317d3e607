import { InteractionType, ComponentType, type InteractionResponseType } from "discord-api-types/v10";
import { requireLength, checkCustomIds, checkSelect } from "./component-rules.ts";
import { isSelect, type Component } from "./components.ts";
import { invalidForm, unknown } from "./errors.ts";
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

const bad = (text: string) => invalidForm("data.components", "COMPONENT_INVALID", text);

/** Reads a modal: a title of 45 characters, 1 to 5 parts, each a label with a field, a row with a text input, or a text. */
export function readModal(data: Record<string, unknown>): Modal {
  const { custom_id: customId, title, components } = data as Partial<Modal>;
  requireLength(customId, { min: 1, max: 100 }, "data.custom_id");
  requireLength(title, { min: 1, max: 45 }, "data.title");
  if (!components || components.length < 1 || components.length > 5)
    throw invalidForm("data.components", "BASE_TYPE_BAD_LENGTH", "Must be between 1 and 5 in length.");
  checkCustomIds(components);
  for (const component of components) checkPart(component);
  return { custom_id: customId ?? "", title: title ?? "", components };
}

function checkPart(part: Component): void {
  if (part.type === ComponentType.TextDisplay) return requireLength(part.content, { min: 1, max: 4000 }, "data.components.content");
  if (part.type === ComponentType.Label) {
    requireLength(part.label, { min: 1, max: 45 }, "data.components.label");
    requireLength(part.description, { max: 100 }, "data.components.description");
    if (part.component?.label !== undefined && part.component.type === ComponentType.TextInput)
      throw bad("A text input within a label has no label of its own.");
    return checkField(part.component);
  }
  const [field, ...more] = part.type === ComponentType.ActionRow ? (part.components ?? []) : [];
  if (field?.type !== ComponentType.TextInput || more.length > 0) throw bad("A modal holds labels, texts and rows with one text input.");
  requireLength(field.label, { min: 1, max: 45 }, "data.components.label");
  checkField(field);
}

/** Checks of fields, by their type. */
const fields: Record<number, (field: Component) => void> = {
  [ComponentType.TextInput]: checkTextInput,
  [ComponentType.FileUpload]: ({ min_values: min = 1, max_values: max = 1 }) => {
    if (min < 0 || min > max || max < 1 || max > 10) throw bad("A file upload takes at most 10 files, and not fewer than its least.");
  },
  [ComponentType.RadioGroup]: ({ options = [] }) => checkOptions(options, { min: 2, max: 10 }),
  [ComponentType.CheckboxGroup]: ({ options = [] }) => checkOptions(options, { min: 1, max: 10 }),
  [ComponentType.Checkbox]: () => undefined,
};

function checkField(field: Component | undefined): void {
  const check = field && (isSelect(field) ? checkSelect : fields[field.type]);
  if (!check || field.custom_id === undefined) throw bad("A label holds a field with a custom_id.");
  check(field);
}

function checkTextInput({ style, placeholder, value, min_length: min = 0, max_length: max = 4000 }: Component): void {
  if (style !== 1 && style !== 2) throw bad("A text input is short or a paragraph.");
  requireLength(placeholder, { max: 100 }, "data.components.placeholder");
  requireLength(value, { max: 4000 }, "data.components.value");
  if (min < 0 || max < 1 || min > max || max > 4000) throw bad("A text input takes 1 to 4000 characters, and not fewer than its least.");
}

function checkOptions(options: NonNullable<Component["options"]>, { min, max }: { min: number; max: number }): void {
  if (options.length < min || options.length > max) throw bad(`Must be between ${min} and ${max} in length.`);
  for (const { label, value } of options) {
    requireLength(label, { min: 1, max: 100 }, "data.components.options.label");
    requireLength(value, { min: 1, max: 100 }, "data.components.options.value");
  }
}
