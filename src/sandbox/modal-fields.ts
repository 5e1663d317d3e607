import { ComponentType } from "discord-api-types/v10";
import { isSelect, walkComponents } from "./components.ts";
import type { Component } from "./components.ts";
import type { Modal } from "./interaction.ts";

type Values = Record<string, string | string[]>;

/** The modal's components as they come back filled in; refuses missing, unknown, too short and too long values. */
export function submittedFields(modal: Modal, values: Values): unknown[] {
  const labels = new Map<string, string>();
  for (const component of walkComponents(modal.components)) {
    if (component.type === ComponentType.Label && component.component?.custom_id !== undefined)
      labels.set(component.label ?? "", component.component.custom_id);
    else if (component.type === ComponentType.TextInput && component.label !== undefined)
      labels.set(component.label, component.custom_id ?? "");
  }
  const byId = new Map(Object.entries(values).map(([name, value]) => [labels.get(name) ?? name, value]));
  let id = 0;
  const fill = (component: Component): unknown => {
    const own = { id: component.id ?? ++id, type: component.type };
    if (component.type === ComponentType.ActionRow) return { ...own, components: (component.components ?? []).map(fill) };
    if (component.type === ComponentType.Label) return { ...own, component: component.component && fill(component.component) };
    if (component.custom_id === undefined) return own;
    const value = byId.get(component.custom_id);
    byId.delete(component.custom_id);
    return { ...own, custom_id: component.custom_id, ...filled(component, value) };
  };
  const components = modal.components.map(fill);
  for (const name of byId.keys()) throw new Error(`the modal ${modal.custom_id} has no field ${name}`);
  return components;
}

function filled(component: Component, value: string | string[] | undefined) {
  const name = component.custom_id ?? "";
  if (isSelect(component)) {
    const chosen = [value ?? []].flat();
    if (chosen.length < (component.required === false ? 0 : (component.min_values ?? 1)))
      throw new Error(`the modal field ${name} needs a choice`);
    return { values: chosen };
  }
  const text = value ?? component.value ?? "";
  if (typeof text !== "string") throw new Error(`the modal field ${name} takes one text`);
  if (text === "" && component.required === false) return { value: text };
  if (text.length < Math.max(1, component.min_length ?? 0)) throw new Error(`the modal field ${name} is too short`);
  if (text.length > (component.max_length ?? 4000)) throw new Error(`the modal field ${name} is too long`);
  return { value: text };
}
