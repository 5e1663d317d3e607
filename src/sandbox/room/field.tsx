import { ApplicationCommandOptionType as OptionType, ComponentType } from "discord-api-types/v10";
import type { Component } from "../components.ts";
import type { Guild } from "../model.ts";

export type Option = { label: string; value: string; description?: string | null; default?: boolean };

type Place = { id: string; name: string; label: string };

/** A list to choose from; the empty line stands for no choice. */
export function Choices({
  id,
  name,
  label,
  options,
  many = false,
  optional = false,
}: Place & { options: readonly Option[]; many?: boolean; optional?: boolean }) {
  return (
    <p>
      <label for={id}>{label}</label>
      <select id={id} name={name} multiple={many}>
        {optional && !many && <option value="">-</option>}
        {options.map((option) => (
          <option value={option.value} selected={option.default === true}>
            {option.label}
            {option.description ? ` - ${option.description}` : ""}
          </option>
        ))}
      </select>
    </p>
  );
}

/** What an application has chosen already is chosen when the menu is shown, as in Discord's client. */
type Chosen = Component["default_values"];

const isIn = (chosen: Chosen, id: string): boolean => chosen?.some((one) => one.id === id) === true;

export const rolesOf = (guild: Guild, chosen?: Chosen): Option[] =>
  [...guild.roles.values()].map(({ id, name }) => ({ value: id, label: name, default: isIn(chosen, id) }));
export const channelsOf = (guild: Guild, chosen?: Chosen): Option[] =>
  [...guild.channels.values()].map(({ id, name }) => ({ value: id, label: `#${name}`, default: isIn(chosen, id) }));

/** One person by user name or id, with suggestions. */
export function Person({ id, name, label, many = false, chosen = [] }: Place & { many?: boolean; chosen?: Chosen }) {
  return (
    <p>
      <label for={id}>{label}</label>
      <input
        id={id}
        name={name}
        list="people"
        autocomplete="off"
        value={chosen.map((one) => one.id).join(",")}
        placeholder={many ? "names or ids, with commas" : "name or id"}
      />
    </p>
  );
}

export function File({ id, name, label, many = false }: Place & { many?: boolean }) {
  return (
    <p>
      <label for={id}>{label}</label>
      <input id={id} name={name} type="file" multiple={many} />
    </p>
  );
}

/** The field of a select menu, a file upload, a choice or a text input. */
export function ComponentField({ component, guild, ...place }: Place & { component: Component; guild: Guild }) {
  const many = (component.max_values ?? 1) > 1;
  const optional = component.required === false || component.min_values === 0;
  const { type, options, default_values: chosen } = component;
  if (options) return <Choices {...place} options={options} many={many} optional={optional || type === ComponentType.RadioGroup} />;
  if (type === ComponentType.RoleSelect) return <Choices {...place} options={rolesOf(guild, chosen)} many={many} optional={optional} />;
  if (type === ComponentType.ChannelSelect)
    return <Choices {...place} options={channelsOf(guild, chosen)} many={many} optional={optional} />;
  if (type === ComponentType.UserSelect || type === ComponentType.MentionableSelect)
    return <Person {...place} many={many} {...(chosen && { chosen })} />;
  if (type === ComponentType.FileUpload) return <File {...place} many={many} />;
  if (type === ComponentType.Checkbox) return <Choices {...place} options={yesAndNo} />;
  return <TextField {...place} component={component} />;
}

const yesAndNo: Option[] = [
  { value: "false", label: "no" },
  { value: "true", label: "yes" },
];

function TextField({ id, name, label, component }: Place & { component: Component }) {
  const { style, value = "", placeholder, min_length: least, max_length: most } = component;
  const limits = { minlength: least, maxlength: most, placeholder: placeholder ?? undefined };
  return (
    <p>
      <label for={id}>{label}</label>
      {style === 2 ? (
        <textarea id={id} name={name} rows={4} {...limits}>
          {value}
        </textarea>
      ) : (
        <input id={id} name={name} value={value} autocomplete="off" {...limits} />
      )}
    </p>
  );
}

/** The field of an option of a slash command; one that completes asks the application for suggestions. */
export function OptionField({
  option,
  guild,
}: {
  option: {
    name: string;
    type: number;
    required?: boolean | null;
    autocomplete?: boolean | null;
    choices?: readonly { name: string; value: string | number }[] | null;
  };
  guild: Guild;
}) {
  const place = { id: `option-${option.name}`, name: `v:${option.name}`, label: `${option.name}${option.required ? " (required)" : ""}` };
  const optional = !option.required;
  const { type, choices } = option;
  if (choices?.length)
    return <Choices {...place} options={choices.map(({ name, value }) => ({ label: name, value: String(value) }))} optional={optional} />;
  if (type === OptionType.Boolean) return <Choices {...place} options={yesAndNo} optional={optional} />;
  if (type === OptionType.User || type === OptionType.Mentionable) return <Person {...place} />;
  if (type === OptionType.Role) return <Choices {...place} options={rolesOf(guild)} optional={optional} />;
  if (type === OptionType.Channel) return <Choices {...place} options={channelsOf(guild)} optional={optional} />;
  if (type === OptionType.Attachment) return <File {...place} />;
  const list = option.autocomplete ? { list: `suggestions-${option.name}`, "data-suggest": option.name } : {};
  return (
    <p>
      <label for={place.id}>{place.label}</label>
      <input id={place.id} name={place.name} autocomplete="off" {...list} />
      {option.autocomplete && <datalist id={`suggestions-${option.name}`} />}
    </p>
  );
}
