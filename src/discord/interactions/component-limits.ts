import type { APIButtonComponent, APIComponentInMessageActionRow, APISelectMenuOption } from "discord.js";
import type { Choice, Form, Row } from "../command.ts";
import { cutText, isBlank } from "../cut-text.ts";

const limits = { rows: 5, buttons: 5, options: 25, text: 100, id: 100, label: 80, placeholder: 150, url: 512 } as const;
const buttonType = 2;
const nothing = "–";
/** Characters that reorder text on screen. */
const directionMarks = /[\u202a-\u202e\u2066-\u2069\u200e\u200f]/g;

type Select = Exclude<APIComponentInMessageActionRow, APIButtonComponent>;

interface FittedRows {
  rows: Row[];
  /** Something cannot be shown. */
  isCut: boolean;
}

/** Fits rows into Discord's limits: five, of five buttons or one menu. A control whose custom id cannot be sent is left out. */
export function fitRows(given: readonly Row[]): FittedRows {
  const seen = new Set<string>();
  let isCut = false;
  const keep = (component: APIComponentInMessageActionRow): APIComponentInMessageActionRow[] => {
    const isFree = !("custom_id" in component) || isUnique(component.custom_id, seen);
    const fitting = component.type === buttonType ? fitButton(component) : fitSelect(component);
    if (fitting?.isCut !== false || !isFree) isCut = true;
    return isFree && fitting !== undefined ? [fitting.component] : [];
  };
  const rows = given.flatMap(({ components }) => inRows(components.flatMap(keep)));
  return { rows: rows.slice(0, limits.rows), isCut: isCut || rows.length > limits.rows };
}

/** Fits the choices of an autocompletion into Discord's limits; a choice with a value that is too long is left out, because cutting it would change it. */
export function fitChoices(given: readonly Choice[]): Choice[] {
  return given
    .filter(({ value }) => isSendable(value))
    .slice(0, limits.options)
    .map(({ name, value }) => ({ name: named(name, value), value }));
}

/** Fits the options of a menu into Discord's limits. */
function fitOptions(given: readonly APISelectMenuOption[]): APISelectMenuOption[] {
  const seen = new Set<string>();
  return given
    .filter(({ value }) => isUnique(value, seen))
    .slice(0, limits.options)
    .map(({ label, value, description, ...rest }) => ({
      ...rest,
      value,
      label: named(label, value),
      ...(!isBlank(description) && { description: cutText(description ?? "", limits.text) }),
    }));
}

/** Whether an id or a value can be sent and is unique among those seen. */
function isUnique(id: string, seen: Set<string>): boolean {
  if (!isSendable(id) || seen.has(id)) return false;
  seen.add(id);
  return true;
}

function isSendable(id: string): boolean {
  return id.length >= 1 && id.length <= limits.id && !/\p{Surrogate}/u.test(id);
}

function inRows(components: readonly APIComponentInMessageActionRow[]): Row[] {
  const rows: APIComponentInMessageActionRow[][] = [];
  for (const component of components) {
    const last = rows.at(-1);
    const joins = last !== undefined && last.length < limits.buttons && [component, ...last].every(({ type }) => type === buttonType);
    if (joins) last.push(component);
    else rows.push([component]);
  }
  return rows.map((row) => ({ type: 1, components: row }));
}

/** Undefined for a link that is too long: a cut link would lead elsewhere. */
function fitButton(button: APIButtonComponent): { component: APIButtonComponent; isCut: boolean } | undefined {
  if ("url" in button && button.url.length > limits.url) return undefined;
  if (!("label" in button) && !("emoji" in button)) return { component: button, isCut: false };
  const isTextless = isBlank(button.label);
  if (isTextless && button.emoji !== undefined) return { component: withoutLabel(button), isCut: false };
  const plain = (button.label ?? "").replaceAll(directionMarks, "");
  const label = isTextless ? nothing : cutText(plain, limits.label);
  return { component: { ...button, label }, isCut: !isTextless && label !== plain };
}

function withoutLabel({ label: _, ...rest }: Extract<APIButtonComponent, { label?: string }>): APIButtonComponent {
  return rest;
}

function fitSelect(select: Select): { component: Select; isCut: boolean } | undefined {
  const { placeholder, ...rest } = select;
  const shown = isBlank(placeholder) ? {} : { placeholder: cutText(placeholder ?? "", limits.placeholder) };
  if (!("options" in rest)) return { component: { ...rest, ...shown } as Select, isCut: false };
  const options = fitOptions(rest.options);
  if (options.length === 0) return undefined;
  const most = Math.min(rest.max_values ?? 1, options.length);
  const component = { ...rest, ...shown, options, max_values: most, min_values: Math.min(rest.min_values ?? 1, most) } as Select;
  return { component, isCut: options.length < rest.options.length };
}

function named(name: string, value: string): string {
  const plain = name.replaceAll(directionMarks, "");
  const shown = [plain, value].find((text) => !isBlank(text)) ?? nothing;
  return cutText(shown, limits.text);
}

const formLimits = { title: 45, label: 45, hint: 100, text: 4000, parts: 5, shown: 4000 } as const;

const leastTitle = 12;

/** A title that is too long ends before its last clause, such as "Put a request on hold" of "Put a request on hold, so that …". */
function titleOf(title: string): string {
  if (title.length <= formLimits.title) return title;
  const clause = title.slice(0, formLimits.title + 1).search(/(?:[,;:]|\s\(|\.)[^,;:.(]*$/);
  return clause < leastTitle ? title : title.slice(0, clause);
}

/** A part of a form in its wire format. */
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
 * Fits a form into Discord's limits.
 * @throws Error when it has none or more than five parts, or a custom id that cannot be sent: none of them can be left out
 */
export function fitForm(form: Form): Form {
  const seen = new Set<string>();
  const partOf = ({ label, description, placeholder, value, content, component, components, options, ...rest }: Part): Part => {
    if (rest.custom_id !== undefined && !isUnique(rest.custom_id, seen)) throw new Error(`a form has the custom id ${rest.custom_id}`);
    return {
      ...rest,
      ...(label !== undefined && { label: shown(label, formLimits.label) }),
      ...(!isBlank(description) && { description: cutText(description ?? "", formLimits.hint) }),
      ...(!isBlank(placeholder) && { placeholder: cutText(placeholder ?? "", formLimits.hint) }),
      ...(value !== undefined && value !== "" && { value: cutText(value, rest.max_length ?? formLimits.text) }),
      ...(content !== undefined && { content: shown(content, formLimits.shown) }),
      ...(options !== undefined && { options: fitOptions(options) }),
      ...(component !== undefined && { component: partOf(component) }),
      ...(components !== undefined && { components: components.map(partOf) }),
    };
  };
  const parts = form.components as unknown as Part[];
  if (parts.length === 0 || parts.length > formLimits.parts) throw new Error(`a form has ${parts.length.toString()} parts`);
  if (!isUnique(form.custom_id, new Set())) throw new Error(`a form has the custom id ${form.custom_id}`);
  return {
    custom_id: form.custom_id,
    title: shown(titleOf(form.title), formLimits.title),
    components: parts.map(partOf),
  } as unknown as Form;
}

function shown(text: string, most: number): string {
  return isBlank(text) ? nothing : cutText(text, most);
}
