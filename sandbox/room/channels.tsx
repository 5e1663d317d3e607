import { ApplicationCommandType, type APIApplicationCommand } from "discord-api-types/v10";
import type { Channel, Message, User, World } from "../model.ts";
import { commandsOf, nameOf } from "./choices.ts";
import { MessageView } from "./message.tsx";
import type { View } from "./view.ts";

const maxMessages = 30;

const newest = ({ messages }: Channel) => [...messages.values()].slice(-maxMessages);

/** The channels of a guild with their last messages, and a line to write in. */
export function Channels({ world, view }: { world: World; view: View }) {
  const { guild } = view;
  if (guild.channels.size === 0) return <p>{guild.name} has no channels.</p>;
  return (
    <>
      {[...guild.channels.values()].map((channel) => (
        <section aria-label={`Channel ${channel.name}`} data-key={channel.id}>
          <h3>#{channel.name}</h3>
          {channel.messages.size === 0 && <p>No messages yet.</p>}
          {newest(channel).map((message) => (
            <div data-key={`post-${message.id}`}>
              <MessageView message={message} place={{ world, guild }} />
              <Apps message={message} world={world} view={view} />
            </div>
          ))}
          <form data-form="post" data-channel={channel.id} data-key={`write-${channel.id}`} class="row">
            <label for={`post-${channel.id}`}>Message to #{channel.name}</label>
            <input id={`post-${channel.id}`} name="content" autocomplete="off" />
            <button type="submit" id={`post-${channel.id}-send`}>
              Send
            </button>
          </form>
        </section>
      ))}
    </>
  );
}

/** The context menus of a message and of its author. */
function Apps({ message, world, view }: { message: Message; world: World; view: View }) {
  const { guild, member, language } = view;
  const aim = { "data-message": message.id, "data-channel": message.channelId };
  return (
    <details class="menu" data-key={`apps-${message.id}`}>
      <summary>Apps</summary>
      <ul>
        {commandsOf(world, guild, member, ApplicationCommandType.Message).map((command) => (
          <li>
            <button type="button" data-act="menu" data-command={command.name} {...aim}>
              {nameOf(command, language)}
            </button>
          </li>
        ))}
        <PersonMenu user={message.author} commands={personCommands(world, view)} language={language} />
        <li>
          <button type="button" data-act="delete" {...aim}>
            Delete
          </button>
        </li>
      </ul>
    </details>
  );
}

export const personCommands = (world: World, { guild, member }: View): APIApplicationCommand[] =>
  commandsOf(world, guild, member, ApplicationCommandType.User);

/** The lines of the context menu of a person. */
export function PersonMenu({ user, commands, language }: { user: User; commands: APIApplicationCommand[]; language: string }) {
  if (user.bot) return null;
  return (
    <>
      {commands.map((command) => (
        <li>
          <button type="button" data-act="person" data-command={command.name} data-user={user.id}>
            {nameOf(command, language)} <span class="small">{user.username}</span>
          </button>
        </li>
      ))}
    </>
  );
}

/** What the bot has sent to a person. */
export function Directs({ world, user }: { world: World; user: User }) {
  const messages = [...world.channels.values()].filter(({ recipient }) => recipient === user).flatMap(newest);
  if (messages.length === 0) return <p>The bot has sent {user.username} no direct message.</p>;
  return (
    <>
      {messages.map((message) => (
        <MessageView message={message} place={{ world }} />
      ))}
    </>
  );
}
