import { ComponentType, InteractionType } from "discord-api-types/v10";
import { resolve, valueOf, type OptionValue } from "./command-options.ts";
import { isSelect, walkComponents, type Component } from "./components.ts";
import type { Modal, Opening } from "./interaction.ts";
import type { Guild, Message, World } from "./model.ts";
import { isUpload, keepUpload } from "./uploads.ts";

/** What a field is filled with: a text, choices or their ids, people, roles, channels, files, or a tick. */
export type FieldValue = OptionValue | readonly OptionValue[];
export type FieldValues = Record<string, FieldValue>;

/** `labels` are what fields are called, by their custom ids. */
type Form = { world: World; guild: Guild; resolved: OptionValue[]; labels: ReadonlyMap<string, string> };

/** The interaction of a modal that is sent; refuses missing, unknown, too short and too long values. */
export function modalOpening(
  world: World,
  guild: Guild,
  modal: Modal,
  { values, source }: { values: FieldValues; source: Message | null },
): Pick<Opening, "type" | "data" | "source" | "name" | "target"> {
  const form: Form = { world, guild, resolved: [], labels: labelsOf(modal) };
  const components = submittedFields(form, modal, values);
  const resolved = resolve(world, guild, form.resolved);
  return {
    type: InteractionType.ModalSubmit,
    data: { custom_id: modal.custom_id, components, ...(Object.keys(resolved).length > 0 && { resolved }) },
    source,
    name: modal.custom_id,
  };
}

/** What the fields are called, by their custom ids. */
function labelsOf(modal: Modal): Map<string, string> {
  const labels = new Map<string, string>();
  for (const component of walkComponents(modal.components)) {
    if (component.type === ComponentType.Label && component.component?.custom_id !== undefined)
      labels.set(component.component.custom_id, component.label ?? "");
    else if (component.type === ComponentType.TextInput && component.label !== undefined)
      labels.set(component.custom_id ?? "", component.label);
  }
  return labels;
}

function submittedFields(form: Form, modal: Modal, values: FieldValues): unknown[] {
  const ids = new Map([...form.labels].map(([customId, label]) => [label, customId]));
  const byId = new Map(Object.entries(values).map(([name, value]) => [ids.get(name) ?? name, value]));
  for (const name of byId.keys()) if (!form.labels.has(name)) throw new Error(`the form “${modal.title}” has no field ${name}`);
  let id = 0;
  const fill = (component: Component): unknown => {
    const own = { id: component.id ?? ++id, type: component.type };
    if (component.type === ComponentType.ActionRow) return { ...own, components: (component.components ?? []).map(fill) };
    if (component.type === ComponentType.Label) return { ...own, component: component.component && fill(component.component) };
    if (component.custom_id === undefined) return own;
    return { ...own, custom_id: component.custom_id, ...filled(form, component, byId.get(component.custom_id)) };
  };
  return modal.components.map(fill);
}

function filled(form: Form, component: Component, value: FieldValue | undefined) {
  if (isSelect(component) || component.type === ComponentType.FileUpload || component.type === ComponentType.CheckboxGroup)
    return { values: chosen(form, component, value) };
  if (component.type === ComponentType.Checkbox) return { value: value === true };
  const name = calledIn(form, component);
  if (component.type === ComponentType.RadioGroup) return { value: chosen(form, component, value)[0] ?? null };
  const text = value ?? component.value ?? "";
  if (typeof text !== "string") throw new Error(`${name} takes one text`);
  if (text === "" && component.required === false) return { value: text };
  const { min_length: min = 0, max_length: max = 4000 } = component;
  if (text === "") throw new Error(`${name} is required`);
  if (text.length < min) throw new Error(`${name} is too short: write at least ${min} characters`);
  if (text.length > max) throw new Error(`${name} is too long: write at most ${max} characters`);
  return { value: text };
}

/** A field as the person sees it. */
const calledIn = ({ labels }: Form, { custom_id: id = "" }: Component): string => `“${labels.get(id) ?? id}”`;

/** What a menu shows as chosen when its form opens, and sends unless something else is picked. */
const chosenBefore = ({ options = [] }: Component): string[] => options.flatMap((one) => (one.default === true ? [one.value] : []));

/** The values of a field that takes several; ids stand for what they name. */
function chosen(form: Form, component: Component, value: FieldValue | undefined): string[] {
  const { world, guild, resolved } = form;
  const name = calledIn(form, component);
  const { options, min_values: min = 1, max_values: max = 1 } = component;
  const given: OptionValue[] =
    value === undefined
      ? chosenBefore(component)
      : value === ""
        ? []
        : Array.isArray(value)
          ? [...(value as OptionValue[])]
          : [value as OptionValue];
  if (given.length < min && !(given.length === 0 && component.required === false)) throw new Error(`${name} needs a choice`);
  if (given.length > max) throw new Error(`${name} takes at most ${max} choices`);
  const isFiles = component.type === ComponentType.FileUpload;
  if (given.some((one) => isUpload(one) !== isFiles)) throw new Error(`the value does not fit ${name}`);
  return given.map((one) => {
    const known = isUpload(one) ? keepUpload(world, one) : options ? one : valueOf(world, guild, one);
    if (typeof known === "object" && "id" in known) {
      resolved.push(known);
      return known.id;
    }
    if (!options?.some((option) => option.value === known)) throw new Error(`${name} has no choice ${String(known)}`);
    return String(known);
  });
}
