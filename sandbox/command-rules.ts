import { ApplicationCommandOptionType as OptionType, ApplicationCommandType, Locale } from "discord-api-types/v10";
import { requireLength } from "./component-rules.ts";
import { invalidForm } from "./errors.ts";

type Localizations = Record<string, string> | null;

/** An option definition as loosely as the wire carries it. */
export type OptionDefinition = {
  type: number;
  name: string;
  description: string;
  required?: boolean | null;
  autocomplete?: boolean | null;
  name_localizations?: Localizations;
  description_localizations?: Localizations;
  choices?: { name: string; value: string | number; name_localizations?: Localizations }[] | null;
  options?: OptionDefinition[] | null;
  min_value?: number | null;
  max_value?: number | null;
  min_length?: number | null;
  max_length?: number | null;
};

const locales: ReadonlySet<string> = new Set(Object.values(Locale));

/** @param at where the localizations stand, without a dot at its end */
function checkLocales(given: Localizations | undefined, at: string): void {
  for (const locale of Object.keys(given ?? {}))
    if (!locales.has(locale))
      throw invalidForm(`${at}.${locale}`, "APPLICATION_COMMAND_INVALID_LOCALE", `${locale} is no locale of Discord`);
}

/** Characters of a whole command. */
const maxText = 8000;

const chatInputName = /^[-_'\p{L}\p{N}\p{sc=Deva}\p{sc=Thai}]{1,32}$/u;

/** Refuses what Discord refuses in a command: names, lengths, counts, order of required options, nesting. */
export function checkCommand(body: Record<string, unknown>, at = ""): void {
  const { name } = body;
  const type = body["type"] ?? ApplicationCommandType.ChatInput;
  if (typeof name !== "string") throw invalidForm(`${at}name`, "BASE_TYPE_REQUIRED", "This field is required");
  if (name.length < 1 || name.length > 32) throw invalidForm(`${at}name`, "BASE_TYPE_BAD_LENGTH", "Must be between 1 and 32 in length.");
  checkLocales(body["name_localizations"] as Localizations | undefined, `${at}name_localizations`);
  for (const [locale, text] of Object.entries((body["name_localizations"] ?? {}) as Record<string, string>))
    requireLength(text, { min: 1, max: 32 }, `${at}name_localizations.${locale}`);
  if (type !== ApplicationCommandType.ChatInput) return checkMenu(body, at);
  checkWords(body as OptionDefinition, at);
  checkOptions((body["options"] ?? []) as OptionDefinition[], `${at}options.`, 0);
  if (commandLength(body as OptionDefinition) > maxText)
    throw invalidForm(at.slice(0, -1) || "_", "APPLICATION_COMMAND_TOO_LARGE", "Command exceeds maximum size (8000)");
}

/** A command of a context menu is a name and nothing else. */
function checkMenu({ type, description, options }: Record<string, unknown>, at: string): void {
  if (type !== ApplicationCommandType.User && type !== ApplicationCommandType.Message)
    throw invalidForm(`${at}type`, "BASE_TYPE_CHOICES", "Value must be one of 1, 2, 3.");
  if (description !== undefined && description !== null && description !== "")
    throw invalidForm(`${at}description`, "APPLICATION_COMMAND_DESCRIPTION_NOT_ALLOWED", "Context menu commands cannot have a description");
  if (Array.isArray(options) && options.length > 0)
    throw invalidForm(`${at}options`, "APPLICATION_COMMAND_OPTIONS_NOT_ALLOWED", "Context menu commands cannot have options");
}

/** The words of a command or option, in every language. */
function checkWords(
  words: Pick<OptionDefinition, "name" | "description" | "name_localizations" | "description_localizations">,
  at: string,
): void {
  checkName(words.name, at);
  checkDescription(words.description, at);
  for (const field of ["name_localizations", "description_localizations"] as const) checkLocales(words[field], `${at}${field}`);
  for (const [locale, text] of Object.entries(words.name_localizations ?? {})) checkName(text, `${at}name_localizations.${locale}.`);
  for (const [locale, text] of Object.entries(words.description_localizations ?? {}))
    requireLength(text, { min: 1, max: 100 }, `${at}description_localizations.${locale}`);
}

/** Characters of names, descriptions and values in all of a command; of several languages the longest counts. */
export function commandLength(part: OptionDefinition): number {
  const longest = (text: string, others?: Localizations) =>
    Math.max(text.length, ...Object.values(others ?? {}).map((other) => other.length));
  const own = longest(part.name, part.name_localizations) + longest(part.description ?? "", part.description_localizations);
  const choices = (part.choices ?? []).map((choice) => longest(choice.name, choice.name_localizations) + String(choice.value).length);
  return [own, ...choices, ...(part.options ?? []).map(commandLength)].reduce((sum, length) => sum + length, 0);
}

function checkName(name: unknown, at: string): void {
  if (typeof name !== "string" || !chatInputName.test(name) || name !== name.toLowerCase())
    throw invalidForm(`${at}name`, "APPLICATION_COMMAND_INVALID_NAME", "Command name is invalid");
}

function checkDescription(description: unknown, at: string): void {
  if (typeof description !== "string") throw invalidForm(`${at}description`, "BASE_TYPE_REQUIRED", "This field is required");
  if (description.length < 1 || description.length > 100)
    throw invalidForm(`${at}description`, "BASE_TYPE_BAD_LENGTH", "Must be between 1 and 100 in length.");
}

function checkOptions(options: OptionDefinition[], at: string, depth: number): void {
  if (options.length > 25) throw invalidForm(at.slice(0, -1), "BASE_TYPE_MAX_LENGTH", "Must be 25 or fewer in length.");
  const names = new Set<string>();
  let optionalSeen = false;
  for (const [index, option] of options.entries()) {
    const place = `${at}${index}.`;
    checkWords(option, place);
    if (names.has(option.name))
      throw invalidForm(at.slice(0, -1), "APPLICATION_COMMAND_OPTIONS_NAME_INVALID", "Option names must be unique");
    names.add(option.name);
    if (!(option.type >= OptionType.Subcommand && option.type <= OptionType.Attachment))
      throw invalidForm(`${place}type`, "BASE_TYPE_CHOICES", "Value must be one of 1 to 11.");
    if (option.required && optionalSeen)
      throw invalidForm(
        at.slice(0, -1),
        "APPLICATION_COMMAND_OPTIONS_REQUIRED_INVALID",
        "Required options must be placed before non-required options",
      );
    optionalSeen ||= !option.required;
    checkNesting(options, option, place, depth);
    checkChoices(option, place);
  }
}

/** Sub-commands stand alone beside their like; groups only at the top. */
function checkNesting(all: OptionDefinition[], { type, options }: OptionDefinition, at: string, depth: number): void {
  const isBranch = (one: number) => one === OptionType.Subcommand || one === OptionType.SubcommandGroup;
  const deepest = type === OptionType.SubcommandGroup ? 0 : 1;
  if (all.some((other) => isBranch(other.type) !== isBranch(type)) || (isBranch(type) && depth > deepest))
    throw invalidForm(
      `${at}type`,
      "APPLICATION_COMMAND_OPTIONS_TYPE_INVALID",
      "Sub-command and sub-command group option types are mutually exclusive to all other types",
    );
  if (isBranch(type)) checkOptions(options ?? [], `${at}options.`, type === OptionType.Subcommand ? 2 : 1);
}

function checkChoices(option: OptionDefinition, at: string): void {
  const choices = option.choices ?? [];
  if (choices.length > 25) throw invalidForm(`${at}choices`, "BASE_TYPE_MAX_LENGTH", "Must be 25 or fewer in length.");
  if (choices.length > 0 && option.autocomplete)
    throw invalidForm(
      `${at}autocomplete`,
      "APPLICATION_COMMAND_OPTIONS_AUTOCOMPLETE_INVALID",
      "Choices and autocomplete exclude each other",
    );
  for (const { name, value, name_localizations: names } of choices) {
    checkLocales(names, `${at}choices`);
    for (const text of [name, ...Object.values(names ?? {})]) requireLength(text, { min: 1, max: 100 }, `${at}choices`);
    if (typeof value === "string") requireLength(value, { max: 100 }, `${at}choices`);
  }
}
