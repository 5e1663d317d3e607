import { ComponentType } from "discord-api-types/v10";

/** A component as loosely as the wire carries it. */
export type Component = {
  type: number;
  id?: number;
  custom_id?: string;
  label?: string;
  description?: string | null;
  placeholder?: string | null;
  style?: number;
  url?: string;
  emoji?: { name?: string | null } | null;
  disabled?: boolean;
  content?: string;
  value?: string;
  required?: boolean;
  min_length?: number;
  max_length?: number;
  min_values?: number;
  max_values?: number;
  options?: { label: string; value: string; description?: string | null; default?: boolean }[];
  default_values?: { id: string; type: string }[];
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

export const isSelect = (component: Component) => selectTypes.has(component.type);

/** Every component of the tree, parents first. */
export function* walkComponents(components: readonly Component[]): Generator<Component> {
  for (const component of components) {
    yield component;
    const inner = [component.components ?? [], component.accessory ?? [], component.component ?? []].flat();
    yield* walkComponents(inner);
  }
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
