import { ButtonStyle, ComponentType, MessageFlags, type APIEmbed } from "discord-api-types/v10";
import { isSelect, type Component } from "../components.ts";
import { filesOf } from "../files.ts";
import { isEphemeral } from "../message-payload.ts";
import type { Guild, Message, World } from "../model.ts";
import { ComponentField, OptionText, optionsOf, takesSeveral } from "./field.tsx";
import { Text } from "./text.tsx";

/** Where a message is shown; without a guild nothing on it can be pressed. */
export type MessagePlace = {
  world: World;
  guild?: Guild;
  /** The answer it belongs to, when it is shown as one. */
  run?: string;
};

const styleNames: Partial<Record<number, string>> = {
  [ButtonStyle.Primary]: "primary",
  [ButtonStyle.Success]: "success",
  [ButtonStyle.Danger]: "danger",
};

/** A message as a person sees it: text, embeds, files, buttons and menus. */
export function MessageView({ message, place }: { message: Message; place: MessagePlace }) {
  const thinking = (message.flags & MessageFlags.Loading) !== 0;
  return (
    <article class="message" data-message={message.id} data-key={`message-${message.id}`}>
      <p class="small">
        <strong>{message.author.global_name ?? message.author.username}</strong>
        {message.author.bot && <span class="tag">bot</span>}
        {message.pinnedAt !== null && <span class="tag">pinned</span>}
        {message.editedAt !== null && <span class="tag">edited</span>}
        {isEphemeral(message) && <span class="tag">only you can see this</span>}
      </p>
      {thinking && <p>is thinking...</p>}
      {message.content !== "" && (
        <div class="text">
          <Text text={message.content} world={place.world} />
        </div>
      )}
      {message.embeds.map((embed) => (
        <Embed embed={embed} world={place.world} />
      ))}
      <Files message={message} world={place.world} />
      {(message.components as unknown as Component[]).map((component) => (
        <Control component={component} message={message} place={place} />
      ))}
    </article>
  );
}

function Files({ message, world }: { message: Message; world: World }) {
  const files = filesOf(world, message);
  if (files.length === 0) return null;
  return (
    <ul class="files">
      {files.map(({ name, size, url }) => (
        <li>
          {/* The address changes each time it is signed; the page asks for it when it is followed. */}
          <a href={url.split("?")[0]?.replace(/^https?:\/\/[^/]+/, "/sandbox/files")}>{name}</a> ({size} bytes)
        </li>
      ))}
    </ul>
  );
}

type ControlProps = { component: Component; message: Message; place: MessagePlace };

function Control({ component, message, place }: ControlProps) {
  const inner = [component.components ?? [], component.accessory ?? []].flat();
  if (component.type === ComponentType.Button) return <Button component={component} message={message} place={place} />;
  if (isSelect(component)) return <Menu component={component} message={message} place={place} />;
  return (
    <div class={component.type === ComponentType.ActionRow ? "row" : "block"}>
      {component.content !== undefined && (
        <div class="text">
          <Text text={component.content} world={place.world} />
        </div>
      )}
      {inner.map((part) => (
        <Control component={part} message={message} place={place} />
      ))}
    </div>
  );
}

const aimOf = (component: Component, message: Message, run: string | undefined) => ({
  "data-custom": component.custom_id,
  "data-message": message.id,
  "data-channel": message.channelId,
  ...(run !== undefined && { "data-run": run }),
});

function Button({ component, message, place }: ControlProps) {
  const words = component.label ?? component.emoji?.name ?? "button";
  if (component.style === ButtonStyle.Link)
    return /^https?:\/\//i.test(component.url ?? "") ? <a href={component.url}>{words}</a> : <span>{words}</span>;
  return (
    <button
      type="button"
      id={`press-${message.id}-${component.custom_id}`}
      class={styleNames[component.style ?? 0] ?? "plain"}
      disabled={component.disabled === true || place.guild === undefined}
      data-act="press"
      data-words={words}
      {...aimOf(component, message, place.run)}
    >
      {words}
    </button>
  );
}

/** A select menu. One choice is sent as soon as it is made, as in Discord; several are sent together. */
function Menu({ component, message, place }: ControlProps) {
  if (!place.guild) return null;
  const id = `menu-${message.id}-${component.custom_id}`;
  const label = component.placeholder ?? "Choose…";
  const aim = { ...aimOf(component, message, place.run), "data-words": label };
  const options = optionsOf(component, place.guild);
  if (component.disabled) return <p class="small">{label}</p>;
  const form = (
    <form data-form="choose" data-key={id} {...aim}>
      <ComponentField component={component} guild={place.guild} id={id} name="v:values" label={label} />
      <button type="submit" id={`${id}-choose`}>
        Choose
      </button>
    </form>
  );
  if (!options) return form;
  const chosen = options.filter((option) => option.default).map((option) => option.label);
  return (
    <details class="menu" data-key={`${id}-menu`}>
      <summary>
        {label}
        {chosen.length > 0 && <span class="small line">{chosen.join(", ")}</span>}
      </summary>
      {takesSeveral(component) ? (
        form
      ) : (
        <ul>
          {options.map((option) => (
            <li>
              <button type="button" id={`${id}-${option.value}`} data-act="choose" data-value={option.value} {...aim}>
                <OptionText option={option} />
              </button>
            </li>
          ))}
        </ul>
      )}
    </details>
  );
}

const isWeb = (url: string | undefined): url is string => url !== undefined && /^https?:\/\//i.test(url);

/** An embed; its colour is a bar of its own, since a page without inline styles has no other place for it. */
export function Embed({ embed, world }: { embed: APIEmbed; world: World }) {
  const { title, url, description, fields = [], footer, author, color } = embed;
  return (
    <div class="embed">
      <svg class="bar" aria-hidden="true" focusable="false">
        <rect width="4" height="100%" fill={`#${(color ?? 0x888888).toString(16).padStart(6, "0")}`} />
      </svg>
      <div>
        {author && <p class="small">{author.name}</p>}
        {title !== undefined && <p class="title">{isWeb(url) ? <a href={url}>{title}</a> : <Text text={title} world={world} />}</p>}
        {description !== undefined && (
          <p class="text">
            <Text text={description} world={world} />
          </p>
        )}
        {fields.length > 0 && (
          <dl>
            {fields.map(({ name, value }) => (
              <div>
                <dt>
                  <Text text={name} world={world} />
                </dt>
                <dd class="text">
                  <Text text={value} world={world} />
                </dd>
              </div>
            ))}
          </dl>
        )}
        {footer && <p class="small">{footer.text}</p>}
      </div>
    </div>
  );
}
