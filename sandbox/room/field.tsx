import { ApplicationCommandOptionType as OptionType, ComponentType } from "discord-api-types/v10";
import type { OptionDefinition } from "../command-rules.ts";
import type { Component } from "../components.ts";
import type { Guild } from "../model.ts";
import { descriptionOf, nameOf } from "./choices.ts";

export type Option = { label: string; value: string; description?: string | null; default?: boolean };

/** Where a field stands, and what is said about it. */
type Place = { id: string; name: string; label: string; hint?: string | null | undefined };

const Hint = ({ id, hint }: Pick<Place, "id" | "hint">) =>
  hint ? (
    <span class="small" id={`${id}-hint`}>
      {hint}
    </span>
  ) : null;
const describedBy = ({ id, hint }: Place) => (hint ? { "aria-describedby": `${id}-hint` } : {});

/** A list to choose from; nothing is chosen by itself, unless the list says so. @param optional whether a choice can be taken back */
export function Choices({ options, optional = false, ...place }: Place & { options: readonly Option[]; optional?: boolean }) {
  const { id, name, label, hint } = place;
  return (
    <div class="field">
      <label for={id}>{label}</label>
      <Hint id={id} hint={hint} />
      <select id={id} name={name} {...describedBy(place)}>
        {(optional || !options.some((option) => option.default)) && <option value="">Choose…</option>}
        {options.map((option) => (
          <option value={option.value} selected={option.default === true}>
            {option.label}
            {option.description ? ` – ${option.description}` : ""}
          </option>
        ))}
      </select>
    </div>
  );
}

/** A list of which several can be chosen. */
function Ticks({ id, name, label, hint, options }: Place & { options: readonly Option[] }) {
  return (
    <fieldset id={id}>
      <legend>{label}</legend>
      <Hint id={id} hint={hint} />
      {options.map((option) => (
        <label class="box">
          <input type="checkbox" id={`${id}-${option.value}`} name={name} value={option.value} checked={option.default === true} />
          <OptionText option={option} />
        </label>
      ))}
    </fieldset>
  );
}

/** A choice with its description below, as Discord shows it. */
export const OptionText = ({ option }: { option: Option }) => (
  <span>
    {option.label}
    {option.description ? <span class="small line">{option.description}</span> : null}
  </span>
);

/** What an application has chosen already is chosen when the menu is shown, as in Discord's client. */
type Chosen = Component["default_values"];

const isIn = (chosen: Chosen, id: string): boolean => chosen?.some((one) => one.id === id) === true;

const rolesOf = (guild: Guild, chosen?: Chosen): Option[] =>
  [...guild.roles.values()].map(({ id, name }) => ({ value: id, label: name, default: isIn(chosen, id) }));
const channelsOf = (guild: Guild, chosen?: Chosen): Option[] =>
  [...guild.channels.values()].map(({ id, name }) => ({ value: id, label: `#${name}`, default: isIn(chosen, id) }));

/** What a menu offers; undefined for people, who are looked for by name. */
export function optionsOf({ type, options, default_values: chosen }: Component, guild: Guild): Option[] | undefined {
  if (options) return options;
  if (type === ComponentType.RoleSelect) return rolesOf(guild, chosen);
  return type === ComponentType.ChannelSelect ? channelsOf(guild, chosen) : undefined;
}

export const takesSeveral = ({ type, max_values: max }: Component): boolean => type === ComponentType.CheckboxGroup || (max ?? 1) > 1;

/** A text with suggestions below, which are asked for while it is typed. @param from `@people`, or the option of a command */
function Suggested({ from, many = false, value, ...place }: Place & { from: string; many?: boolean; value?: string | undefined }) {
  const { id, name, label, hint } = place;
  return (
    <div class="field">
      <label for={id}>{label}</label>
      <Hint id={id} hint={hint} />
      <span class="combo" id={`${id}-combo`} data-own="">
        <input
          id={id}
          name={name}
          role="combobox"
          aria-autocomplete="list"
          aria-expanded="false"
          aria-controls={`${id}-list`}
          autocomplete="off"
          data-suggest={from}
          data-many={many ? "" : undefined}
          value={value}
          {...describedBy(place)}
        />
        <ul id={`${id}-list`} role="listbox" aria-label="Suggestions" hidden />
      </span>
    </div>
  );
}

/** A person, or several with commas, by name or id. */
function Person({ guild, chosen = [], many = false, ...place }: Place & { guild: Guild; many?: boolean; chosen?: Chosen }) {
  const names = chosen.map(({ id }) => guild.members.get(id)?.user.username ?? id);
  return <Suggested {...place} from="@people" many={many} value={names.length === 0 ? undefined : names.join(", ")} />;
}

function File({ many = false, ...place }: Place & { many?: boolean }) {
  const { id, name, label, hint } = place;
  return (
    <div class="field">
      <label for={id}>{label}</label>
      <Hint id={id} hint={hint} />
      <input id={id} name={name} type="file" multiple={many} {...describedBy(place)} />
    </div>
  );
}

/** The field of a select menu, a file upload, a choice or a text input. */
export function ComponentField({ component, guild, ...place }: Place & { component: Component; guild: Guild }) {
  const { type, required, min_values: min, default_values: chosen } = component;
  const many = takesSeveral(component);
  const options = optionsOf(component, guild);
  if (options && many) return <Ticks {...place} options={options} />;
  if (options) return <Choices {...place} options={options} optional={required === false || min === 0} />;
  if (type === ComponentType.UserSelect || type === ComponentType.MentionableSelect)
    return <Person {...place} guild={guild} many={many} chosen={chosen} />;
  if (type === ComponentType.FileUpload) return <File {...place} many={many} />;
  if (type === ComponentType.Checkbox) return <Choices {...place} options={noAndYes("false")} />;
  return <TextField {...place} component={component} />;
}

/** @param chosen is chosen by itself */
const noAndYes = (chosen?: string): Option[] => [
  { value: "false", label: "no", default: chosen === "false" },
  { value: "true", label: "yes", default: chosen === "true" },
];

function TextField({ component, ...place }: Place & { component: Component }) {
  const { id, name, label, hint } = place;
  const { style, value = "", placeholder, max_length: max } = component;
  const more = { maxlength: max, placeholder: placeholder ?? undefined, ...describedBy(place) };
  return (
    <div class="field">
      <label for={id}>{label}</label>
      <Hint id={id} hint={hint} />
      {style === 2 ? (
        <textarea id={id} name={name} rows={4} {...more}>
          {value}
        </textarea>
      ) : (
        <input id={id} name={name} value={value} autocomplete="off" {...more} />
      )}
    </div>
  );
}

/** The field of an option of a slash command; one that completes asks the application for suggestions. */
export function OptionField({ option, guild, language }: { option: OptionDefinition; guild: Guild; language: string }) {
  const { name, type, required, choices, autocomplete } = option;
  const label = `${nameOf(option, language)}${required ? " (required)" : ""}`;
  const place = { id: `option-${name}`, name: `v:${name}`, label, hint: descriptionOf(option, language) };
  if (choices?.length)
    return <Choices {...place} optional options={choices.map((one) => ({ label: nameOf(one, language), value: String(one.value) }))} />;
  if (type === OptionType.Boolean) return <Choices {...place} optional options={noAndYes()} />;
  if (type === OptionType.User || type === OptionType.Mentionable) return <Person {...place} guild={guild} />;
  if (type === OptionType.Role) return <Choices {...place} optional options={rolesOf(guild)} />;
  if (type === OptionType.Channel) return <Choices {...place} optional options={channelsOf(guild)} />;
  if (type === OptionType.Attachment) return <File {...place} />;
  if (autocomplete) return <Suggested {...place} from={name} />;
  return <TextField {...place} component={{ type: ComponentType.TextInput }} />;
}
