import { ButtonStyle, ComponentType } from "discord-api-types/v10";
import { isSelect, walkComponents, type Component } from "./components.ts";
import { invalidForm } from "./errors.ts";

const maxComponents = 40;
const maxRows = 5;
const maxOptions = 25;

/** Refuses a text whose length is outside its limits; one that is absent counts as empty. */
export function requireLength(text: string | null | undefined, { min = 0, max }: { min?: number; max: number }, at: string): void {
  const length = text?.length ?? 0;
  if (length < min || length > max) throw invalidForm(at, "BASE_TYPE_BAD_LENGTH", `Must be between ${min} and ${max} in length.`);
}

/**
 * The limits of Discord's component reference for messages: counts, lengths, unique custom ids, what may stand where.
 * @param isFree whether the message has the flag for components of the second version, which knows no limit of rows
 */
export function checkComponents(components: readonly Component[], isFree: boolean): void {
  if ([...walkComponents(components)].length > maxComponents)
    throw invalidForm("components", "BASE_TYPE_MAX_LENGTH", "Must be 40 or fewer in length.");
  if (!isFree) {
    if (components.length > maxRows) throw invalidForm("components", "BASE_TYPE_MAX_LENGTH", "Must be 5 or fewer in length.");
    if (components.some(({ type }) => type !== ComponentType.ActionRow))
      throw invalidForm("components", "UNION_TYPE_CHOICES", 'Value of field "type" must be one of (1,).');
  }
  const texts = [...walkComponents(components)].map(({ type, content }) => (type === ComponentType.TextDisplay ? (content ?? "") : ""));
  requireLength(texts.join(""), { max: 4000 }, "components");
  checkCustomIds(components);
  for (const component of walkComponents(components)) checkOne(component);
}

/** Custom ids have 1 to 100 characters and are used once. */
export function checkCustomIds(components: readonly Component[]): void {
  const seen = new Set<string>();
  for (const { custom_id: customId } of walkComponents(components)) {
    if (customId === undefined) continue;
    requireLength(customId, { min: 1, max: 100 }, "components.custom_id");
    if (seen.has(customId)) throw invalidForm("components", "COMPONENT_CUSTOM_ID_DUPLICATED", "Component custom id cannot be duplicated");
    seen.add(customId);
  }
}

const bad = (text: string) => invalidForm("components", "COMPONENT_INVALID", text);

function checkOne(component: Component): void {
  if (component.type === ComponentType.ActionRow) checkRow(component.components ?? []);
  else if (component.type === ComponentType.Button) checkButton(component);
  else if (isSelect(component)) checkSelect(component);
  else if (component.type === ComponentType.TextInput || component.type === ComponentType.Label)
    throw bad("Only a modal has such a component.");
}

/** A row holds up to five buttons, or one select menu. */
function checkRow(components: readonly Component[]): void {
  const hasOneMenu = components[0] !== undefined && isSelect(components[0]) && components.length === 1;
  const areButtons = components.length >= 1 && components.length <= 5 && components.every(({ type }) => type === ComponentType.Button);
  if (!hasOneMenu && !areButtons) throw bad("An action row holds 1 to 5 buttons or one select menu.");
}

function checkButton({ style, label, url, custom_id: customId, emoji }: Component): void {
  requireLength(label, { max: 80 }, "components.label");
  if (style === undefined || style < ButtonStyle.Primary || style > ButtonStyle.Premium) throw bad("A button needs a style.");
  if (style === ButtonStyle.Premium) return;
  if (!label && !emoji) throw bad("A button needs a label or an emoji.");
  const [target, other] = style === ButtonStyle.Link ? [url, customId] : [customId, url];
  if (target === undefined || other !== undefined) throw bad("A button needs a custom_id, or as a link a url.");
  requireLength(url, { max: 512 }, "components.url");
}

/** The limits of a select menu, in messages as in modals. */
export function checkSelect(select: Component): void {
  const { custom_id: customId, placeholder, min_values: min = 1, max_values: max = 1, options = [] } = select;
  if (customId === undefined) throw bad("A select menu needs a custom_id.");
  requireLength(placeholder, { max: 150 }, "components.placeholder");
  if (min < 0 || max < 1 || min > max || max > maxOptions)
    throw bad("A select menu takes at most 25 choices, and not fewer than its least.");
  if (select.type !== ComponentType.StringSelect) return;
  if (options.length < 1 || options.length > maxOptions) throw bad("A select menu has 1 to 25 options.");
  if (max > options.length) throw bad("A select menu cannot take more choices than it has.");
  for (const { label, value, description } of options) {
    requireLength(label, { min: 1, max: 100 }, "components.options.label");
    requireLength(value, { min: 1, max: 100 }, "components.options.value");
    requireLength(description, { max: 100 }, "components.options.description");
  }
  if (new Set(options.map(({ value }) => value)).size < options.length)
    throw invalidForm("components.options", "SELECT_COMPONENT_OPTION_VALUE_DUPLICATED", "The specified option value is already used");
}
