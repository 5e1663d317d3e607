import { walkComponents, type Component } from "../../sandbox/components.ts";
import type { Shown } from "../../sandbox/index.ts";

type Message = Pick<Shown, "content" | "embeds" | "components"> & { attachments?: readonly { name: string }[] };

const isButton = ({ type }: Component): boolean => type === 2;

/** A message line by line, as a person reads it: texts, cards with their fields, buttons in brackets, menus with their choices, files. */
export function messageLines({ content, embeds, components, attachments = [] }: Message): string[] {
  return [
    ...content.split("\n"),
    ...embeds.flatMap(({ author, title, description, fields = [], footer }) => [
      ...[author?.name, title].flatMap((text) => (text === undefined ? [] : [`# ${text}`])),
      ...(description ?? "").split("\n"),
      ...fields.flatMap(({ name, value }) => {
        const [first = "", ...rest] = value.split("\n");
        return [`${name}: ${first}`, ...rest];
      }),
      ...(footer === undefined ? [] : [footer.text]),
    ]),
    ...components.flatMap((row) => controlLines(row)),
    ...attachments.map(({ name }) => `(file ${name})`),
  ].filter((line) => line.trim() !== "");
}

function controlLines(row: Component): string[] {
  const parts = row.components ?? [];
  const buttons = parts.filter(isButton).map(({ label = "", disabled }) => `[${label}${disabled === true ? " –" : ""}]`);
  const menus = parts.filter((part) => !isButton(part)).flatMap((menu) => menuLines(menu));
  return [...(buttons.length > 0 ? [buttons.join(" ")] : []), ...menus];
}

function menuLines({ placeholder, options = [] }: Component): string[] {
  return [`[${placeholder ?? ""} ▾]`, ...options.map(({ label, description }) => `  · ${label}${description ? ` – ${description}` : ""}`)];
}

/** A form line by line: its title, then each field with what stands in it. */
export function formLines(form: { title: string; components: readonly Component[] }): string[] {
  const lines = [`Form: ${form.title}`];
  for (const { label, description, component } of walkComponents(form.components)) {
    if (component === undefined) continue;
    const { value = "", options = [], required } = component;
    lines.push(`${label ?? ""}${required === false ? "" : " *"}: ${value}${options.map((option) => ` (${option.label})`).join("")}`);
    if (typeof description === "string") lines.push(description);
  }
  return lines;
}
