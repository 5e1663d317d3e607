import type { APISelectMenuOption } from "discord.js";
import type { Form } from "./command.ts";
import { cutText, isBlank } from "./cut-text.ts";
import { fitOptions, isNew } from "./limits-components.ts";

const limits = { title: 45, label: 45, hint: 100, text: 4000, parts: 5, shown: 4000 } as const;
const nothing = "–";

/** A part of a form as loosely as the wire carries it. */
interface Part {
  type: number;
  custom_id?: string;
  label?: string;
  description?: string;
  placeholder?: string;
  value?: string;
  content?: string;
  min_length?: number;
  max_length?: number;
  options?: APISelectMenuOption[];
  component?: Part;
  components?: Part[];
}

/**
 * A form as Discord takes it.
 * @throws Error when it has none or more than five parts, or a custom id that cannot be sent: none of them can be left out
 */
export function fitForm(form: Form): Form {
  const seen = new Set<string>();
  const partOf = ({ label, description, placeholder, value, content, component, components, options, ...rest }: Part): Part => {
    if (rest.custom_id !== undefined && !isNew(rest.custom_id, seen)) throw new Error(`a form has the custom id ${rest.custom_id}`);
    return {
      ...rest,
      ...(label !== undefined && { label: shown(label, limits.label) }),
      ...(!isBlank(description) && { description: cutText(description ?? "", limits.hint) }),
      ...(!isBlank(placeholder) && { placeholder: cutText(placeholder ?? "", limits.hint) }),
      ...(value !== undefined && value !== "" && { value: cutText(value, rest.max_length ?? limits.text) }),
      ...(content !== undefined && { content: shown(content, limits.shown) }),
      ...(options !== undefined && { options: fitOptions(options) }),
      ...(component !== undefined && { component: partOf(component) }),
      ...(components !== undefined && { components: components.map(partOf) }),
    };
  };
  const parts = form.components as unknown as Part[];
  if (parts.length === 0 || parts.length > limits.parts) throw new Error(`a form has ${parts.length.toString()} parts`);
  if (!isNew(form.custom_id, new Set())) throw new Error(`a form has the custom id ${form.custom_id}`);
  return { custom_id: form.custom_id, title: shown(form.title, limits.title), components: parts.map(partOf) } as unknown as Form;
}

function shown(text: string, most: number): string {
  return isBlank(text) ? nothing : cutText(text, most);
}
