import type { Exchange } from "../../sandbox/index.ts";

/** Discord's limits, written down a second time: what the service sends is held against them, not against its own idea of them. */

interface Component {
  type: number;
  custom_id?: string;
  label?: string;
  description?: string;
  placeholder?: string;
  value?: string;
  url?: string;
  style?: number;
  emoji?: unknown;
  min_values?: number;
  max_values?: number;
  min_length?: number;
  max_length?: number;
  options?: { label: string; value: string; description?: string }[];
  component?: Component;
  components?: Component[];
}

interface Embed {
  title?: string;
  description?: string;
  footer?: { text: string };
  author?: { name: string };
  fields?: { name: string; value: string }[];
}

export interface MessageBody {
  content?: string | null;
  embeds?: Embed[];
  components?: Component[];
  files?: { name: string; attachment: Buffer }[];
  attachments?: { filename?: string }[];
  allowed_mentions?: { parse?: string[]; users?: string[]; roles?: string[]; replied_user?: boolean };
}

type Note = (where: string, problem: string) => void;

const lone = /\p{Surrogate}/u;

/** What is wrong with the body of a message. */
export function messageProblems(body: MessageBody): string[] {
  const { content = "", embeds = [], components = [], files = [], attachments = [], allowed_mentions: mentions } = body;
  return collected((note) => {
    text(note, "content", content ?? "", 0, 2000);
    if (embeds.length > 10) note("embeds", "more than 10");
    if (files.length > 10 || attachments.length > 10) note("files", "more than 10");
    if (files.reduce((sum, { attachment }) => sum + attachment.length, 0) > 10 * 1024 * 1024) note("files", "more than 10 MB");
    let all = 0;
    for (const embed of embeds) all += embedSize(note, embed);
    if (all > 6000) note("embeds", `${all.toString()} characters together`);
    if (components.length > 5) note("components", "more than 5 rows");
    uniqueIds(note, components);
    for (const row of components) messageRow(note, row);
    const isEmpty = (content ?? "").trim() === "" && embeds.length + components.length + files.length + attachments.length === 0;
    if (isEmpty) note("message", "nothing in it");
    if (mentions === undefined || mentions.parse?.length !== 0 || mentions.users?.length || mentions.roles?.length)
      note("allowed_mentions", "somebody could be alerted");
  });
}

/** What is wrong with a form. */
export function formProblems(form: object): string[] {
  const { title, custom_id: id, components = [] } = form as Partial<Component> & { title?: string };
  return collected((note) => {
    filled(note, "title", title, 45);
    filled(note, "custom_id", id, 100);
    if (components.length < 1 || components.length > 5) note("components", `${components.length.toString()} parts`);
    uniqueIds(note, components);
    for (const part of components) {
      filled(note, "label", part.label, 45);
      if (part.description !== undefined) filled(note, "description", part.description, 100);
      const field = part.component;
      if (part.type !== 18 || field === undefined) note("part", "no label with a field");
      else formField(note, field);
    }
  });
}

/** What is wrong with the choices of an option that is typed. */
export function choiceProblems(choices: readonly { name: string; value: string }[]): string[] {
  return collected((note) => {
    if (choices.length > 25) note("choices", "more than 25");
    for (const { name, value } of choices) {
      filled(note, "name", name, 100);
      text(note, "value", value, 1, 100);
    }
  });
}

/** What is wrong with a request of the service, by its route; undefined where there is nothing to hold it against. */
export function exchangeProblems({ method, route, requestBody }: Pick<Exchange, "method" | "route" | "requestBody">): string[] | undefined {
  if (requestBody === undefined || route === null || (method !== "POST" && method !== "PATCH")) return undefined;
  if (route.endsWith("/callback")) {
    const { type, data = {} } = requestBody as { type: number; data?: object };
    if (type === 8) return choiceProblems((data as { choices: [] }).choices);
    if (type === 9) return formProblems(data);
    return type === 4 || type === 7 ? messageProblems(data) : [];
  }
  return /^\/(webhooks|channels)\/.*(\/messages|_token\})/.test(route) ? messageProblems(requestBody as MessageBody) : undefined;
}

function collected(check: (note: Note) => void): string[] {
  const problems: string[] = [];
  check((where, problem) => problems.push(`${where}: ${problem}`));
  return problems;
}

function text(note: Note, where: string, value: string, least: number, most: number): void {
  if (value.length < least || value.length > most) note(where, `${value.length.toString()} characters`);
  if (lone.test(value)) note(where, "half a character");
}

function filled(note: Note, where: string, value: string | undefined, most: number): void {
  text(note, where, value ?? "", 0, most);
  if ((value ?? "").trim() === "") note(where, "blank");
}

function embedSize(note: Note, { title, description, footer, author, fields = [] }: Embed): number {
  const parts: [string, string | undefined, number][] = [
    ["title", title, 256],
    ["description", description, 4096],
    ["footer", footer?.text, 2048],
    ["author", author?.name, 256],
    ...fields.flatMap(({ name, value }): [string, string, number][] => [
      ["field name", name, 256],
      ["field value", value, 1024],
    ]),
  ];
  if (fields.length > 25) note("fields", "more than 25");
  for (const [where, value, most] of parts) if (value !== undefined) filled(note, where, value, most);
  return parts.reduce((sum, [, value]) => sum + (value?.length ?? 0), 0);
}

function* walk(components: readonly Component[]): Generator<Component> {
  for (const component of components) {
    yield component;
    yield* walk(component.components ?? []);
    if (component.component !== undefined) yield* walk([component.component]);
  }
}

function uniqueIds(note: Note, components: readonly Component[]): void {
  const ids = [...walk(components)].flatMap(({ custom_id: id }) => (id === undefined ? [] : [id]));
  for (const id of ids) text(note, "custom_id", id, 1, 100);
  if (new Set(ids).size < ids.length) note("custom_id", "twice");
}

function messageRow(note: Note, { type, components = [] }: Component): void {
  if (type !== 1) note("row", "no row");
  const isButtons = components.every((one) => one.type === 2);
  if (components.length === 0 || (isButtons ? components.length > 5 : components.length > 1))
    note("row", `${components.length.toString()} in it`);
  for (const one of components) {
    if (one.type === 2) button(note, one);
    else select(note, one);
  }
}

function button(note: Note, { style, label, emoji, url, custom_id: id }: Component): void {
  if (label === undefined ? emoji === undefined : label.trim() === "") note("label", "blank");
  text(note, "label", label ?? "", 0, 80);
  if ((style === 5 ? url : id) === undefined || (url ?? "").length > 512) note("button", "leads nowhere");
}

function select(note: Note, { type, options, placeholder, custom_id: id, min_values: least = 1, max_values: most = 1 }: Component): void {
  if (id === undefined) note("select", "no custom id");
  if (placeholder !== undefined) filled(note, "placeholder", placeholder, 150);
  if (most < 1 || most > 25 || least > most) note("select", "counts");
  if (type !== 3) return;
  if (options === undefined || options.length < 1 || options.length > 25 || most > options.length) note("options", "count");
  for (const option of options ?? []) {
    filled(note, "option label", option.label, 100);
    text(note, "option value", option.value, 1, 100);
    if (option.description !== undefined) filled(note, "option description", option.description, 100);
  }
  if (new Set(options?.map(({ value }) => value)).size < (options?.length ?? 0)) note("option value", "twice");
}

function formField(note: Note, field: Component): void {
  if (field.type !== 4) return field.type === 3 ? select(note, field) : undefined;
  if (field.label !== undefined) note("text input", "a label of its own");
  const { value = "", min_length: least = 0, max_length: most = 4000 } = field;
  text(note, "value", value, 0, most);
  if (least > most || most < 1 || most > 4000) note("text input", "lengths");
}
