import { InteractionType } from "discord-api-types/v10";
import { resolve, valueOf, type OptionValue } from "./command-options.ts";
import { isSelect, walkComponents, type Component } from "./components.ts";
import type { Opening } from "./interaction.ts";
import type { Guild, Message, World } from "./model.ts";
import { isUpload } from "./uploads.ts";

/** A button by its label or custom id. */
export type ButtonChoice = string | { custom_id: string };

type Found = { component: Component; message: Message };

const within = (messages: readonly Message[], fits: (component: Component) => boolean): Found | undefined => {
  for (const message of messages)
    for (const component of walkComponents(message.components as unknown as Component[]))
      if (fits(component)) return { component, message };
  return undefined;
};

/** A button by label or custom id; throws when it cannot be pressed. */
export function findButton(messages: readonly Message[], choice: ButtonChoice): Found | undefined {
  const found = within(
    messages,
    ({ type, label, custom_id: customId }) =>
      type === 2 && (typeof choice === "string" ? label === choice || customId === choice : customId === choice.custom_id),
  );
  if (found?.component.disabled) throw new Error(`the button ${JSON.stringify(choice)} is disabled`);
  return found;
}

export const findSelect = (messages: readonly Message[], customId: string) =>
  within(messages, (component) => isSelect(component) && component.custom_id === customId);

export function buttonOpening({ component, message }: Found): Pick<Opening, "type" | "data" | "source" | "name"> {
  if (component.custom_id === undefined) throw new Error("a link button tells the application nothing");
  const { id, custom_id: customId } = component;
  return {
    type: InteractionType.MessageComponent,
    data: { id, custom_id: customId, component_type: component.type },
    source: message,
    name: customId,
  };
}

export function selectOpening(
  world: World,
  guild: Guild,
  { component, message }: Found,
  values: readonly OptionValue[],
): Pick<Opening, "type" | "data" | "source" | "name"> {
  const known = values.map((value) => (component.options ? value : valueOf(world, guild, value)));
  const ids = known.map((value) => {
    if (isUpload(value)) throw new Error("a menu takes no files");
    return typeof value === "object" ? value.id : String(value);
  });
  const { id, custom_id: customId = "", placeholder, min_values: min = 1, max_values: max = 1 } = component;
  const menu = `the menu “${placeholder ?? customId}”`;
  if (ids.length < min || ids.length > max) throw new Error(`${menu} takes ${min === max ? "" : `${min} to `}${max} choices`);
  if (component.options && !ids.every((value) => component.options?.some((option) => option.value === value)))
    throw new Error(`${menu} has no such choice`);
  if (!component.options && known.some((value) => typeof value !== "object")) throw new Error(`${menu} has no such choice`);
  if (component.disabled) throw new Error(`${menu} is disabled`);
  const resolved = resolve(world, guild, known);
  return {
    type: InteractionType.MessageComponent,
    data: { id, custom_id: customId, component_type: component.type, values: ids, resolved },
    source: message,
    name: customId,
  };
}
