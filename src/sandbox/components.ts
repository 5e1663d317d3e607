import { ButtonStyle, ComponentType } from "discord-api-types/v10";
import { invalidForm } from "./errors.ts";

/** A component as loosely as the wire carries it. */
export type Component = {
  type: number;
  id?: number;
  custom_id?: string;
  label?: string;
  style?: number;
  url?: string;
  disabled?: boolean;
  content?: string;
  value?: string;
  required?: boolean;
  min_length?: number;
  max_length?: number;
  min_values?: number;
  max_values?: number;
  options?: { label: string; value: string }[];
  components?: Component[];
  accessory?: Component;
  component?: Component;
  [key: string]: unknown;
};

const selectTypes = new Set<number>([
  ComponentType.StringSelect,
  ComponentType.UserSelect,
  ComponentType.RoleSelect,
  ComponentType.MentionableSelect,
  ComponentType.ChannelSelect,
]);

/** Every component of the tree, parents first. */
export function* walkComponents(components: readonly Component[]): Generator<Component> {
  for (const component of components) {
    yield component;
    const inner = [component.components ?? [], component.accessory ?? [], component.component ?? []].flat();
    yield* walkComponents(inner);
  }
}

/** Limits of Discord's component reference that are easy to break: counts, lengths, unique custom ids. */
export function checkComponents(components: readonly Component[]): void {
  const seen = new Set<string>();
  const all = [...walkComponents(components)];
  if (all.length > 40) throw invalidForm("components", "BASE_TYPE_BAD_LENGTH", "At most 40 components.");
  for (const component of all) {
    const { custom_id: customId } = component;
    if (customId !== undefined) {
      if (customId.length < 1 || customId.length > 100)
        throw invalidForm("components", "BASE_TYPE_BAD_LENGTH", "custom_id must be between 1 and 100 in length.");
      if (seen.has(customId)) throw invalidForm("components", "COMPONENT_CUSTOM_ID_DUPLICATED", "Component custom id cannot be duplicated");
      seen.add(customId);
    }
    checkOne(component);
  }
}

function checkOne(component: Component): void {
  const bad = (text: string) => invalidForm("components", "COMPONENT_INVALID", text);
  if (component.type === ComponentType.ActionRow) {
    const { length } = component.components ?? [];
    if (length < 1 || length > 5) throw bad("An action row holds 1 to 5 components.");
  } else if (component.type === ComponentType.Button) {
    if ((component.label?.length ?? 0) > 80) throw bad("A button label has at most 80 characters.");
    const target = component.style === ButtonStyle.Link ? component.url : component.custom_id;
    if (component.style !== ButtonStyle.Premium && target === undefined) throw bad("A button needs a custom_id or url.");
  } else if (component.type === ComponentType.StringSelect) {
    const { length } = component.options ?? [];
    if (length < 1 || length > 25) throw bad("A select menu has 1 to 25 options.");
  } else if (component.type === ComponentType.TextInput && (component.label?.length ?? 0) > 45)
    throw bad("A text input label has at most 45 characters.");
}

/** The components as answered by Discord: each with an `id`, defaults filled in. */
export function presentComponents(components: readonly Component[]): Component[] {
  let next = 0;
  const present = (given: Component): Component => {
    const id = given.id ?? ++next;
    return {
      ...(given.type === ComponentType.Container && { accent_color: null, spoiler: false }),
      ...(given.type === ComponentType.Separator && { spacing: 1, divider: true }),
      ...(selectTypes.has(given.type) && { min_values: 1, max_values: 1 }),
      ...given,
      id,
      ...(given.components && { components: given.components.map(present) }),
      ...(given.accessory && { accessory: present(given.accessory) }),
      ...(given.component && { component: present(given.component) }),
    };
  };
  return components.map(present);
}

export const isSelect = (component: Component) => selectTypes.has(component.type);
