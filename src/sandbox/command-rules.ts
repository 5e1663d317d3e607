import { ApplicationCommandOptionType as OptionType, ApplicationCommandType } from "discord-api-types/v10";
import { invalidForm } from "./errors.ts";

/** An option definition as loosely as the wire carries it. */
export type OptionDefinition = {
  type: number;
  name: string;
  description: string;
  required?: boolean | null;
  autocomplete?: boolean | null;
  choices?: { name: string; value: string | number }[] | null;
  options?: OptionDefinition[] | null;
  min_value?: number | null;
  max_value?: number | null;
  min_length?: number | null;
  max_length?: number | null;
};

const chatInputName = /^[-_'\p{L}\p{N}\p{sc=Deva}\p{sc=Thai}]{1,32}$/u;

/** Refuses what Discord refuses in a command: names, lengths, counts, order of required options, nesting. */
export function checkCommand(body: Record<string, unknown>, at = ""): void {
  const { name, description } = body;
  const type = body["type"] ?? ApplicationCommandType.ChatInput;
  if (typeof name !== "string") throw invalidForm(`${at}name`, "BASE_TYPE_REQUIRED", "This field is required");
  if (name.length < 1 || name.length > 32) throw invalidForm(`${at}name`, "BASE_TYPE_BAD_LENGTH", "Must be between 1 and 32 in length.");
  if (type !== ApplicationCommandType.ChatInput) return;
  checkName(name, at);
  checkDescription(description, at);
  checkOptions((body["options"] ?? []) as OptionDefinition[], `${at}options.`, 0);
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
    checkName(option.name, place);
    checkDescription(option.description, place);
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
function checkNesting(all: OptionDefinition[], option: OptionDefinition, at: string, depth: number): void {
  const isBranch = (type: number) => type === OptionType.Subcommand || type === OptionType.SubcommandGroup;
  const wrong = invalidForm(
    `${at}type`,
    "APPLICATION_COMMAND_OPTIONS_TYPE_INVALID",
    "Sub-command and sub-command group option types are mutually exclusive to all other types",
  );
  if (all.some(({ type }) => isBranch(type) !== isBranch(option.type))) throw wrong;
  if (option.type === OptionType.SubcommandGroup && depth > 0) throw wrong;
  if (option.type === OptionType.Subcommand && depth > 1) throw wrong;
  if (isBranch(option.type)) checkOptions(option.options ?? [], `${at}options.`, option.type === OptionType.Subcommand ? 2 : 1);
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
  for (const { name } of choices)
    if (name.length < 1 || name.length > 100)
      throw invalidForm(`${at}choices`, "BASE_TYPE_BAD_LENGTH", "Must be between 1 and 100 in length.");
}
